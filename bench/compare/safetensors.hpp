// Reader of safetensors files: 8 bytes with the header's length, a JSON header that names tensors and text attributes,
// then the tensors' bytes. A file is read whole and believed in nothing: every number is checked before it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace heed::compare {

// The file cannot be read, or it contradicts itself; what() says where.
struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Tensor {
  std::string dtype;  // as the file says: F64, F32, F16, BF16, I64, BOOL, …
  std::vector<std::int64_t> shape;
  std::int64_t elements = 0;     // product of the shape; fits the file
  std::vector<std::byte> bytes;  // elements * size of dtype, aligned for any of them
};

struct Safetensors {
  std::map<std::string, std::string> metadata;
  std::map<std::string, Tensor> tensors;
};

// Throw FileError, and nothing else but std::bad_alloc.
Safetensors parse_safetensors(const std::byte* bytes, std::size_t size);
Safetensors read_safetensors(const std::string& path);

}  // namespace heed::compare

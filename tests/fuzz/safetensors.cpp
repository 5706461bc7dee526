// Bytes to the reader of heed-compare: a whole file, or a header and data whose lengths are right; and what it reads to
// the case that heed-compare would run. Only its own errors may leave it.
#include "safetensors.hpp"

#include <vector>

#include "file_case.hpp"
#include "fuzz/finding.hpp"
#include "fuzz/target.hpp"

namespace heed::fuzz {
namespace {

// The header is the input; behind it lie as many bytes of data as its first byte says, in fours.
std::vector<std::byte> with_lengths(Input& in) {
  const std::size_t data = in.byte() * std::size_t{4};
  const std::uint64_t header = in.size();
  std::vector<std::byte> file(8 + in.size() + data);
  std::memcpy(file.data(), &header, sizeof header);
  std::memcpy(file.data() + 8, in.data(), in.size());
  for (std::size_t n = 0; n < data; ++n) file[8 + header + n] = static_cast<std::byte>(n * 7 % 64);
  return file;
}

void read(Input& in) {
  const bool whole = in.flag();
  const auto* bytes = reinterpret_cast<const std::byte*>(in.data());
  const std::vector<std::byte> file = whole ? std::vector<std::byte>(bytes, bytes + in.size()) : with_lengths(in);
  try {
    const compare::Safetensors read = compare::parse_safetensors(file.data(), file.size());
    for (const auto& [name, tensor] : read.tensors) {
      std::size_t elements = 1;
      for (const std::int64_t axis : tensor.shape) elements *= static_cast<std::size_t>(axis);
      expect(tensor.elements == static_cast<std::int64_t>(elements), "a tensor's elements are not its shape's");
      expect(tensor.bytes.size() <= file.size(), "a tensor is larger than its file");
    }
    (void)compare::file_case(read);
  } catch (const compare::FileError&) {
  } catch (const compare::Unsupported&) {
  }
}

}  // namespace
}  // namespace heed::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  heed::fuzz::Input in(data, size);
  heed::fuzz::read(in);
  return 0;
}

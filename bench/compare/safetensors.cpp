#include "safetensors.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

namespace heed::compare {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "the files are little-endian and so are their readers here");

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kLargestHeader = 100'000'000;  // the format's own limit
constexpr std::int64_t kLargestEmpty = 1 << 24;        // elements that the axes of an empty tensor would have
constexpr std::size_t kMostTensors = 4096;
constexpr std::size_t kLargestRank = 8;  // more axes than any tensor of attention has

std::size_t element_bytes(const std::string& dtype) {
  static const std::map<std::string, std::size_t> sizes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},
      {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4},     {"I64", 8},     {"U64", 8}, {"F64", 8}};
  const auto found = sizes.find(dtype);
  return found == sizes.end() ? 0 : found->second;
}

// A whole number from 0 up that fits 64 bits with a sign; false otherwise.
bool count_of(const json& value, std::int64_t& count) {
  if (!value.is_number_unsigned()) return false;
  const auto number = value.get<std::uint64_t>();
  if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return false;
  count = static_cast<std::int64_t>(number);
  return true;
}

void check_header(std::uint64_t header_bytes, std::size_t file_bytes, const char* text) {
  if (header_bytes > kLargestHeader) throw FileError("a header of " + std::to_string(header_bytes) + " bytes");
  if (header_bytes > file_bytes - kLengthBytes) throw FileError("ends inside the header");
  if (header_bytes == 0 || *text != '{') throw FileError("the header does not begin with '{'");
}

// The header as JSON. A name that occurs twice would leave it to the parser which one counts, so it is refused.
json parse_header(const char* begin, const char* end) {
  std::vector<std::set<std::string>> names;
  std::string twice;
  std::size_t entries = 0;
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    const auto level = static_cast<std::size_t>(depth);
    if (level > 3) throw FileError("the header is nested more deeply than an entry");
    if (level == 1 && event == json::parse_event_t::key && ++entries > kMostTensors)
      throw FileError("more than " + std::to_string(kMostTensors) + " tensors");
    if (event == json::parse_event_t::object_start) {
      names.resize(std::max(names.size(), level + 1));
      names[level].clear();
    } else if (event == json::parse_event_t::key && !names[level - 1].insert(parsed.get<std::string>()).second) {
      twice = parsed.get<std::string>();
    }
    return true;
  };
  json header = json::parse(begin, end, watch, false);
  if (header.is_discarded() || !header.is_object()) throw FileError("the header is not a JSON object");
  if (!twice.empty()) throw FileError("the header names '" + twice + "' twice");
  return header;
}

struct Extent {
  std::int64_t begin, end;
  std::string name;
};

// One entry of the header; its bytes are checked against the size of the data and copied.
Tensor parse_tensor(const std::string& name, const json& entry, const std::byte* data, std::int64_t data_bytes,
                    std::vector<Extent>& extents) {
  const auto fail = [&](const std::string& why) { throw FileError("tensor '" + name + "': " + why); };
  if (!entry.is_object()) fail("its entry is not an object");
  if (!entry.contains("dtype") || !entry["dtype"].is_string()) fail("no dtype");
  if (!entry.contains("shape") || !entry["shape"].is_array()) fail("no shape");
  if (!entry.contains("data_offsets") || !entry["data_offsets"].is_array() || entry["data_offsets"].size() != 2)
    fail("no data_offsets");

  Tensor tensor;
  tensor.dtype = entry["dtype"].get<std::string>();
  const auto size = static_cast<std::int64_t>(element_bytes(tensor.dtype));
  if (size == 0) fail("unknown dtype '" + tensor.dtype + "'");
  if (entry["shape"].size() > kLargestRank) fail("more than " + std::to_string(kLargestRank) + " axes");

  std::int64_t bytes = size, product = size;  // product: as if no axis were empty, so that strides cannot overflow
  for (const json& axis : entry["shape"]) {
    std::int64_t length = 0;
    if (!count_of(axis, length)) fail("a size that is not a whole number from 0 up");
    if (__builtin_mul_overflow(product, std::max<std::int64_t>(length, 1), &product))
      fail("the product of the sizes overflows");
    bytes *= length;
    tensor.shape.push_back(length);
  }
  tensor.elements = bytes / size;
  if (bytes == 0 && product / size > kLargestEmpty)
    fail("an empty axis beside axes of more elements than any file has");

  std::int64_t begin = 0, end = 0;
  if (!count_of(entry["data_offsets"][0], begin) || !count_of(entry["data_offsets"][1], end))
    fail("an offset that is not a whole number from 0 up");
  if (begin > end) fail("its data end before they begin");
  if (end > data_bytes) fail("its data end past the end of the file");
  if (end - begin != bytes)
    fail("its shape needs " + std::to_string(bytes) + " bytes, its offsets hold " + std::to_string(end - begin));
  tensor.bytes.assign(data + begin, data + end);
  extents.push_back({begin, end, name});
  return tensor;
}

// The tensors must fill the data without overlaps and holes: bytes that no tensor owns can hide anything.
void check_extents(std::vector<Extent>& extents, std::int64_t data_bytes) {
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;  // empty tensors before the one that starts there
  });
  std::int64_t reached = 0;
  for (const Extent& extent : extents) {
    if (extent.begin < reached) throw FileError("tensor '" + extent.name + "': its data overlap another tensor's");
    if (extent.begin > reached) throw FileError("unused bytes before tensor '" + extent.name + "'");
    reached = extent.end;
  }
  if (reached != data_bytes) throw FileError("unused bytes after the last tensor");
}

}  // namespace

Safetensors parse_safetensors(const std::byte* bytes, std::size_t size) {
  if (size < kLengthBytes) throw FileError("shorter than the 8 bytes that give the header's length");
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes, kLengthBytes);
  const char* text = reinterpret_cast<const char*>(bytes) + kLengthBytes;
  check_header(header_bytes, size, text);
  const json header = parse_header(text, text + header_bytes);

  Safetensors file;
  const std::byte* data = bytes + kLengthBytes + header_bytes;
  const auto data_bytes = static_cast<std::int64_t>(size - kLengthBytes - header_bytes);
  std::vector<Extent> extents;
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") {
      file.tensors[name] = parse_tensor(name, entry, data, data_bytes, extents);
      continue;
    }
    if (!entry.is_object()) throw FileError("__metadata__ is not an object");
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) throw FileError("__metadata__ '" + key + "' is not a string");
      file.metadata[key] = value.get<std::string>();
    }
  }
  check_extents(extents, data_bytes);
  return file;
}

Safetensors read_safetensors(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) throw FileError(error ? "cannot be opened" : "not a file");
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = stream ? static_cast<std::streamoff>(stream.tellg()) : -1;
  if (size < 0 || size == std::numeric_limits<std::streamoff>::max()) throw FileError("cannot be opened");
  // A header that cannot be one ends it before the rest is read, which may be much.
  std::byte first[kLengthBytes + 1] = {};
  stream.seekg(0);
  if (size >= static_cast<std::streamoff>(sizeof first)) {
    stream.read(reinterpret_cast<char*>(first), sizeof first);
    std::uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, first, kLengthBytes);
    check_header(header_bytes, static_cast<std::size_t>(size), reinterpret_cast<const char*>(first) + kLengthBytes);
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  stream.seekg(0);
  stream.read(reinterpret_cast<char*>(bytes.data()), size);
  if (stream.gcount() != size) throw FileError("cannot be read to its end");
  return parse_safetensors(bytes.data(), bytes.size());
}

}  // namespace heed::compare

#include "file_case.hpp"

#include <charconv>
#include <cstring>

#include "numbers.hpp"

namespace heed::compare {
namespace {

template <typename T>
T parse(const std::string& name, std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw FileError("attribute " + name + ": '" + std::string(text) + "' is not a number that fits");
  return value;
}

template <typename T>
std::vector<T> copy(const Tensor& tensor) {
  std::vector<T> values(static_cast<std::size_t>(tensor.elements));
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

}  // namespace

std::string Attributes::text(const std::string& name, const std::string& otherwise) const {
  const auto found = metadata_.find(name);
  return found == metadata_.end() ? otherwise : found->second;
}

std::int64_t Attributes::integer(const std::string& name, std::int64_t otherwise) const {
  return has(name) ? parse<std::int64_t>(name, metadata_.at(name)) : otherwise;
}

double Attributes::number(const std::string& name, double otherwise) const {
  return has(name) ? parse<double>(name, metadata_.at(name)) : otherwise;
}

std::vector<std::int64_t> Attributes::integers(const std::string& name) const {
  std::vector<std::int64_t> values;
  const std::string whole = text(name, "");
  std::string_view rest = whole;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    values.push_back(parse<std::int64_t>(name, rest.substr(0, comma)));
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return values;
}

void Attributes::check(const std::string& name, std::int64_t value) const {
  if (integer(name, value) != value)
    throw FileError("attribute " + name + " is " + text(name, "") + ", its tensors say " + std::to_string(value));
}

const Tensor* find_tensor(const Safetensors& file, const std::string& name) {
  const auto found = file.tensors.find(name);
  return found == file.tensors.end() ? nullptr : &found->second;
}

const Tensor& tensor_of(const Safetensors& file, const std::string& name) {
  const Tensor* tensor = find_tensor(file, name);
  if (!tensor) throw FileError("no tensor '" + name + "'");
  return *tensor;
}

const Tensor& tensor_of(const Safetensors& file, const std::string& name, const std::vector<std::int64_t>& shape) {
  const Tensor& tensor = tensor_of(file, name);
  if (tensor.shape == shape) return tensor;
  std::string wanted;
  for (const std::int64_t axis : shape) wanted += (wanted.empty() ? "" : ", ") + std::to_string(axis);
  throw FileError("tensor '" + name + "': its shape is not [" + wanted + "]");
}

std::vector<double> doubles(const Tensor& tensor, const std::string& name) {
  if (tensor.dtype == "F64") return copy<double>(tensor);
  if (tensor.dtype == "F32") return widen(HEED_F32, tensor.bytes.data(), tensor.elements);
  if (tensor.dtype == "F16") return widen(HEED_F16, tensor.bytes.data(), tensor.elements);
  if (tensor.dtype == "BF16") return widen(HEED_BF16, tensor.bytes.data(), tensor.elements);
  throw FileError("tensor '" + name + "': " + tensor.dtype + " where numbers with a fraction belong");
}

std::vector<float> floats(const Tensor& tensor, const std::string& name) {
  if (tensor.dtype != "F32") throw FileError("tensor '" + name + "': " + tensor.dtype + " where F32 belongs");
  return copy<float>(tensor);
}

std::vector<std::int64_t> integers(const Tensor& tensor, const std::string& name) {
  if (tensor.dtype != "I64") throw FileError("tensor '" + name + "': " + tensor.dtype + " where I64 belongs");
  return copy<std::int64_t>(tensor);
}

heed_type type_of(const Tensor& tensor, const std::string& name) {
  if (tensor.dtype == "F32") return HEED_F32;
  if (tensor.dtype == "F16") return HEED_F16;
  if (tensor.dtype == "BF16") return HEED_BF16;
  if (tensor.dtype == "F8_E4M3") return HEED_FP8_E4M3;
  if (tensor.dtype == "F8_E5M2") return HEED_FP8_E5M2;
  throw Unsupported("type " + tensor.dtype + " of '" + name + "'");
}

heed_type float_type_of(const Tensor& tensor, const std::string& name) {
  const heed_type type = type_of(tensor, name);
  if (type > HEED_BF16) throw Unsupported("type " + tensor.dtype + " of '" + name + "'");
  return type;
}

void refuse_other_names(const Safetensors& file, const Names& names) {
  static const std::set<std::string> facts = {
      "format", "name", "kind",      "source", "group", "policy",  "dtype",        "oracle",
      "note",   "rows", "row_names", "dim",    "keys",  "ref_tol", "in_onnx_1_20", "tolerance_rule"};
  for (const auto& [name, tensor] : file.tensors)
    if (!names.tensors.count(name)) throw Unsupported("tensor '" + name + "'");
  for (const auto& [name, value] : file.metadata)
    if (!facts.count(name) && !names.attributes.count(name) && name.rfind("onnx_", 0) != 0)
      throw Unsupported("attribute " + name);
}

Case file_case(const Safetensors& file) {
  const std::string kind = Attributes(file.metadata).text("kind", "attention");
  return kind == "attention" ? attention_case(file) : micro_case(file, kind);
}

}  // namespace heed::compare

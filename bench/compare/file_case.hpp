// From a safetensors file to a case: what its attributes ask for, what its tensors expect. The layout of the files is
// that of the conformance data, see README.md beside this file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "comparison.hpp"
#include "problem.hpp"
#include "safetensors.hpp"

namespace heed::compare {

// The text attributes of a file, read as what they must be. Throws FileError when one is not.
class Attributes {
 public:
  explicit Attributes(const std::map<std::string, std::string>& metadata) : metadata_(metadata) {}

  bool has(const std::string& name) const { return metadata_.count(name) != 0; }
  std::string text(const std::string& name, const std::string& otherwise) const;
  std::int64_t integer(const std::string& name, std::int64_t otherwise) const;
  double number(const std::string& name, double otherwise) const;
  bool flag(const std::string& name) const { return integer(name, 0) != 0; }
  std::vector<std::int64_t> integers(const std::string& name) const;  // separated by commas

  // Throws FileError when the file states another value than the one that its tensors have.
  void check(const std::string& name, std::int64_t value) const;

 private:
  const std::map<std::string, std::string>& metadata_;
};

// The tensor of this name; throws FileError if it is missing or, where a shape is given, has another one.
const Tensor& tensor_of(const Safetensors& file, const std::string& name);
const Tensor& tensor_of(const Safetensors& file, const std::string& name, const std::vector<std::int64_t>& shape);
const Tensor* find_tensor(const Safetensors& file, const std::string& name);  // null: not there

// The elements of a tensor of numbers. Throws FileError for another dtype.
std::vector<double> doubles(const Tensor& tensor, const std::string& name);
std::vector<float> floats(const Tensor& tensor, const std::string& name);  // of dtype F32 only
std::vector<std::int64_t> integers(const Tensor& tensor, const std::string& name);

// heed's type for a dtype; throws Unsupported when it has none.
heed_type type_of(const Tensor& tensor, const std::string& name);
heed_type float_type_of(const Tensor& tensor, const std::string& name);  // for what may not be fp8: q and the mask

// What a kind of file may have beside facts about itself. A name that is not known might be an option, and a file is
// not run without it: Unsupported.
struct Names {
  std::set<std::string> tensors, attributes;
};
void refuse_other_names(const Safetensors& file, const Names& names);

// Throw FileError for a file that contradicts itself and Unsupported for one that asks for what heed does not have.
std::shared_ptr<Problem> attention_problem(const Safetensors& file);
Case attention_case(const Safetensors& file);
Case micro_case(const Safetensors& file, const std::string& kind);  // dot, softmax_rows, weighted_sum, merge, …
Case file_case(const Safetensors& file);

}  // namespace heed::compare

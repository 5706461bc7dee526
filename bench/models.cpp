// The file of layers of models: see bench/models for its columns.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "numbers.hpp"
#include "operations.hpp"

namespace heed::bench {
namespace {

constexpr std::size_t kColumns = 10;
constexpr std::int64_t kMost = std::int64_t{1} << 20;  // of any number in the file

void must(bool fine, const std::string& what) {
  if (!fine) throw std::invalid_argument(what);
}

std::int64_t number(const std::string& word, const std::string& column) {
  static const std::regex digits("[1-9][0-9]{0,6}");
  must(std::regex_match(word, digits) && std::stoll(word) <= kMost,
       column + " is '" + word + "', not a number from 1 to " + std::to_string(kMost));
  return std::stoll(word);
}

heed_type type(const std::string& word) {
  for (const heed_type known : {HEED_F32, HEED_F16, HEED_BF16, HEED_INT8}) {
    if (word == name_of(known)) return known;
  }
  throw std::invalid_argument("type '" + word + "' is none of f32, f16, bf16, int8");
}

void read_option(const std::string& option, Shape& shape) {
  const std::string name = option.substr(0, option.find('='));
  const bool plain = option == name;
  const std::string value = plain ? "" : option.substr(name.size() + 1);
  if (name == "causal" && plain) {
    shape.causal = true;
  } else if (name == "latent" && plain) {
    must(shape.Dv <= shape.D, "latent values are the first columns of the keys, so Dv is at most D");
    shape.latent = true;
  } else if (name == "window" && !plain) {
    shape.window_left = number(value, "window") - 1;
  } else if (name == "softcap" && !plain) {
    shape.softcap = static_cast<float>(number(value, "softcap"));
  } else {
    throw std::invalid_argument("option '" + option + "' is none of causal, window=N, softcap=N, latent");
  }
}

std::vector<Operation> read_line(const std::vector<std::string>& words) {
  static const std::regex plain_name("[a-z0-9_]+");
  must(words.size() == kColumns, std::to_string(words.size()) + " columns, not " + std::to_string(kColumns));
  must(std::regex_match(words[0], plain_name), "name '" + words[0] + "' is not made of a-z, 0-9 and _");
  Shape shape;
  shape.Hq = number(words[1], "Hq");
  shape.Hkv = number(words[2], "Hkv");
  shape.D = number(words[3], "D");
  shape.Dv = number(words[4], "Dv");
  must(shape.Hq % shape.Hkv == 0, "Hq is not a multiple of Hkv");
  shape.type = type(words[5]);
  if (words[6] != "-") {
    std::istringstream options(words[6]);
    for (std::string option; std::getline(options, option, ',');) read_option(option, shape);
  }
  must(shape.window_left < 0 || shape.causal, "a window needs causal");
  must(words[9] == "quick" || words[9] == "-", "the last column is '" + words[9] + "', neither quick nor -");
  must(words[7] != "-" || words[8] != "-", "neither a prefill nor a decode");
  const Set set = words[9] == "quick" ? Set::kQuickModel : Set::kModel;
  std::vector<Operation> operations;
  for (const bool prefill : {true, false}) {
    const std::string &length = words[prefill ? 7 : 8], variant = prefill ? "prefill" : "decode";
    if (length == "-") continue;
    const std::string name = words[0] + "_" + words[5] + "_" + variant;
    operations.push_back({name, Kind::kAttention, set, {shape.D}, {number(length, variant)}, shape, prefill});
  }
  return operations;
}

void add(std::vector<Operation>& operations, std::vector<Operation> more) {
  for (Operation& operation : more) {
    const auto same = [&](const Operation& other) { return other.name == operation.name; };
    must(std::none_of(operations.begin(), operations.end(), same), "there is a " + operation.name + " already");
    operations.push_back(std::move(operation));
  }
}

}  // namespace

std::vector<Operation> read_models(const std::string& path) {
  std::ifstream file(path);
  must(file.is_open(), path + " cannot be read");
  std::vector<Operation> operations;
  std::string line;
  for (int at = 1; std::getline(file, line); ++at) {
    std::istringstream text(line.substr(0, line.find('#')));
    const std::vector<std::string> words{std::istream_iterator<std::string>(text), {}};
    if (words.empty()) continue;
    try {
      add(operations, read_line(words));
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(path + ":" + std::to_string(at) + ": " + error.what());
    }
  }
  return operations;
}

}  // namespace heed::bench

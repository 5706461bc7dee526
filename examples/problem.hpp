// The problem that textbook.cpp solves: from a file, from the command line, or the textbook's own.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

inline constexpr char kTextbook[] =
    "q 1 0\n"
    "k 1 1\n"
    "v 0.5 0.5\n"
    "q 0 1\n"
    "k 0 1\n"
    "v 1 0\n"
    "q 1 1\n"
    "k 0 0\n"
    "v 0 1\n"
    "scale 1\n";

inline constexpr char kHelp[] =
    "usage: textbook [FILE | PROBLEM]\n\n"
    "Solves a small attention problem with heed's scalar and SIMD kernels and explains the result.\n"
    "Without an argument: the textbook problem. Another comes from FILE (- is the standard input), one record a line\n"
    "in any order, or from the command line with the same words: textbook q 1 0  k 1 0  k 0 1  v 5 5  v 7 7\n\n"
    "  q NUMBER...    the next query\n"
    "  k NUMBER...    the next key, as long as the queries\n"
    "  v NUMBER...    the value of the key in the same place; all values have the same length\n"
    "  scale NUMBER   factor of every logit; 1/sqrt(length of a key) if there is none\n"
    "  # text         ignored\n\n"
    "The textbook problem as such a file:\n\n";

// Vectors of the same length, one after the other.
struct Vectors {
  std::int64_t count = 0, size = 0;
  std::vector<float> numbers;
  const float* operator[](std::int64_t i) const { return numbers.data() + i * size; }
};

struct Problem {
  Vectors q, k, v;
  std::vector<float> scale;
};

inline bool is_kind(const std::string& word) { return word == "q" || word == "k" || word == "v" || word == "scale"; }

inline std::vector<float> read_numbers(std::istream& words) {
  std::vector<float> numbers;
  for (std::string word; words >> word && word[0] != '#';) {
    char* end = nullptr;
    const float number = std::strtof(word.c_str(), &end);
    if (*end != '\0') throw std::runtime_error("'" + word + "' is not a number");
    if (!std::isfinite(number)) throw std::runtime_error("'" + word + "' is not a finite number in single precision");
    numbers.push_back(number);
  }
  return numbers;
}

inline void append(Vectors& vectors, const std::vector<float>& numbers) {
  const auto size = static_cast<std::int64_t>(numbers.size());
  if (size == 0) throw std::runtime_error("a vector needs at least one number");
  if (vectors.count > 0 && size != vectors.size) {
    throw std::runtime_error("has " + std::to_string(size) + " numbers, the one before it " +
                             std::to_string(vectors.size));
  }
  vectors.size = size;
  ++vectors.count;
  vectors.numbers.insert(vectors.numbers.end(), numbers.begin(), numbers.end());
}

inline void read_record(const std::string& line, Problem& problem) {
  std::istringstream words(line);
  std::string kind;
  if (!(words >> kind) || kind[0] == '#') return;
  if (!is_kind(kind)) throw std::runtime_error("'" + kind + "' is none of q, k, v, scale");
  const std::vector<float> numbers = read_numbers(words);
  if (kind != "scale") return append(kind == "q" ? problem.q : kind == "k" ? problem.k : problem.v, numbers);
  if (numbers.size() != 1 || !problem.scale.empty()) throw std::runtime_error("scale takes one number, once");
  problem.scale = numbers;
}

inline Problem read_problem(std::istream& text, const std::string& name) {
  Problem problem;
  std::string line;
  for (int number = 1; std::getline(text, line); ++number) {
    try {
      read_record(line, problem);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(name + ", line " + std::to_string(number) + " (" + line + "): " + error.what());
    }
  }
  const auto& [q, k, v, scale] = problem;
  if (q.count == 0 || k.count == 0) throw std::runtime_error(name + ": needs a query and a key at least");
  if (q.size != k.size) throw std::runtime_error(name + ": queries and keys differ in length");
  if (k.count != v.count) {
    throw std::runtime_error(name + ": " + std::to_string(k.count) + " keys, but " + std::to_string(v.count) +
                             " values");
  }
  if (scale.empty()) problem.scale = {static_cast<float>(1.0 / std::sqrt(static_cast<double>(k.size)))};
  return problem;
}

inline Problem problem_of(int count, char** arguments) {
  if (count == 0) {
    std::istringstream text(kTextbook);
    return read_problem(text, "textbook");
  }
  const std::string first = arguments[0];
  if (first == "-") return read_problem(std::cin, "standard input");
  if (count == 1 && first.find(' ') == std::string::npos) {
    std::ifstream file(first);
    if (!file) throw std::runtime_error("cannot open " + first);
    return read_problem(file, first);
  }
  std::stringstream words, text;
  for (int i = 0; i < count; ++i) words << arguments[i] << ' ';
  for (std::string word; words >> word;) {
    if (text.tellp() > 0) text << (is_kind(word) ? '\n' : ' ');
    text << word;
  }
  return read_problem(text, "command line");
}

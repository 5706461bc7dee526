// Computes the problems of the golden file, and prints it or holds the library against it.
//
// A plain program without threads, clocks or files but the expected one, so that it also runs under an emulator.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "golden.hpp"
#include "heed/heed.hpp"

namespace heed::golden {

void must(std::int32_t code, const std::string& name, const char* message) {
  if (code == HEED_OK) return;
  std::fprintf(stderr, "%s: %s\n", name.c_str(), message);
  std::exit(2);
}

}  // namespace heed::golden

namespace {

using heed::golden::Line;
using heed::golden::Lines;

constexpr const char* kUsage =
    "usage: golden                            print the golden file of this library\n"
    "       golden --check FILE [--row NAME]  hold the library against FILE (-: standard input)\n"
    "\n"
    "Every row of kernels that this processor can run and that has fused multiply-add is computed, or only row NAME.\n"
    "The exit status is 0 if all bits are the expected ones, 1 if not, 2 if something else is wrong.\n";

Lines compute() {
  Lines lines;
  heed::golden::vector_problems(lines);
  heed::golden::matrix_problems(lines);
  heed::golden::conversion_problems(lines);
  heed::golden::shape_problems(lines);
  heed::golden::option_problems(lines);
  heed::golden::layout_problems(lines);
  heed::golden::special_problems(lines);
  heed::golden::mixed_problems(lines);
  heed::golden::state_problems(lines);
  heed::golden::fp8_problems(lines);
  return lines;
}

struct Golden {
  long arithmetic = 0;
  Lines lines;
};

void print(const Golden& golden) {
  std::printf("%ld\n", golden.arithmetic);
  for (const Line& line : golden.lines) std::printf("%s %016" PRIx64 "\n", line.name.c_str(), line.hash);
}

// False if the text is not a golden file.
bool read(std::FILE* file, Golden& golden) {
  char text[512];
  if (std::fgets(text, sizeof text, file) == nullptr || std::sscanf(text, "%ld", &golden.arithmetic) != 1) return false;
  while (std::fgets(text, sizeof text, file) != nullptr) {
    char* hash = std::strrchr(text, ' ');
    char* end = nullptr;
    if (hash == nullptr) return false;
    const std::uint64_t value = std::strtoull(hash + 1, &end, 16);
    if (end - (hash + 1) != 16 || *end != '\n') return false;
    golden.lines.push_back({std::string(text, hash), value});
  }
  return true;
}

// How many problems differ, each told in a line.
int differences(const char* row, const Lines& found, const Lines& expected) {
  std::map<std::string, std::uint64_t> rest;
  for (const Line& line : expected) rest[line.name] = line.hash;
  int count = 0;
  for (const Line& line : found) {
    const auto right = rest.find(line.name);
    if (right == rest.end()) {
      ++count, std::printf("%s: %s: is not in the golden file\n", row, line.name.c_str());
      continue;
    }
    if (right->second != line.hash) {
      ++count, std::printf("%s: %s: is %016" PRIx64 ", expected %016" PRIx64 "\n", row, line.name.c_str(), line.hash,
                           right->second);
    }
    rest.erase(right);
  }
  for (const auto& [name, hash] : rest) {
    ++count, std::printf("%s: %s: is in the golden file, but was not computed\n", row, name.c_str());
  }
  return count;
}

// The first name that stands twice, or null.
const char* repeated(const Lines& lines) {
  std::map<std::string, int> count;
  for (const Line& line : lines) {
    if (++count[line.name] == 2) return line.name.c_str();
  }
  return nullptr;
}

// Computes every row that `only` names (null: all), and holds it against `golden`, or where that is empty against the
// first row, whose lines it becomes. The report goes to standard output unless the golden file does.
int run(const char* only, Golden& golden, bool report) {
  int rows = 0, differing = 0;
  for (std::int32_t r = 0; r < heed::isa_count(); ++r) {
    const heed::IsaInfo row = heed::isa_row(r);
    if (only != nullptr && std::strcmp(only, row.name) != 0) continue;
    if (row.fma == 0 || row.supported == 0) {
      if (report) {
        std::printf("%s: skipped, %s\n", row.name,
                    row.fma == 0 ? "without fused multiply-add its bits are others" : "this processor cannot run it");
      }
      continue;
    }
    const heed::Status status = heed::force_isa(row.name);
    heed::golden::must(status.code(), row.name, status.message());
    const Lines lines = compute();
    if (const char* name = repeated(lines); name != nullptr) {
      std::fprintf(stderr, "%s: stands twice\n", name);
      return 2;
    }
    if (golden.lines.empty()) golden.lines = lines;
    const int count = differences(row.name, lines, golden.lines);
    if (report && count == 0) std::printf("%s: %zu problems, the expected bits\n", row.name, lines.size());
    if (report && count > 0) std::printf("%s: %d of %zu problems differ\n", row.name, count, lines.size());
    differing += count;
    ++rows;
  }
  if (rows == 0) return std::fprintf(stderr, "no row to compute\n"), 2;
  return differing == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const char *path = nullptr, *only = nullptr;
  for (int i = 1; i < argc; ++i) {
    const char** value = std::strcmp(argv[i], "--check") == 0 ? &path
                         : std::strcmp(argv[i], "--row") == 0 ? &only
                                                              : nullptr;
    if (value == nullptr || i + 1 == argc) {
      const bool asked = std::strcmp(argv[i], "--help") == 0;
      std::fputs(kUsage, asked ? stdout : stderr);
      return asked ? 0 : 2;
    }
    *value = argv[++i];
  }

  Golden golden;
  if (path == nullptr) {
    const int status = run(only, golden, false);
    golden.arithmetic = heed::arithmetic();
    if (status == 0) print(golden);
    return status;
  }
  std::FILE* file = std::strcmp(path, "-") == 0 ? stdin : std::fopen(path, "r");
  if (file == nullptr) return std::fprintf(stderr, "%s: cannot be opened\n", path), 2;
  const bool readable = read(file, golden);
  std::fclose(file);
  if (!readable || golden.lines.empty()) return std::fprintf(stderr, "%s: is not a golden file\n", path), 2;
  if (const char* name = repeated(golden.lines); name != nullptr) {
    return std::printf("%s: stands twice in the golden file\n", name), 1;
  }
  if (golden.arithmetic != heed::arithmetic()) {
    std::printf("the golden file is for arithmetic %ld, the library has %d\n", golden.arithmetic, heed::arithmetic());
    return 1;
  }
  return run(only, golden, true);
}

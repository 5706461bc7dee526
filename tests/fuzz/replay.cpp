// Runs a target over every input of a corpus: `fuzz_replay_NAME FILE [-v]`, where FILE holds, for each input, its size
// in two bytes (the lower one first) and the input itself.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "fuzz/target.hpp"

namespace {

int fail(const char* file, const char* why) {
  std::fprintf(stderr, "%s: %s\n", file, why);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const bool show = argc == 3 && std::strcmp(argv[2], "-v") == 0;  // which input is it that fails?
  if (argc != 2 && !show) return fail(argv[0], "takes a file, and -v to name each input");
  std::ifstream stream(argv[1], std::ios::binary);
  const std::vector<char> file{std::istreambuf_iterator<char>(stream), {}};
  if (!stream || file.empty()) return fail(argv[1], "cannot be read, or is empty");
  int inputs = 0;
  for (std::size_t at = 0; at < file.size(); ++inputs) {
    if (file.size() - at < 2) return fail(argv[1], "ends inside a size");
    const std::size_t size = static_cast<unsigned char>(file[at]) + 256u * static_cast<unsigned char>(file[at + 1]);
    at += 2;
    if (file.size() - at < size) return fail(argv[1], "ends inside an input");
    // Exactly as large as it is, so that a sanitizer sees a read behind it.
    const std::vector<std::uint8_t> input(file.begin() + static_cast<std::ptrdiff_t>(at),
                                          file.begin() + static_cast<std::ptrdiff_t>(at + size));
    if (show) std::fprintf(stderr, "input %d\n", inputs);
    LLVMFuzzerTestOneInput(input.data(), input.size());
    at += size;
  }
  std::printf("%d inputs\n", inputs);
  return 0;
}

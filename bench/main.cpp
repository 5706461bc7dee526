// heed-bench: the command line. What it leaves is raw; bench/run.py makes the report.
#include <cstdio>
#include <exception>
#include <regex>
#include <stdexcept>
#include <string>

#include "suite.hpp"

namespace {

constexpr const char* kUsage =
    "usage: heed-bench [--quick] [--filter RE] [--threads N] [--seconds S] [--out FILE.json] [--check]\n"
    "                  [--models FILE] [--list] [--library NAME=FILE]... [--point OP/D/L[:PARTNER]]...\n"
    "  --quick      fewer lengths and samples\n"
    "  --filter RE  only benchmarks whose name <op>_<type>[_<variant>]/<row>/<D>/<L> matches\n"
    "  --threads N  attention with N threads, against the roofs of N threads\n"
    "  --seconds S  what has not begun after S seconds is skipped (default 300, quick 35)\n"
    "  --out FILE   results as JSON\n"
    "  --library NAME=FILE  instead of the rows of this build: the best row of this shared library\n"
    "  --models FILE  layers of models too, from a file like bench/models\n"
    "  --point OP/D/L[:PARTNER]  instead: this, by the best row, in turn with the operation PARTNER\n"
    "  --list       no times: only names what would be measured\n"
    "  --check      no times: only holds the results against double precision\n";

heed::bench::Options parse(int argc, char** argv) {
  heed::bench::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == argc) throw std::invalid_argument(word + " needs a value");
      return argv[++i];
    };
    if (word == "--quick") {
      options.quick = true;
    } else if (word == "--list") {
      options.list = true;
    } else if (word == "--models") {
      options.models = value();
    } else if (word == "--point") {
      options.points.push_back(value());
    } else if (word == "--check") {
      options.check = true;
    } else if (word == "--filter") {
      options.filter = value();
    } else if (word == "--threads") {
      options.threads = std::stoi(value());
    } else if (word == "--seconds") {
      options.seconds = std::stod(value());
    } else if (word == "--library") {
      const std::string text = value();
      const std::size_t equals = text.find('=');
      if (equals == std::string::npos) throw std::invalid_argument("--library takes NAME=FILE");
      options.libraries.push_back({text.substr(0, equals), text.substr(equals + 1)});
    } else if (word == "--out") {
      options.out = value();
    } else {
      throw std::invalid_argument("unknown option " + word);
    }
  }
  if (options.threads < 1) throw std::invalid_argument("--threads must be at least 1");
  if (options.seconds <= 0.0) options.seconds = options.quick ? 35.0 : 300.0;
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  heed::bench::Options options;
  try {
    options = parse(argc, argv);
    return heed::bench::run_suite(options);
  } catch (const std::regex_error& error) {
    std::fprintf(stderr, "heed-bench: --filter: %s\n", error.what());
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "heed-bench: %s\n%s", error.what(), kUsage);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heed-bench: %s\n", error.what());
  }
  return 2;
}

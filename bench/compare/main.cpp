// heed-compare: the same inputs through the double reference, the scalar twin and every row of SIMD kernels.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "comparison.hpp"
#include "file_case.hpp"
#include "generate.hpp"
#include "report.hpp"

namespace {

using namespace heed::compare;

struct Options {
  std::vector<std::string> files;
  std::string row;
  bool has_refusal = false;
  std::string refusal;  // files must be refused with these words in the reason; empty: not at all
  bool json = false;
  double milliseconds = -1;  // for each row and kernel; negative: by the kind of case
  Generated generated;
};

constexpr const char* kFooter =
    "Files are safetensors with tensors q, k, v and options in the metadata; a folder stands for all of its files.\n"
    "What a file expects (out, lse, weights, ...) is held against its own tolerances.\n"
    "Without files the inputs are generated.\n\n"
    "Exit status, the first that applies: 1 a value disagrees, or a row with FMA differs from the scalar twin in a\n"
    "bit; 2 wrong usage or options, or a file that cannot be read; 77 a file asks for what this version does not have; "
    "0 all\n"
    "agree.";

CaseResult run_case(Case& c, const std::vector<Row>& rows, double seconds) {
  CaseResult result;
  result.name = c.name;
  result.description = c.description;
  result.complaints = c.complaints;
  result.computations = run(c, rows, seconds);
  bool agrees = result.complaints.empty();
  for (const ComputationResult& computation : result.computations) {
    agrees = agrees && computation.reference_complaint.empty();
    for (const RowResult& row : computation.rows) agrees = agrees && row.complaint.empty();
  }
  result.exit = agrees ? kAgrees : kDisagrees;
  return result;
}

// make_case gives the case; what it or the run throws becomes the result.
template <typename MakeCase>
CaseResult guarded(const std::string& name, MakeCase make_case, const std::vector<Row>& rows, double seconds) {
  CaseResult result;
  result.name = name;
  try {
    Case c = make_case();
    c.name = name;
    return run_case(c, rows, seconds);
  } catch (const Unsupported& refusal) {
    result.exit = kRefused;
    result.message = refusal.what();
  } catch (const Refused& refusal) {
    result.exit = kUnreadable;
    result.message = refusal.what();
  } catch (const FileError& error) {
    result.exit = kUnreadable;
    result.message = error.what();
  } catch (const std::bad_alloc&) {
    result.exit = kUnreadable;
    result.message = "more memory than there is";
  }
  return result;
}

void check_refusal(const std::string& expected, CaseResult& result) {
  const bool refused = result.exit == kRefused;
  if (result.exit != kAgrees && !refused) return;
  const bool right = expected.empty() ? !refused : refused && result.message.find(expected) != std::string::npos;
  if (!right) result.complaints.push_back(expected.empty() ? "refused" : "not refused for its " + expected);
  result.exit = right ? kAgrees : kDisagrees;
}

std::vector<std::string> files_of(const std::vector<std::string>& names) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (const std::string& name : names) {
    std::error_code error;
    if (!fs::is_directory(name, error)) {
      files.push_back(name);
      continue;
    }
    std::vector<std::string> found;
    for (fs::recursive_directory_iterator entry(name, error), end; !error && entry != end; entry.increment(error))
      if (entry->path().extension() == ".safetensors") found.push_back(entry->path().string());
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
    if (error || found.empty()) files.push_back(name);  // which cannot be read
  }
  return files;
}

void declare(CLI::App& app, Options& options) {
  Generated& g = options.generated;
  app.add_option("files", options.files, "safetensors files, or folders of them");
  app.add_option("--isa", options.row, "only this row of kernels, beside the scalar twin");
  app.add_option("--refusal", options.refusal,
                 "0 instead of 77 if a file is refused with these words, 1 if it is not; '' likewise: none may be");
  app.add_flag("--json", options.json, "print one JSON document");
  app.add_option("--time", options.milliseconds, "milliseconds to time each row and kernel (files: 0, generated: 20)")
      ->check(CLI::NonNegativeNumber);
  const std::string group = "Generated inputs";
  app.add_option("--seed", g.seed, "seed (default: a new one each time)")->group(group);
  app.add_option("--distribution", g.distribution, "normal, uniform, wide (magnitudes 2^-12 to 2^4), integers")
      ->check(CLI::IsMember(kDistributions))
      ->capture_default_str()
      ->group(group);
  app.add_option("--batch", g.B, "B, sequences")->capture_default_str()->group(group);
  app.add_option("--heads-q", g.Hq, "Hq, query heads")->capture_default_str()->group(group);
  app.add_option("--heads-kv", g.Hkv, "Hkv, key/value heads")->capture_default_str()->group(group);
  app.add_option("--len-q", g.Lq, "Lq, query tokens")->capture_default_str()->group(group);
  app.add_option("--len-kv", g.Lkv, "Lkv, key/value tokens")->capture_default_str()->group(group);
  app.add_option("--dim", g.D, "D, key head dimension")->capture_default_str()->group(group);
  app.add_option("--dim-v", g.Dv, "Dv, value head dimension (default: D)")->group(group);
  app.add_option("--scale", g.scale, "scale (default: 1/sqrt(D))")->group(group);
  app.add_flag("--causal", g.causal, "a query attends no key behind it, the last query stands at the last key")
      ->group(group);
  app.add_option("--window-left", g.window_left, "keys before a query's own; -1: all")->group(group);
  app.add_option("--window-right", g.window_right, "keys after a query's own; -1: all")->group(group);
  app.add_option("--softcap", g.softcap, "cap of the scores; 0: off")->group(group);
  app.add_flag("--alibi", g.alibi, "ALiBi, head h with slope 2^(-8(h+1)/Hq)")->group(group);
  app.add_flag("--sinks", g.sinks, "a sink for each query head")->group(group);
  app.footer(kFooter);
}

int compare(const Options& options) {
  std::vector<Row> rows;
  try {
    rows = runnable_rows(options.row);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "heed-compare: %s\n", error.what());
    return kUnreadable;
  }
  const bool generate = options.files.empty();
  const double seconds = (options.milliseconds >= 0 ? options.milliseconds : generate ? 20 : 0) * 1e-3;
  std::vector<CaseResult> results;
  const auto add = [&](CaseResult result) {
    if (options.has_refusal) check_refusal(options.refusal, result);
    if (!options.json) print_text(result);
    results.push_back(std::move(result));
  };
  if (generate) {
    const Generated& g = options.generated;
    const std::string name = "generated, " + g.distribution + ", seed " + std::to_string(g.seed);
    add(guarded(
        name, [&] { return generated_case(g); }, rows, seconds));
  }
  for (const std::string& file : files_of(options.files))
    add(guarded(
        file, [&] { return file_case(read_safetensors(file)); }, rows, seconds));
  if (results.empty()) {
    std::fprintf(stderr, "heed-compare: no safetensors files there\n");
    return kUnreadable;
  }
  if (options.json) print_json(results);
  if (!options.json && results.size() > 1) print_summary(results);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::fprintf(stderr, "heed-compare: the report could not be written\n");
    return kUnreadable;
  }
  return overall(results);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Holds heed's kernels against the textbook in double precision, and against each other.",
               "heed-compare");
  declare(app, options);
  try {
    app.parse(argc, argv);
    if (app.count("--seed") == 0) options.generated.seed = std::random_device{}();
    options.generated.has_scale = app.count("--scale") > 0;
    options.has_refusal = app.count("--refusal") > 0;
    return compare(options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kAgrees : kUnreadable;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heed-compare: %s\n", error.what());
    return kUnreadable;
  }
}

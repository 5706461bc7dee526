// heed-bench: measures the kernels and attention, on every row that this machine runs, against the roofs.
// See README.md in this folder for what the figures mean.
#include "suite.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string_view>

namespace heed::bench {

#define HEED_BENCH_ROW(name, limited) extern const Probes probes_##name;
#include "heed_bench_rows.hpp"
#undef HEED_BENCH_ROW

namespace {

struct BuiltRow {
  const char* name;
  bool limited;
  const Probes* probes;
};

constexpr BuiltRow kBuiltRows[] = {
#define HEED_BENCH_ROW(name, limited) {#name, limited, &probes_##name},
#include "heed_bench_rows.hpp"
#undef HEED_BENCH_ROW
};

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

// The roofs of every kind of vector that the rows use. Rows with the same vectors share them.
class RoofTable {
 public:
  RoofTable(const Machine& machine, const Streamed& streamed, Team& team)
      : machine_(machine), streamed_(streamed), team_(team) {}

  Roofs* of(const Probes& probes) {
    auto& roofs = table_[{probes.vector_bytes, probes.fma}];
    if (roofs == nullptr) roofs = std::make_unique<Roofs>(probes, machine_, streamed_, team_);
    return roofs.get();
  }

 private:
  const Machine& machine_;
  const Streamed& streamed_;
  Team& team_;
  std::map<std::pair<int, bool>, std::unique_ptr<Roofs>> table_;
};

// Best row first, the reference last. Of libraries from files only these, each with its own best row.
std::vector<Entrant> find_entrants(RoofTable& roofs, const std::vector<OtherLibrary>& named,
                                   const std::vector<Library>& libraries) {
  const std::string best = isa();
  std::vector<Entrant> entrants;
  Roofs* best_roofs = nullptr;
  for (std::int32_t i = 0; i < isa_count(); ++i) {
    const IsaInfo row = isa_row(i);
    const auto* built = std::find_if(std::begin(kBuiltRows), std::end(kBuiltRows), [&](const BuiltRow& candidate) {
      return std::string_view(candidate.name) == row.name;
    });
    if (row.supported == 0 || built == std::end(kBuiltRows)) continue;
    const bool everywhere = row.name == best || std::string_view(row.name) == kDenominator;
    if (row.name == best) best_roofs = roofs.of(*built->probes);
    if (!libraries.empty()) continue;
    entrants.push_back({{row.name, row.name, &linked_library(), built->limited, roofs.of(*built->probes)},
                        everywhere ? Grid::kAll : Grid::kFour,
                        row.name});
  }
  for (std::size_t i = 0; i < libraries.size(); ++i) {
    entrants.push_back({{named[i].name, libraries[i].isa(), &libraries[i], false, best_roofs}, Grid::kAll, best});
  }
  if (!libraries.empty()) return entrants;
  std::stable_partition(entrants.begin(), entrants.end(), [&](const Entrant& e) { return e.contestant.name == best; });
  entrants.push_back({{kReference, "", nullptr, true, best_roofs}, Grid::kAll, kReference});
  return entrants;
}

template <class Field>
void count(benchmark::State& state, const std::string& name, const std::vector<Sample>& samples, Field field) {
  std::vector<double> values;
  for (const Sample& sample : samples) values.push_back(field(sample));
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  state.counters[name] = median(values);
  state.counters[name + "_min"] = *least;
  state.counters[name + "_max"] = *most;
}

// Times of another series over this one's, from samples of the same round, or the nearest that counted.
void count_ratio(benchmark::State& state, const std::string& name, const Series& other, const Series& series) {
  if (other.outcome != Outcome::kMeasured) return;
  count(state, name, series.samples, [&](const Sample& sample) {
    const auto distance = [&](const Sample& candidate) { return std::abs(candidate.round - sample.round); };
    const auto nearest = std::min_element(other.samples.begin(), other.samples.end(),
                                          [&](const Sample& a, const Sample& b) { return distance(a) < distance(b); });
    return nearest->seconds / sample.seconds;
  });
}

void measure(Point& point, Sampler& sampler, const Setting& setting) {
  const auto problem = make_problem(*point.operation, point.D, point.L, setting);
  std::unique_ptr<Problem> partner;
  std::vector<Entry> entries;
  for (const Contestant& contestant : point.contestants) entries.push_back({problem.get(), contestant});
  if (point.partner != nullptr) {
    partner = make_problem(*point.partner, point.D, point.L, setting);
    entries.push_back({partner.get(), point.contestants.front()});
  }
  point.facts = problem->facts();
  point.series = sampler.measure(entries, point.patience);
}

// Google Benchmark runs one row at a time; the point was sampled row by row in turn when its first row came up, and
// each row hands in its own times.
void report(benchmark::State& state, Point& point, std::size_t c, Sampler& sampler, const Setting& setting) {
  try {
    if (point.series.empty()) measure(point, sampler, setting);
  } catch (const std::runtime_error& error) {
    state.SkipWithError((std::string("skipped: ") + error.what()).c_str());
    return;
  }
  const Series& series = point.series[c];
  if (series.outcome != Outcome::kMeasured) {
    constexpr const char* kPrefixes[] = {"", "skipped: ", "", "WRONG: "};
    state.SkipWithError((kPrefixes[static_cast<int>(series.outcome)] + series.reason).c_str());
    return;
  }
  auto sample = series.samples.begin();
  for ([[maybe_unused]] auto _ : state) state.SetIterationTime((sample++)->seconds);
  state.SetLabel(name_of(point.facts.level));
  state.counters["operations"] = point.facts.operations;
  state.counters["bytes"] = point.facts.bytes;
  state.counters["pairs"] = point.facts.pairs;
  state.counters["copies"] = static_cast<double>(point.facts.copies);
  state.counters["check"] = series.error;
  state.counters["rejected"] = series.rejected;
  state.counters["invalid"] = series.invalid ? 1 : 0;
  count(state, "seconds", series.samples, [](const Sample& x) { return x.seconds; });
  count(state, "share", series.samples, [](const Sample& x) { return x.share; });
  count(state, "tile", series.samples, [](const Sample& x) { return x.tile; });
  count(state, "peak", series.samples, [](const Sample& x) { return x.peak; });
  count(state, "bandwidth", series.samples, [](const Sample& x) { return x.bandwidth; });
  for (std::size_t other = 0; other < point.contestants.size(); ++other) {
    if (point.contestants[other].name == kDenominator) count_ratio(state, "speedup", point.series[other], series);
  }
  if (point.partner != nullptr) count_ratio(state, "ratio", point.series.back(), series);
}

// One line per benchmark, for whoever watches.
class Progress : public benchmark::BenchmarkReporter {
 public:
  explicit Progress(std::size_t total) : total_(total) {}

  bool ReportContext(const Context&) override { return true; }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      const std::string name = run.run_name.function_name;
      std::printf("[%zu/%zu] %s ", ++done_, total_, name.c_str());
      if (run.error_occurred) {
        std::printf("%s\n", run.error_message.c_str());
        wrong_ += run.error_message.rfind("WRONG", 0) == 0 ? 1 : 0;
      } else {
        std::printf("%.4g us, %.0f %% of the roof (%s)\n", run.counters.at("seconds") * 1e6,
                    run.counters.at("share") * 100, run.report_label.c_str());
      }
      std::fflush(stdout);
    }
  }

  int wrong() const { return wrong_; }

 private:
  std::size_t total_, done_ = 0;
  int wrong_ = 0;
};

void add_context(const Options& options, const Policy& policy, const Machine& machine, const Streamed& streamed,
                 const std::vector<Operation>& operations, const std::vector<Entrant>& entrants) {
  const auto add = [](const std::string& key, const std::string& value) { benchmark::AddCustomContext(key, value); };
  add("heed_version", version());
  add("heed_arithmetic", std::to_string(arithmetic()));
  add("heed_isa", isa());
  add("denominator", kDenominator);
  add("threads", std::to_string(options.threads));
  add("quick", options.quick ? "1" : "0");
  add("samples", std::to_string(policy.samples));
  add("least_tile", number(kLeastTile));
  add("most_share", number(kMostShare));
  add("caches_known", machine.caches_known ? "1" : "0");
  add("l1_bytes", std::to_string(machine.l1_bytes));
  add("l2_bytes", std::to_string(machine.l2_bytes));
  add("llc_bytes", std::to_string(machine.llc_bytes));
  add("streamed_bytes", std::to_string(streamed.huge.size_bytes()));
  std::string rows;
  for (const Entrant& entrant : entrants) rows.append(rows.empty() ? "" : " ").append(entrant.contestant.name);
  add("rows", rows);
  for (const Entrant& entrant : entrants) add("isa/" + entrant.contestant.name, entrant.contestant.row);
  std::string names, models;
  for (const Operation& operation : operations) {
    names.append(names.empty() ? "" : " ").append(operation.name);
    if (!is_model(operation)) continue;
    models.append(models.empty() ? "" : " ").append(operation.name);
    add("model/" + operation.name, describe(operation.at(operation.dimensions.front(), operation.lengths.front())));
  }
  add("operations", names);
  add("models", models);
  std::vector<double> clocks, per_clock, tiles;
  Roofs& best = *entrants.front().contestant.roofs;
  for (int i = 0; i < 15; ++i) {
    const double clock = clock_hz(), peak = best.fma_peak();
    clocks.push_back(clock);
    per_clock.push_back(peak / clock / options.threads);
    tiles.push_back(best.tile() / peak);
  }
  add("clock_hz", number(median(clocks)));
  add("operations_per_clock", number(median(per_clock)));
  add("tile_of_peak", number(median(tiles)));
  for (const Entrant& entrant : entrants) {
    Roofs& roofs = *entrant.contestant.roofs;
    const std::string prefix = "roof/" + entrant.contestant.name + "/";
    add(prefix + "vector", std::to_string(roofs.vector_bits()) + " bits" + (roofs.fma() ? ", FMA" : ", no FMA"));
    add(prefix + "peak", number(roofs.fma_peak()));
    for (int i = 0; i < kLevels; ++i) {
      const auto level = static_cast<Level>(i);
      add(prefix + name_of(level), number(roofs.chosen(level)));
      add(prefix + name_of(level) + "_probe", roofs.describe(level));
    }
  }
}

int run_checks(const std::vector<std::unique_ptr<Point>>& points, Sampler& sampler, const Setting& setting) {
  int checked = 0, wrong = 0;
  for (const auto& point : points) {
    const auto problem = make_problem(*point->operation, point->D, point->L, setting);
    if (problem->facts().operations > kMostOperations) continue;
    for (const Contestant& contestant : point->contestants) {
      if (contestant.library == nullptr) continue;
      const Series series = sampler.check({problem.get(), contestant});
      ++checked;
      if (series.outcome == Outcome::kMeasured) continue;
      ++wrong;
      std::printf("%s: %s\n", name_of(*point, contestant.name).c_str(), series.reason.c_str());
    }
  }
  std::printf("%d checked, %d wrong\n", checked, wrong);
  return wrong == 0 ? 0 : 1;
}

// Names and, of models, shapes.
int list_points(const std::vector<std::unique_ptr<Point>>& points) {
  for (const auto& point : points) {
    const Operation& operation = *point->operation;
    const std::string shape = is_model(operation) ? ": " + describe(operation.at(point->D, point->L)) : "";
    for (const Contestant& contestant : point->contestants) {
      std::printf("%s%s\n", name_of(*point, contestant.name).c_str(), shape.c_str());
    }
  }
  return 0;
}

// Measures all points by Google Benchmark, which writes the file.
int run_benchmarks(const Options& options, const std::vector<std::unique_ptr<Point>>& points, const Policy& policy,
                   Sampler& sampler, const Setting& setting, double start) {
  std::size_t total = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto& point = points[i];
    point->patience = start + options.seconds * static_cast<double>(i + 1) / static_cast<double>(points.size());
    for (std::size_t c = 0; c < point->contestants.size(); ++c, ++total) {
      benchmark::RegisterBenchmark(
          name_of(*point, point->contestants[c].name).c_str(),
          [&, c, p = point.get()](benchmark::State& state) { report(state, *p, c, sampler, setting); })
          ->Iterations(policy.samples)
          ->UseManualTime();
    }
  }
  std::vector<std::string> words = {"heed-bench"};
  if (!options.out.empty())
    words.insert(words.end(), {"--benchmark_out=" + options.out, "--benchmark_out_format=json"});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  int argc = static_cast<int>(argv.size());
  benchmark::Initialize(&argc, argv.data());
  Progress progress(total);
  benchmark::RunSpecifiedBenchmarks(&progress);
  return progress.wrong() == 0 ? 0 : 1;
}

}  // namespace

int run_suite(const Options& options) {
  const double start = seconds_now();
  std::vector<Operation> operations = list_operations();
  if (!options.models.empty()) {
    for (Operation& layer : read_models(options.models)) operations.push_back(std::move(layer));
  }
  std::vector<Library> libraries;
  for (const OtherLibrary& other : options.libraries) libraries.push_back(load_library(other.file));
  const Machine machine = probe_machine();
  Team team(options.threads, machine.cpus);
  // Twice the last-level cache, at most 640 MiB or an eighth of the free memory (it may come to one for each of four
  // types and one for small pages), and never less than the largest problem: a row of 67108864 scores is 256 MiB.
  constexpr std::size_t kLargestProblem = std::size_t{256} << 20;
  const std::size_t wanted = std::min({2 * machine.llc_bytes, std::size_t{640} << 20, machine.available_bytes / 8});
  constexpr std::size_t kLeast = std::size_t{32} << 20;  // that the probes need, where nothing is measured
  const std::size_t bytes = options.list ? kLeast : std::max(wanted, kLargestProblem) >> 21 << 21;
  Streamed streamed{Pages(bytes, PageSize::kHuge), Pages(bytes, PageSize::k4KiB)};
  streamed.huge.fill_random();
  streamed.small.touch();
  RoofTable roofs(machine, streamed, team);
  const std::vector<Entrant> entrants = find_entrants(roofs, options.libraries, libraries);
  // Two builds are told apart by disjoint ranges, which 7 samples of the same have once in 1716 times, 3 once in 10.
  const int samples = options.quick ? (libraries.empty() ? 3 : 7) : (libraries.empty() ? 7 : 9);
  const Policy policy{samples, options.quick ? 1e-3 : 2e-3, start + options.seconds};
  Numbers numbers(streamed.huge);
  const Setting setting{machine, numbers, team};
  Sampler sampler(*entrants.front().contestant.roofs, policy, setting);

  const auto points = choose_points(options, operations, entrants);
  if (points.empty()) {
    std::fprintf(stderr, "heed-bench: nothing matches '%s'\n", options.filter.c_str());
    return 2;
  }
  if (options.list) return list_points(points);
  if (options.check) return run_checks(points, sampler, setting);
  add_context(options, policy, machine, streamed, operations, entrants);
  return run_benchmarks(options, points, policy, sampler, setting, start);
}

}  // namespace heed::bench

#include "sampling.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace heed::bench {
namespace {

constexpr std::int64_t kPilotLength = 256;
constexpr int kPilotCalls = 3;
constexpr int kProbesPerSample = 40;   // tries to find the machine quiet before a sample
constexpr int kRunsPerSample = 3;      // tries of a sample, when it was not quiet to the end
constexpr double kSlowSeconds = 0.05;  // samples this long are tried twice only
constexpr double kLeastOnCpu = 0.97;   // of a sample's time, that its thread must have had the processor

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// The row that runs, for heed's own calls. The reference belongs to no row.
std::string use(const Contestant& contestant) {
  if (contestant.library == nullptr) return {};
  Status status;
  contestant.library->force_isa(contestant.row.c_str(), &status.raw());
  return status.ok() ? std::string() : status.message();
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, seconds < 10 ? "%.1f s" : "%.0f s", seconds);
  return text;
}

void run(Problem& problem, const Contestant& contestant, std::int64_t calls) {
  if (contestant.library == nullptr) {
    for (std::int64_t i = 0; i < calls; ++i) problem.call_reference();
  } else {
    for (std::int64_t i = 0; i < calls; ++i) problem.call(*contestant.library);
  }
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// What a call will take, from a short one: so that a call of minutes is never begun.
double Sampler::seconds_per_call(const Entry& entry) {
  const Problem& problem = *entry.problem;
  const auto key = std::pair(problem.operation().name + "/" + entry.contestant.name, problem.D());
  double& seconds = seconds_per_pair_[key];
  if (seconds == 0.0) {
    const auto pilot = make_problem(problem.operation(), problem.D(), kPilotLength, setting_);
    for (int i = 0; i < kPilotCalls; ++i) {
      const double start = seconds_now();
      run(*pilot, entry.contestant, 1);
      const double each = (seconds_now() - start) / pilot->facts().pairs;
      if (i == 0 || each < seconds) seconds = each;
    }
  }
  return seconds * problem.facts().pairs;
}

void Sampler::prepare(const Entry& entry, Series& series) {
  const Contestant& contestant = entry.contestant;
  const auto leave = [&](Outcome outcome, const std::string& reason) {
    series.outcome = outcome;
    series.reason = reason;
  };
  if (seconds_now() > policy_.deadline) return leave(Outcome::kSkipped, "the run's time is up");
  if (contestant.limited && entry.problem->facts().operations > kMostOperations) {
    return leave(Outcome::kSkipped, "more than 1e8 operations");
  }
  if (const std::string error = use(contestant); !error.empty()) return leave(Outcome::kSkipped, error);
  const double estimate = seconds_per_call(entry);
  if (estimate > kMostCallSeconds) return leave(Outcome::kSkipped, "about " + seconds_text(estimate) + " a call");
  if (contestant.library != nullptr) series = check(entry);
}

Series Sampler::check(const Entry& entry) {
  Series series;
  series.outcome = Outcome::kWrong;
  series.reason = use(entry.contestant);
  if (!series.reason.empty()) return series;
  series.error = entry.problem->check(*entry.contestant.library, series.reason);
  if (!series.reason.empty()) return series;
  if (series.error <= 1.0) {
    series.outcome = Outcome::kMeasured;
  } else {
    char text[96];
    std::snprintf(text, sizeof text, "differs from double precision by %.3g times the bound", series.error);
    series.reason = text;
  }
  return series;
}

Sampler::Roof Sampler::probe(const Contestant& contestant, Level level) {
  const double referee = referee_.fma_peak();
  const double peak = contestant.roofs == &referee_ ? referee : contestant.roofs->fma_peak();
  return {peak, referee_.tile() / referee, contestant.roofs->bandwidth(level)};
}

void Sampler::sample(const Entry& entry, std::int64_t calls, int round, Series& series) {
  Problem& problem = *entry.problem;
  const Facts& facts = problem.facts();
  const Contestant& contestant = entry.contestant;
  use(contestant);
  Roof before{};
  for (int i = 0; i < kProbesPerSample; ++i) {
    const double peak = referee_.fma_peak();
    if (referee_.tile() >= kLeastTile * peak) break;
  }
  before = probe(contestant, facts.level);
  if (calls > 1) run(problem, contestant, 1);  // the probe has used the caches
  const double start = seconds_now(), own_start = thread_seconds();
  run(problem, contestant, calls);
  const double own = thread_seconds() - own_start, elapsed = seconds_now() - start;
  const double seconds = elapsed / static_cast<double>(calls);
  const Roof after = probe(contestant, facts.level);

  Sample sample{};
  sample.round = round;
  sample.seconds = seconds;
  sample.tile = (before.tile + after.tile) / 2;
  sample.peak = std::max(before.peak, after.peak);
  sample.bandwidth = std::max(before.bandwidth, after.bandwidth);
  sample.share = std::max(facts.operations / sample.peak, facts.bytes / sample.bandwidth) / seconds;
  // With several threads the caller waits for the others, and only the tile can tell.
  const bool on_cpu = setting_.team.size() > 1 || own >= kLeastOnCpu * elapsed;
  if (sample.tile < kLeastTile || !on_cpu) {
    ++series.rejected;
  } else {
    series.samples.push_back(sample);
  }
}

void Sampler::sample_all(const std::vector<Entry>& entries, double patience, std::vector<Series>& all) {
  std::vector<std::int64_t> calls(entries.size());
  std::vector<int> tries(entries.size());
  for (std::size_t c = 0; c < entries.size(); ++c) {
    if (all[c].outcome != Outcome::kMeasured) continue;
    use(entries[c].contestant);
    const double estimate = seconds_per_call(entries[c]);
    const double start = seconds_now();
    std::int64_t done = 0;
    do {
      run(*entries[c].problem, entries[c].contestant, 1);
      ++done;
    } while (seconds_now() - start < std::min(estimate, policy_.sample_seconds / 4));
    const double seconds = (seconds_now() - start) / static_cast<double>(done);
    calls[c] = static_cast<std::int64_t>(std::ceil(policy_.sample_seconds / seconds));
    tries[c] = (seconds > kSlowSeconds ? 2 : kRunsPerSample) * policy_.samples;
  }
  bool more = true;
  for (int round = 0; more; ++round) {
    more = false;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::size_t c = round % 2 == 0 ? i : entries.size() - 1 - i;
      Series& series = all[c];
      if (series.outcome != Outcome::kMeasured) continue;
      if (static_cast<int>(series.samples.size()) == policy_.samples) continue;
      if (tries[c]-- <= 0 && seconds_now() > patience) continue;
      sample(entries[c], calls[c], round, series);
      more = true;
    }
  }
}

std::vector<Series> Sampler::measure(const std::vector<Entry>& entries, double patience) {
  std::vector<Series> all(entries.size());
  for (std::size_t c = 0; c < entries.size(); ++c) prepare(entries[c], all[c]);
  sample_all(entries, patience, all);

  const auto beats_roof = [](const Series& series) {
    std::vector<double> shares;
    for (const Sample& sample : series.samples) shares.push_back(sample.share);
    return median(shares) > kMostShare;
  };
  if (std::any_of(all.begin(), all.end(), beats_roof)) {
    // Perhaps another member of the family has become the fastest: once more, with the family probed anew.
    for (std::size_t c = 0; c < entries.size(); ++c) {
      if (beats_roof(all[c])) entries[c].contestant.roofs->choose(entries[c].problem->facts().level);
      all[c].samples.clear();
    }
    sample_all(entries, patience, all);
    for (Series& series : all) series.invalid = beats_roof(series);
  }
  for (Series& series : all) {
    const int have = static_cast<int>(series.samples.size());
    if (series.outcome != Outcome::kMeasured || have == policy_.samples) continue;
    series.outcome = Outcome::kBusy;
    series.reason = "machine busy: " + std::to_string(have) + " of " + std::to_string(policy_.samples) + " samples";
  }
  return all;
}

}  // namespace heed::bench

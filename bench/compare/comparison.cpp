#include "comparison.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "numbers.hpp"

namespace heed::compare {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kTwin = "scalar";
constexpr const char* kDenominator = "scalar_auto";  // the twin, vectorised by the compiler

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

heed_status call(Computation& computation) {
  heed_status status{};
  computation.run(computation.outputs, &status);
  return status;
}

// Shortest time of a call. Calls are bundled until a sample is long enough for the clock.
double time_of(Computation& computation, double first_call, double budget) {
  const double sample = 20e-6;
  const int calls = static_cast<int>(std::clamp(sample / std::max(first_call, 1e-9), 1.0, 1000.0));
  double shortest = first_call;
  const Clock::time_point start = Clock::now();
  while (since(start) < budget) {
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < calls; ++i) call(computation);
    shortest = std::min(shortest, since(begin) / calls);
  }
  return shortest;
}

std::string mismatch(const Output& output, std::size_t i, double got, double expected, double tolerance) {
  char text[200];
  std::snprintf(text, sizeof text, "%s[%zu] is %.9g, expected %.9g, tolerance %.3g", output.name.c_str(), i, got,
                expected, tolerance);
  return text;
}

// The first value that is further from what is expected than its tolerance; empty when all agree.
template <typename T>
std::string disagreement(const Output& output, const std::vector<T>& got) {
  const std::vector<double>& expected = output.expected.empty() ? output.reference : output.expected;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double tolerance = output.tolerance.size() == 1 ? output.tolerance[0] : output.tolerance[i];
    if (!agree(got[i], expected[i], tolerance)) return mismatch(output, i, got[i], expected[i], tolerance);
  }
  return "";
}

std::string first_difference(const Output& output, const std::vector<float>& twin) {
  for (std::size_t i = 0; i < twin.size(); ++i) {
    if (same_bits(output.got[i], twin[i])) continue;
    char text[160];
    std::snprintf(text, sizeof text, "%s[%zu] is %a, row %s has %a", output.name.c_str(), i, output.got[i], kTwin,
                  twin[i]);
    return text;
  }
  return "";
}

void compare_outputs(const Computation& computation, const std::vector<std::vector<float>>& twin, RowResult& result) {
  for (std::size_t o = 0; o < computation.outputs.size(); ++o) {
    const Output& output = computation.outputs[o];
    for (std::size_t i = 0; i < output.reference.size(); ++i) {
      result.absolute_error = std::max(result.absolute_error, absolute_error(output.got[i], output.reference[i]));
      result.ulp_error = std::max(result.ulp_error, ulp_error(output.got[i], output.reference[i]));
    }
    if (result.complaint.empty()) result.complaint = disagreement(output, output.got);
    const std::string difference = first_difference(output, twin[o]);
    if (difference.empty()) continue;
    result.same_bits = false;  // expected of rows without FMA
    if (result.fma && result.complaint.empty()) result.complaint = difference;
  }
}

RowResult run_row(Computation& computation, const Row& row, const std::vector<std::vector<float>>& twin,
                  double budget) {
  RowResult result;
  result.row = row.name;
  result.fma = row.fma;
  heed_status status{};
  if (heed_force_isa(row.name.c_str(), &status) != HEED_OK) {
    result.complaint = status.message;
    return result;
  }
  for (Output& output : computation.outputs) std::fill(output.got.begin(), output.got.end(), 12345.0f);
  const Clock::time_point start = Clock::now();
  status = call(computation);
  const double first_call = since(start);
  if (status.code != HEED_OK) {
    result.complaint = "refused: " + std::string(status.message);
    return result;
  }
  compare_outputs(computation, twin, result);
  result.seconds = time_of(computation, first_call, budget);
  return result;
}

void set_speed_ups(std::vector<RowResult>& rows) {
  const auto denominator =
      std::find_if(rows.begin(), rows.end(), [](const RowResult& row) { return row.row == kDenominator; });
  if (denominator == rows.end()) return;
  const double seconds = denominator->seconds;
  for (RowResult& row : rows) row.over_auto = row.seconds > 0 ? seconds / row.seconds : 0;
}

}  // namespace

std::vector<Row> runnable_rows(const std::string& name) {
  std::vector<Row> rows;
  bool known = name.empty();
  for (std::int32_t i = 0; i < heed_isa_count(); ++i) {
    heed_isa_info info{};
    heed_isa_row(i, &info);
    const bool named = info.name == name;
    known = known || named;
    if (named && !info.supported) throw std::invalid_argument("this processor does not run row '" + name + "'");
    if (!info.supported || !(name.empty() || named || info.name == std::string(kTwin))) continue;
    const auto place = info.name == std::string(kTwin) ? rows.begin() : rows.end();
    rows.insert(place, Row{info.name, info.fma != 0});
  }
  if (!known) throw std::invalid_argument("this build has no row '" + name + "'");
  return rows;
}

std::vector<ComputationResult> run(Case& c, const std::vector<Row>& rows, double seconds_per_row) {
  // The twin comes first, for all computations: a case is refused as a whole or run as a whole.
  std::vector<std::vector<std::vector<float>>> twins;
  heed_force_isa(kTwin, nullptr);
  for (Computation& computation : c.computations) {
    const heed_status status = call(computation);
    if (status.code != HEED_OK) {
      heed_force_isa(nullptr, nullptr);
      if (status.code == HEED_UNSUPPORTED) throw Unsupported(status.message);
      throw Refused(status.message);
    }
    auto& twin = twins.emplace_back();
    for (const Output& output : computation.outputs) twin.push_back(output.got);
  }

  std::vector<ComputationResult> results;
  for (std::size_t n = 0; n < c.computations.size(); ++n) {
    Computation& computation = c.computations[n];
    ComputationResult& result = results.emplace_back();
    result.kernel = computation.kernel;
    for (const Output& output : computation.outputs)
      if (result.reference_complaint.empty()) result.reference_complaint = disagreement(output, output.reference);
    for (const Row& row : rows) result.rows.push_back(run_row(computation, row, twins[n], seconds_per_row));
    set_speed_ups(result.rows);
  }
  heed_force_isa(nullptr, nullptr);
  return results;
}

}  // namespace heed::compare

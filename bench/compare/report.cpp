#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "heed/heed.h"

namespace heed::compare {
namespace {

const char* word(Exit exit) {
  switch (exit) {
    case kAgrees:
      return "agrees";
    case kDisagrees:
      return "DISAGREES";
    case kUnreadable:
      return "cannot be read";
    default:
      return "refused";
  }
}

std::string time_text(double seconds) {
  char text[32];
  const char* const units[] = {"ns", "us", "ms", "s"};
  double value = seconds * 1e9;
  int unit = 0;
  while (value >= 1000 && unit < 3) value /= 1000, ++unit;
  std::snprintf(text, sizeof text, "%.3g %s", value, units[unit]);
  return text;
}

std::string speed_up_text(double over_auto) {
  char text[32] = "-";
  if (over_auto > 0) std::snprintf(text, sizeof text, "%.2f", over_auto);
  return text;
}

void print_rows(const ComputationResult& computation) {
  std::printf("  %s\n", computation.kernel.c_str());
  std::printf("    %-10s %-4s %13s %12s  %-12s %10s %10s\n", "row", "fma", "max abs err", "max ULP err", "bits", "time",
              "over auto");
  for (const RowResult& row : computation.rows) {
    std::printf("    %-10s %-4s %13.3g %12.3g  %-12s %10s %10s\n", row.row.c_str(), row.fma ? "yes" : "no",
                row.absolute_error, row.ulp_error,
                row.same_bits ? "same"
                : row.fma     ? "DIFFERENT"
                              : "different",
                time_text(row.seconds).c_str(), speed_up_text(row.over_auto).c_str());
    if (!row.complaint.empty()) std::printf("      DISAGREES: %s\n", row.complaint.c_str());
  }
  if (!computation.reference_complaint.empty())
    std::printf("    the double reference DISAGREES: %s\n", computation.reference_complaint.c_str());
}

int count(const std::vector<CaseResult>& results, Exit exit) {
  return static_cast<int>(
      std::count_if(results.begin(), results.end(), [exit](const CaseResult& r) { return r.exit == exit; }));
}

// JSON has no infinities; a string keeps what was found.
nlohmann::json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

nlohmann::json to_json(const ComputationResult& computation) {
  nlohmann::json json = {{"kernel", computation.kernel}, {"rows", nlohmann::json::array()}};
  if (!computation.reference_complaint.empty()) json["reference_complaint"] = computation.reference_complaint;
  for (const RowResult& row : computation.rows) {
    nlohmann::json entry = {{"row", row.row},
                            {"fma", row.fma},
                            {"max_absolute_error", number(row.absolute_error)},
                            {"max_ulp_error", number(row.ulp_error)},
                            {"same_bits_as_scalar", row.same_bits},
                            {"seconds", row.seconds},
                            {"agrees", row.complaint.empty()}};
    if (row.over_auto > 0) entry["speed_up_over_auto"] = row.over_auto;
    if (!row.complaint.empty()) entry["complaint"] = row.complaint;
    json["rows"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace

Exit overall(const std::vector<CaseResult>& results) {
  for (const Exit exit : {kDisagrees, kUnreadable, kRefused})
    if (count(results, exit) > 0) return exit;
  return kAgrees;
}

void print_text(const CaseResult& result) {
  std::printf("%s: %s%s%s\n", result.name.c_str(), word(result.exit), result.message.empty() ? "" : ": ",
              result.message.c_str());
  if (!result.description.empty()) std::printf("  %s\n", result.description.c_str());
  for (const std::string& complaint : result.complaints) std::printf("  DISAGREES: %s\n", complaint.c_str());
  for (const ComputationResult& computation : result.computations) print_rows(computation);
  std::fflush(stdout);
}

void print_summary(const std::vector<CaseResult>& results) {
  std::printf("%zu cases: %d agree, %d disagree, %d refused, %d cannot be read\n", results.size(),
              count(results, kAgrees), count(results, kDisagrees), count(results, kRefused),
              count(results, kUnreadable));
}

void print_json(const std::vector<CaseResult>& results) {
  nlohmann::json cases = nlohmann::json::array();
  for (const CaseResult& result : results) {
    nlohmann::json entry = {{"name", result.name},
                            {"exit_status", static_cast<int>(result.exit)},
                            {"complaints", result.complaints},
                            {"computations", nlohmann::json::array()}};
    if (!result.description.empty()) entry["description"] = result.description;
    if (!result.message.empty()) entry["message"] = result.message;
    for (const ComputationResult& computation : result.computations)
      entry["computations"].push_back(to_json(computation));
    cases.push_back(std::move(entry));
  }
  const nlohmann::json document = {{"heed", heed_version()},
                                   {"arithmetic", heed_arithmetic()},
                                   {"cases", std::move(cases)},
                                   {"agree", count(results, kAgrees)},
                                   {"disagree", count(results, kDisagrees)},
                                   {"refused", count(results, kRefused)},
                                   {"unreadable", count(results, kUnreadable)}};
  // Names come from the command line and may be no UTF-8.
  std::printf("%s\n", document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

}  // namespace heed::compare

#include <algorithm>
#include <regex>

#include "suite.hpp"

namespace heed::bench {
namespace {

constexpr std::int64_t kHeadDimensions[] = {64, 128};

bool on_grid(const Operation& operation, std::int64_t L, Grid grid, bool quick) {
  const bool prefill = operation.kind == Kind::kPrefill;
  if (grid == Grid::kFour) {
    if (quick) return L == 1024;
    return prefill ? L == 64 || L == 256 || L == 1024 || L == 4096 : L == 64 || L == 512 || L == 4096 || L == 32768;
  }
  if (!quick) return true;
  return prefill ? L == 16 || L == 128 || L == 1024 : L == 16 || L == 128 || L == 1024 || L == 8192 || L == 131072;
}

}  // namespace

std::string name_of(const Point& point, const std::string& row) {
  const std::string D = uses_head_dimension(point.operation->kind) ? std::to_string(point.D) : "-";
  return point.operation->name + ("/" + row) + "/" + D + "/" + std::to_string(point.L);
}

std::vector<std::unique_ptr<Point>> choose_points(const Options& options, const std::vector<Entrant>& entrants) {
  const std::regex filter(options.filter);
  std::vector<std::unique_ptr<Point>> points;
  for (const Operation& operation : kOperations) {
    if (options.threads > 1 && !uses_threads(operation.kind)) continue;
    for (const std::int64_t D : kHeadDimensions) {
      if (!uses_head_dimension(operation.kind) && D != kHeadDimensions[0]) continue;
      for (std::int64_t L = kShortest; L <= operation.longest; L *= 2) {
        auto point = std::make_unique<Point>(Point{&operation, D, L, {}, 0.0, {}});
        for (const Entrant& entrant : entrants) {
          const bool wanted = options.filter.empty() ? on_grid(operation, L, entrant.grid, options.quick)
                                                     : std::regex_search(name_of(*point, entrant.filtered_as), filter);
          if (wanted) point->contestants.push_back(entrant.contestant);
        }
        if (!point->contestants.empty()) points.push_back(std::move(point));
      }
    }
  }
  // Cheap ones first: what is left when time is up are the longest calls, not whole operations.
  const auto cost = [](const auto& point) {
    const double L = static_cast<double>(point->L), queries = point->operation->kind == Kind::kPrefill ? L : 1.0;
    return L * queries * static_cast<double>(point->D) * point->operation->group;
  };
  std::stable_sort(points.begin(), points.end(), [&](const auto& a, const auto& b) { return cost(a) < cost(b); });
  return points;
}

}  // namespace heed::bench

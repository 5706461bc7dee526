#include <algorithm>
#include <regex>
#include <stdexcept>

#include "suite.hpp"

namespace heed::bench {
namespace {

bool on_grid(const Operation& operation, std::int64_t L, const Entrant& entrant, bool best, bool quick) {
  if (operation.set == Set::kGoals) return false;
  if (operation.set != Set::kUsual) return best && (!quick || operation.set == Set::kQuickModel);
  const bool prefill = operation.as_many_queries;
  if (entrant.grid == Grid::kFour) {
    if (quick) return L == 1024;
    return prefill ? L == 64 || L == 256 || L == 1024 || L == 4096 : L == 64 || L == 512 || L == 4096 || L == 32768;
  }
  if (!quick) return true;
  return prefill ? L == 16 || L == 128 || L == 1024 : L == 16 || L == 128 || L == 1024 || L == 8192 || L == 131072;
}

const Operation& find(const std::vector<Operation>& operations, const std::string& name) {
  const auto found =
      std::find_if(operations.begin(), operations.end(), [&](const Operation& o) { return o.name == name; });
  if (found == operations.end()) throw std::invalid_argument("--point: there is no operation '" + name + "'");
  return *found;
}

// <op>/<D>/<L>[:<partner>]
Point parse_point(const std::string& text, const std::vector<Operation>& operations, const Entrant& best) {
  static const std::regex form("([^/:]+)/(-|[1-9][0-9]{0,5})/([1-9][0-9]{0,9})(:[^/:]+)?");
  std::smatch parts;
  if (!std::regex_match(text, parts, form)) throw std::invalid_argument("--point takes OP/D/L[:PARTNER]: " + text);
  const Operation& operation = find(operations, parts[1]);
  const Operation* partner = parts[4].matched ? &find(operations, parts[4].str().substr(1)) : nullptr;
  const std::int64_t D = parts[2] == "-" ? operation.dimensions.front() : std::stoll(parts[2]);
  return {&operation, partner, D, std::stoll(parts[3]), {best.contestant}};
}

std::vector<std::unique_ptr<Point>> points_of_grid(const Options& options, const std::vector<Operation>& operations,
                                                   const std::vector<Entrant>& entrants) {
  const std::regex filter(options.filter);
  std::vector<std::unique_ptr<Point>> points;
  for (const Operation& operation : operations) {
    if (options.threads > 1 && !is_attention(operation.kind)) continue;
    for (const std::int64_t D : operation.dimensions) {
      if (!uses_head_dimension(operation.kind) && D != operation.dimensions.front()) continue;
      for (const std::int64_t L : operation.lengths) {
        auto point = std::make_unique<Point>(Point{&operation, nullptr, D, L, {}});
        for (const Entrant& entrant : entrants) {
          const bool best = entrant.filtered_as == entrants.front().filtered_as;
          const bool wanted = options.filter.empty() ? on_grid(operation, L, entrant, best, options.quick)
                                                     : std::regex_search(name_of(*point, entrant.filtered_as), filter);
          if (wanted) point->contestants.push_back(entrant.contestant);
        }
        if (!point->contestants.empty()) points.push_back(std::move(point));
      }
    }
  }
  return points;
}

}  // namespace

std::string name_of(const Point& point, const std::string& row) {
  const std::string D = uses_head_dimension(point.operation->kind) ? std::to_string(point.D) : "-";
  const std::string partner = point.partner == nullptr ? "" : ":" + point.partner->name;
  return point.operation->name + partner + "/" + row + "/" + D + "/" + std::to_string(point.L);
}

std::vector<std::unique_ptr<Point>> choose_points(const Options& options, const std::vector<Operation>& operations,
                                                  const std::vector<Entrant>& entrants) {
  std::vector<std::unique_ptr<Point>> points;
  if (options.points.empty()) {
    points = points_of_grid(options, operations, entrants);
  } else {
    for (const std::string& text : options.points) {
      points.push_back(std::make_unique<Point>(parse_point(text, operations, entrants.front())));
    }
  }
  // Cheap ones first: what is left when time is up are the longest calls, not whole operations.
  const auto cost = [](const auto& point) {
    const Shape shape = point->operation->at(point->D, point->L);
    return static_cast<double>(shape.B * shape.Hq * shape.Lq) * static_cast<double>(shape.Lkv * shape.D);
  };
  std::stable_sort(points.begin(), points.end(), [&](const auto& a, const auto& b) { return cost(a) < cost(b); });
  return points;
}

}  // namespace heed::bench

#include "api/strides.hpp"

#include <cinttypes>
#include <utility>

#include "api/status.hpp"
#include "integers.hpp"

namespace heed::api {
namespace {

std::int64_t size(std::int64_t stride) { return stride < 0 ? -stride : stride; }

struct NamedAxis {
  std::int64_t count, stride;  // its size: which way it points makes no difference to overlaps
  const char* name;
};

// The stride of an axis of one isn't used, and may be anything.
NamedAxis named(const Axis& axis, const char* name) {
  return {axis.count, axis.count == 1 ? 0 : size(axis.stride), name};
}

std::int64_t span(const NamedAxis& axis) { return (axis.count - 1) * axis.stride; }

// Whether one of `columns` elements lies at a distance that is x and 1 - count ... count - 1 steps of the axis.
bool meets(std::int64_t x, const NamedAxis& axis, std::int64_t columns) {
  if (x < 0) x = -x;
  const std::int64_t steps = least(x / axis.stride, axis.count - 1), rest = x - steps * axis.stride;
  return rest < columns || (steps < axis.count - 1 && axis.stride - rest < columns);
}

// Distances of all pairs of rows, but for the steps along the longest axis, which are solved for. A call with more than
// so many has 2^30 rows, and no reason to lay them out like that.
constexpr std::int64_t kMostPairs = std::int64_t{1} << 21;

enum class Search { kApart, kMeet, kTooMany };
Search search_pairs(const NamedAxis* axes, std::int64_t columns) {
  const NamedAxis *longest = &axes[0], *a = &axes[1], *b = &axes[2];
  if (a->count > longest->count) std::swap(a, longest);
  if (b->count > longest->count) std::swap(b, longest);
  if (a->count > kMostPairs / 2 / b->count) return Search::kTooMany;
  for (std::int64_t i = 0; i < a->count; ++i) {
    for (std::int64_t j = i == 0 ? 1 : 1 - b->count; j < b->count; ++j) {
      if (meets(i * a->stride + j * b->stride, *longest, columns)) return Search::kMeet;
    }
  }
  return Search::kApart;
}

}  // namespace

heed_code check_reach(const char* name, const Axes& axes, heed_status* status) {
  std::int64_t reach = axes.columns;
  bool too_far = reach >= kLargestExtent;
  for (const Axis& axis : {axes.batch, axes.head, axes.token}) {
    std::int64_t distance = 0;
    if (axis.count < 2) continue;
    too_far = too_far || __builtin_mul_overflow(axis.stride, axis.count - 1, &distance) ||
              distance <= -kLargestExtent || distance >= kLargestExtent || (reach += size(distance)) >= kLargestExtent;
  }
  if (!too_far) return HEED_OK;
  return fail(status, HEED_INVALID_ARGUMENT, "%s.%s: reaches further than 2^60 elements", name, axes.field);
}

heed_code check_no_overlap(const char* name, const Axes& t, heed_status* status) {
  if (t.empty()) return HEED_OK;
  NamedAxis axes[] = {named(t.token, "token"), named(t.head, "head"), named(t.batch, "batch")};
  // Shortest strides first: where each is as long as all that lies inside it, nothing overlaps. Nearly all are like
  // that.
  if (axes[0].stride > axes[1].stride) std::swap(axes[0], axes[1]);
  if (axes[1].stride > axes[2].stride) std::swap(axes[1], axes[2]);
  if (axes[0].stride > axes[1].stride) std::swap(axes[0], axes[1]);
  std::int64_t inside = t.columns;
  const NamedAxis* doubtful = nullptr;
  for (const NamedAxis& axis : axes) {
    if (axis.count > 1 && axis.stride < inside && doubtful == nullptr) doubtful = &axis;
    inside += span(axis);
  }
  if (doubtful == nullptr) return HEED_OK;
  // Along one axis of its own it overlaps for sure. Else rows may lie between others: every pair of them is looked at.
  const Search found = doubtful->stride < t.columns ? Search::kMeet : search_pairs(axes, t.columns);
  if (found == Search::kApart) return HEED_OK;
  if (found == Search::kTooMany) {
    return fail(status, HEED_UNSUPPORTED,
                "%s.%s_%s: its size is %" PRId64 ": rows between so many others are not served", name, t.field,
                doubtful->name, doubtful->stride);
  }
  return fail(status, HEED_INVALID_ARGUMENT,
              "%s.%s_%s: its size is %" PRId64 ", so that results would be written over each other", name, t.field,
              doubtful->name, doubtful->stride);
}

}  // namespace heed::api

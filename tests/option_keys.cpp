// Where an OptionProblem's keys and values lie: slots, ragged batches, pages, panels.
#include <algorithm>
#include <cstring>

#include "option_problem.hpp"

namespace heed::test {
namespace {

std::size_t size(Int n) { return static_cast<std::size_t>(n); }

}  // namespace

void OptionProblem::place_table_rows() {
  for (Int b = 0; b < args.B; ++b) sequence_of_row_.push_back(b);
  if (!how_.table_rows) return;
  for (Int more = random_.between(0, 3); more-- > 0;) sequence_of_row_.push_back(-1);
  const Int rows = static_cast<Int>(sequence_of_row_.size());
  for (Int row = 0; row < rows; ++row)
    std::swap(sequence_of_row_[size(row)], sequence_of_row_[size(random_.between(0, row))]);
  std::vector<Int> row_of(size(args.B));
  for (Int row = 0; row < rows; ++row) {
    if (sequence_of_row_[size(row)] >= 0) row_of[size(sequence_of_row_[size(row)])] = row;
  }
  args.table_rows = index(args.B, [&](Int b) { return row_of[size(b)]; });
  args.table_row_count = rows;
}

// Which slots there are: begins, lengths, ragged starts, pages.
void OptionProblem::place_slots() {
  const Int B = args.B;
  Int most = 0;
  bool same = true;
  for (Int b = 0; b < B; ++b) {
    most = std::max(most, begins_[size(b)] + keys_[size(b)]);
    same = same && begins_[size(b)] + keys_[size(b)] == begins_[0] + keys_[0];
  }
  if (!same && !how_.lengths && !how_.ragged_keys) {
    if (how_.begin && !how_.same_begin && !how_.panels) {  // padded in front up to the same length
      for (Int b = 0; b < B; ++b) begins_[size(b)] = most - keys_[size(b)];
    } else {
      how_.lengths = true;
    }
  }
  const auto slots = [&](Int b) { return begins_[size(b)] + keys_[size(b)]; };
  args.Lkv = most;
  if (how_.ragged_keys) {
    k_starts_.push_back(random_.between(0, 3));
    for (Int b = 0; b < B; ++b) {
      const Int room = slots(b) + (how_.lengths ? random_.between(0, 5) : 0);
      args.Lkv = std::max(args.Lkv, room);
      k_starts_.push_back(k_starts_.back() + room);
    }
    args.kv_indptr = index(B + 1, [&](Int b) { return k_starts_[size(b)]; });
  } else if (how_.lengths) {
    args.Lkv += random_.between(0, 20);
  }
  if (how_.lengths) args.kv_lengths = by_row(slots);
  if (how_.begin) args.key_begin = by_row([&](Int b) { return begins_[size(b)]; });
}

OptionProblem::Place OptionProblem::place_of(Int b, Int slot) const {
  if (how_.paged) return {pages_[size(b)][size(slot / how_.page_size)], slot % how_.page_size};
  if (how_.ragged_keys) return {0, k_starts_[size(b)] + slot};
  return {one_batch_of_keys_ ? 0 : b, slot};
}

// So many keys of sequence b are, with their values and scales, those of sequence 0.
Int OptionProblem::common_keys(const Content& content, Int b) {
  const SequenceContent &first = content.sequences[0], &other = content.sequences[size(b)];
  Int common = std::min(first.keys, other.keys);
  const auto compare = [&](const Numbers& x, const Numbers& y, Int columns) {
    for (Int h = 0; h < content.spec.Hkv && !x.empty(); ++h) {
      const float* row = x.data() + h * first.keys * columns;
      const float* other_row = y.data() + h * other.keys * columns;
      Int j = 0;
      while (j < common &&
             std::memcmp(row + j * columns, other_row + j * columns, size(columns) * sizeof(float)) == 0) {
        ++j;
      }
      common = j;
    }
  };
  compare(first.k, other.k, content.spec.D);
  compare(first.v, other.v, content.spec.Dv);
  compare(first.k_scales, other.k_scales, 1);
  compare(first.v_scales, other.v_scales, 1);
  return common;
}

// Each page of a sequence gets an id of its own, in no order. Sequences with the same keys in the same slots may share
// the page.
void OptionProblem::place_pages(const Content& content) {
  const Int B = args.B, page_size = how_.page_size;
  pages_.resize(size(B));
  Int count = 0, most = 0;
  for (Int b = 0; b < B; ++b) {
    const SequenceContent& s = content.sequences[size(b)];
    const Int begin = begins_[size(b)], slots = begin + s.keys;
    const Int common = b > 0 && begin == begins_[0] ? common_keys(content, b) : -begin;
    for (Int slot = 0; slot < slots; slot += page_size) {
      const Int key = std::max(slot - begin, Int{0});  // the first on the page, if there is one
      const bool gone = !how_.absent_by_mask && !s.absent.empty() && key < s.keys && s.absent[size(key)] != 0;
      const bool unused = slot + page_size <= begin && random_.once_in(2);
      const std::size_t entry = size(slot / page_size);
      if (gone || unused) {
        pages_[size(b)].push_back(-1);
      } else if (slot + page_size <= begin + common && pages_[0][entry] >= 0 && random_.once_in(2)) {
        pages_[size(b)].push_back(pages_[0][entry]);
      } else {
        pages_[size(b)].push_back(count++);
      }
    }
    most = std::max(most, static_cast<Int>(pages_[size(b)].size()));
  }
  args.page_size = page_size;
  args.page_count = count + random_.between(0, 3);
  std::vector<Int> ids(size(args.page_count));
  for (Int n = 0; n < args.page_count; ++n) {
    const Int other = random_.between(0, n);
    ids[size(n)] = ids[size(other)];
    ids[size(other)] = n;
  }
  for (std::vector<Int>& pages : pages_) {
    for (Int& page : pages) page = page < 0 ? -1 : ids[size(page)];
  }

  // A row of the table without a sequence holds what nobody may read.
  const std::vector<Int> none;
  const auto pages_of = [&](Int row) -> const std::vector<Int>& {
    const Int b = sequence_of_row_[size(row)];
    return b < 0 ? none : pages_[size(b)];
  };
  const Int rows = static_cast<Int>(sequence_of_row_.size());
  if (random_.once_in(2)) {
    const Int stride = most + random_.between(0, 2);
    args.block_table = index(rows * stride, [&](Int n) {
      const std::vector<Int>& pages = pages_of(n / stride);
      return size(n % stride) < pages.size() ? pages[size(n % stride)] : kNobodyReads;
    });
    args.block_table_stride = stride;
    return;
  }
  std::vector<Int> all, starts{0};
  for (Int row = 0; row < rows; ++row) {
    all.insert(all.end(), pages_of(row).begin(), pages_of(row).end());
    for (Int more = random_.between(0, 2); more-- > 0;) all.push_back(kNobodyReads);
    starts.push_back(static_cast<Int>(all.size()));
  }
  args.page_indices = index(starts.back(), [&](Int n) { return all[size(n)]; });
  args.page_indptr = index(rows + 1, [&](Int row) { return starts[size(row)]; });
}

// K and V of one type may lie side by side in rows of both.
void OptionProblem::place_keys(const Content& content) {
  const OptionSpec& spec = content.spec;
  const Int B = args.B, D = args.D, Dv = args.Dv;
  Int batches = B, tokens = args.Lkv;
  if (how_.paged) {
    place_pages(content);
    batches = args.page_count;
    tokens = how_.page_size;
  } else if (how_.ragged_keys) {
    batches = 1;
    tokens = k_starts_.back();
  } else if (B > 1 && random_.once_in(2)) {
    one_batch_of_keys_ = true;
    for (Int b = 1; b < B; ++b) {
      one_batch_of_keys_ = one_batch_of_keys_ && begins_[size(b)] == begins_[0] && keys_[size(b)] == keys_[0] &&
                           common_keys(content, b) == keys_[0];
    }
    if (one_batch_of_keys_) batches = 1;
  }
  const bool together = !how_.panels && stored_as(spec.k) == stored_as(spec.v) && random_.once_in(3);
  // Panels: one row per page and head, [page_size / 16][D][16] of keys and [Dv / 16, rounded up][page_size][16] of
  // values.
  const Int columns = how_.panels ? tokens * D : together ? D + Dv : D, rows = how_.panels ? 1 : tokens;
  Placed& k = placed(stored_as(spec.k), batches, args.Hkv, rows, columns);
  Placed& v = together
                  ? k
                  : placed(stored_as(spec.v), batches, args.Hkv, rows, how_.panels ? (Dv + 15) / 16 * 16 * tokens : Dv);
  const auto fill = [&](Numbers SequenceContent::*numbers, Int width, const auto& set) {
    for (Int b = 0; b < B; ++b) {
      const SequenceContent& s = content.sequences[size(b)];
      const float* x = (s.*numbers).data();
      for (Int h = 0; h < args.Hkv; ++h) {
        for (Int j = 0; j < s.keys; ++j, x += width) {
          const Place place = place_of(b, begins_[size(b)] + j);
          if (place.batch < 0) continue;
          for (Int d = 0; d < width; ++d) set(place, h, d, x[d]);
        }
      }
    }
  };
  fill(&SequenceContent::k, D, [&](const Place& at, Int h, Int d, float x) {
    if (how_.panels) {
      k.set(at.batch, h, 0, (at.token / 16 * D + d) * 16 + at.token % 16, x);
    } else {
      k.set(at.batch, h, at.token, d, x);
    }
  });
  fill(&SequenceContent::v, Dv, [&](const Place& at, Int h, Int d, float x) {
    if (how_.panels) {
      v.set(at.batch, h, 0, (d / 16 * tokens + at.token) * 16 + d % 16, x);
    } else {
      v.set(at.batch, h, at.token, together ? D + d : d, x);
    }
  });
  args.k = k.view();
  args.v = v.view(together ? D : 0);
  args.kv_panels = how_.panels ? 1 : 0;
  if (how_.panels) args.k.stride_token = args.v.stride_token = random_.between(-999, 999);       // not used
  if (how_.ragged_keys) args.k.stride_batch = args.v.stride_batch = random_.between(-999, 999);  // not used
  const auto scales = [&](Numbers SequenceContent::*numbers) {
    Placed& t = placed(HEED_F32, batches, args.Hkv, tokens, 1);
    fill(numbers, 1, [&](const Place& at, Int h, Int, float x) { t.set(at.batch, h, at.token, 0, x); });
    return t.view();
  };
  if (spec.k == HEED_INT8) args.k_scales = scales(&SequenceContent::k_scales);
  if (spec.v == HEED_INT8) args.v_scales = scales(&SequenceContent::v_scales);
}

}  // namespace heed::test

#include "option_problem.hpp"

#include <algorithm>
#include <cstring>

namespace heed::test {
namespace {

std::size_t size(Int n) { return static_cast<std::size_t>(n); }

}  // namespace

OptionProblem::OptionProblem(const Content& content, const Arrangement& arrangement)
    : how_(arrangement), random_(arrangement.seed), Hq_(content.spec.Hq) {
  args.B = content.B();
  args.Hq = Hq_;
  args.Hkv = content.spec.Hkv;
  args.D = content.spec.D;
  args.Dv = content.spec.Dv;
  for (const SequenceContent& s : content.sequences) {
    queries_.push_back(s.queries);
    keys_.push_back(s.keys);
    begins_.push_back(!how_.begin          ? 0
                      : how_.same_begin    ? s.begin
                      : random_.once_in(4) ? 16 * random_.between(1, 40) + random_.between(-1, 1)
                                           : random_.between(0, 40));
  }
  place_slots();
  place_queries(content);
  place_keys(content);
  place_bias(content);
  place_mask(content);
  set_options(content);
  place_outputs(content);
}

template <class Entry>
heed_index OptionProblem::index(Int count, const Entry& entry) {
  if (random_.once_in(2)) {
    narrow_.push_back(std::make_unique<std::vector<std::int32_t>>());
    for (Int i = 0; i < count; ++i) narrow_.back()->push_back(static_cast<std::int32_t>(entry(i)));
    narrow_.back()->push_back(-1000);  // so that there is an address
    return {narrow_.back()->data(), HEED_INT32};
  }
  wide_.push_back(std::make_unique<std::vector<Int>>());
  for (Int i = 0; i < count; ++i) wide_.back()->push_back(entry(i));
  wide_.back()->push_back(-1000);
  return {wide_.back()->data(), HEED_INT64};
}

Placed& OptionProblem::placed(heed_type type, Int batches, Int heads, Int tokens, Int columns) {
  tensors_.push_back(std::make_unique<Placed>(type, batches, heads, tokens, columns, random_));
  return *tensors_.back();
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
    if (how_.begin && !how_.same_begin) {  // padded in front up to the same length
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
  if (how_.lengths) args.kv_lengths = index(B, slots);
  if (how_.begin) args.key_begin = index(B, [&](Int b) { return begins_[size(b)]; });
}

OptionProblem::Place OptionProblem::place_of(Int b, Int slot) const {
  if (how_.paged) return {pages_[size(b)][size(slot / how_.page_size)], slot % how_.page_size};
  if (how_.ragged_keys) return {0, k_starts_[size(b)] + slot};
  return {one_batch_of_keys_ ? 0 : b, slot};
}

void OptionProblem::place_queries(const Content& content) {
  const Int B = args.B;
  Int most = 0;
  q_starts_.push_back(random_.between(0, 3));
  for (const Int queries : queries_) {
    most = std::max(most, queries);
    q_starts_.push_back(q_starts_.back() + queries);
  }
  args.Lq = most + (how_.ragged_queries ? random_.between(0, 2) : 0);
  if (how_.ragged_queries) args.q_indptr = index(B + 1, [&](Int b) { return q_starts_[size(b)]; });
  Placed& q = placed(stored_as(content.spec.q), how_.ragged_queries ? 1 : B, Hq_,
                     how_.ragged_queries ? q_starts_.back() : args.Lq, args.D);
  for (Int b = 0; b < B; ++b) {
    const float* x = content.sequences[size(b)].q.data();
    for (Int h = 0; h < Hq_; ++h) {
      for (Int i = 0; i < queries_[size(b)]; ++i) {
        for (Int d = 0; d < args.D; ++d) q.set(query_batch(b), h, query_token(b, i), d, *x++);
      }
    }
  }
  args.q = q.view();
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

  constexpr Int kNever = 1 << 30;  // an entry that nobody may read
  if (random_.once_in(2)) {
    const Int stride = most + random_.between(0, 2);
    args.block_table = index(B * stride, [&](Int n) {
      const std::vector<Int>& pages = pages_[size(n / stride)];
      return size(n % stride) < pages.size() ? pages[size(n % stride)] : kNever;
    });
    args.block_table_stride = stride;
    return;
  }
  std::vector<Int> all, starts{0};
  for (const std::vector<Int>& pages : pages_) {
    all.insert(all.end(), pages.begin(), pages.end());
    for (Int more = random_.between(0, 2); more-- > 0;) all.push_back(kNever);
    starts.push_back(static_cast<Int>(all.size()));
  }
  args.page_indices = index(starts.back(), [&](Int n) { return all[size(n)]; });
  args.page_indptr = index(B + 1, [&](Int b) { return starts[size(b)]; });
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
  const bool together = stored_as(spec.k) == stored_as(spec.v) && random_.once_in(3);
  Placed& k = placed(stored_as(spec.k), batches, args.Hkv, tokens, together ? D + Dv : D);
  Placed& v = together ? k : placed(stored_as(spec.v), batches, args.Hkv, tokens, Dv);
  const auto fill = [&](Placed& t, Numbers SequenceContent::*numbers, Int first, Int columns) {
    for (Int b = 0; b < B; ++b) {
      const SequenceContent& s = content.sequences[size(b)];
      const float* x = (s.*numbers).data();
      for (Int h = 0; h < args.Hkv; ++h) {
        for (Int j = 0; j < s.keys; ++j, x += columns) {
          const Place place = place_of(b, begins_[size(b)] + j);
          if (place.batch < 0) continue;
          for (Int d = 0; d < columns; ++d) t.set(place.batch, h, place.token, first + d, x[d]);
        }
      }
    }
  };
  fill(k, &SequenceContent::k, 0, D);
  fill(v, &SequenceContent::v, together ? D : 0, Dv);
  args.k = k.view();
  args.v = v.view(together ? D : 0);
  if (how_.ragged_keys) args.k.stride_batch = args.v.stride_batch = random_.between(-999, 999);  // not used
  const auto scales = [&](Numbers SequenceContent::*numbers) {
    Placed& t = placed(HEED_F32, batches, args.Hkv, tokens, 1);
    fill(t, numbers, 0, 1);
    return t.view();
  };
  if (spec.k == HEED_INT8) args.k_scales = scales(&SequenceContent::k_scales);
  if (spec.v == HEED_INT8) args.v_scales = scales(&SequenceContent::v_scales);
}

// How many batches, heads and rows of an array [B][Hq][Lq][Lkv] have to be stored, those that are the same only once.
template <class T>
OptionProblem::Axes OptionProblem::axes(const Content& content, std::vector<T> SequenceContent::*values) {
  const auto same = [&](Int b0, Int h0, Int i0, Int b, Int h, Int i) {
    const SequenceContent &s0 = content.sequences[size(b0)], &s = content.sequences[size(b)];
    if (i0 >= s0.queries || i >= s.queries || begins_[size(b0)] != begins_[size(b)]) return false;
    const T* row0 = (s0.*values).data() + (h0 * s0.queries + i0) * s0.keys;
    const T* row = (s.*values).data() + (h * s.queries + i) * s.keys;
    return std::equal(row, row + std::min(s.keys, s0.keys), row0);
  };
  bool of_batch = false, of_head = false, of_row = false;
  for (Int b = 0; b < args.B; ++b) {
    const Int queries = queries_[size(b)];
    of_batch = of_batch || queries != queries_[0] || keys_[size(b)] > keys_[0];
    for (Int h = 0; h < Hq_; ++h) {
      for (Int i = 0; i < queries; ++i) {
        of_batch = of_batch || !same(0, h, i, b, h, i);
        of_head = of_head || !same(b, 0, i, b, h, i);
        of_row = of_row || !same(b, h, 0, b, h, i);
      }
    }
  }
  const auto count = [&](bool needed, Int all) { return needed || random_.once_in(3) ? all : 1; };
  return {count(of_batch, args.B), count(of_head, Hq_), count(of_row, args.Lq)};
}

void OptionProblem::place_bias(const Content& content) {
  if (!content.has(kBias)) return;
  const Axes stored = axes(content, &SequenceContent::bias);
  Placed& bias = placed(stored_as(content.spec.bias), stored.batches, stored.heads, stored.rows, args.Lkv);
  for (Int b = 0; b < std::min(args.B, stored.batches); ++b) {
    const SequenceContent& s = content.sequences[size(b)];
    for (Int h = 0; h < stored.heads; ++h) {
      for (Int i = 0; i < std::min(stored.rows, s.queries); ++i) {
        const float* x = s.bias.data() + (h * s.queries + i) * s.keys;
        for (Int j = 0; j < s.keys; ++j) bias.set(b, h, i, begins_[size(b)] + j, x[j]);
      }
    }
  }
  args.bias = bias.view();
}

void OptionProblem::place_mask(const Content& content) {
  Content masked;  // where the mask stands for pages that aren't there too
  const Content* from = &content;
  if (how_.absent_by_mask) {
    masked = content;
    for (SequenceContent& s : masked.sequences) {
      if (s.mask.empty()) s.mask.resize(size(Hq_ * s.queries * s.keys), 1);
      for (Int pair = 0; pair < Hq_ * s.queries * s.keys; ++pair) {
        if (!s.absent.empty() && s.absent[size(pair % s.keys)] != 0) s.mask[size(pair)] = 0;
      }
    }
    from = &masked;
  } else if (!content.has(kMask)) {
    return;
  }
  const Axes stored = axes(*from, &SequenceContent::mask);
  const bool bits = random_.once_in(2);
  args.mask_kind = bits ? HEED_BIT_MASK : HEED_BYTE_MASK;
  Placed& mask = placed(HEED_INT8, stored.batches, stored.heads, stored.rows, bits ? (args.Lkv + 7) / 8 : args.Lkv);
  for (Int b = 0; b < std::min(args.B, stored.batches); ++b) {
    const SequenceContent& s = from->sequences[size(b)];
    for (Int h = 0; h < stored.heads; ++h) {
      for (Int i = 0; i < std::min(stored.rows, s.queries); ++i) {
        const unsigned char* on = s.mask.data() + (h * s.queries + i) * s.keys;
        for (Int j = 0; j < s.keys; ++j) {
          const Int slot = begins_[size(b)] + j;
          if (bits) {
            const Code bit = Code{1} << (slot % 8), rest = mask.code(b, h, i, slot / 8) & ~bit;
            mask.set_code(b, h, i, slot / 8, on[j] != 0 ? rest | bit : rest);
          } else {
            mask.set_code(b, h, i, slot, on[j] != 0 ? static_cast<Code>(random_.between(1, 255)) : 0);
          }
        }
      }
    }
  }
  const heed_tensor view = mask.view();
  args.mask = view.data;
  args.mask_stride_batch = view.stride_batch;
  args.mask_stride_head = view.stride_head;
  args.mask_stride_token = view.stride_token;
}

bool OptionProblem::positions_are(heed_alignment alignment, const Content& content) const {
  if (alignment == HEED_OFFSETS) return true;
  for (const SequenceContent& s : content.sequences) {
    const Int queries = how_.ragged_queries ? s.queries : args.Lq;
    if (s.position != (alignment == HEED_TOP_LEFT ? 0 : s.key_position + s.keys - queries)) return false;
  }
  return true;
}

// A field whose flag says that it is off holds something.
void OptionProblem::set_options(const Content& content) {
  args.has_scale = content.has(kScale) ? 1 : 0;
  args.scale = content.has(kScale) ? content.scale : 77.0f;
  args.softcap = content.softcap;
  args.causal = content.has(kCausal) ? 1 : 0;
  args.has_window = content.has(kWindow) ? 1 : 0;
  args.window_left = content.has(kWindow) ? content.window_left : 3;
  args.window_right = content.has(kWindow) ? content.window_right : 3;
  slopes_ = content.slopes;
  sinks_ = content.sinks;
  if (content.has(kAlibi)) args.alibi_slopes = slopes_.data();
  if (content.has(kSinks)) args.sinks = sinks_.data();
  if (content.has(kAsked)) args.mask_callback = ask;
  if (content.has(kChanged)) args.score_callback = change;
  if (content.has(kOffset)) {
    args.key_offset = index(args.B, [&](Int b) { return content.sequences[size(b)].key_position; });
  }
  args.alignment = positions_are(how_.alignment, content) ? how_.alignment : HEED_OFFSETS;
  wide_.push_back(std::make_unique<std::vector<Int>>());
  for (const SequenceContent& s : content.sequences) {
    wide_.back()->push_back(args.alignment == HEED_OFFSETS ? s.position : 12345);
  }
  wide_.back()->push_back(0);
  args.offsets = wide_.back()->data();
}

}  // namespace heed::test

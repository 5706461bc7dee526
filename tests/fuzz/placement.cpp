#include "fuzz/placement.hpp"

#include <algorithm>

#include "executors.hpp"
#include "support/storage.hpp"

namespace heed::fuzz {
namespace {

__extension__ typedef __int128 Wide;
void* allocate(void*, std::size_t bytes) {
  void* memory = nullptr;
  return posix_memalign(&memory, 64, bytes) == 0 ? memory : nullptr;
}
void* allocate_nothing(void*, std::size_t) { return nullptr; }
void release(void*, void* memory, std::size_t) { std::free(memory); }

// Says something of rectangles that no rule says.
heed_rectangle wild(void*, Int head, Int i_begin, Int i_end, Int j_begin, Int j_end) {
  std::uint64_t mix = 0;
  for (const Int n : {head, i_begin, i_end, j_begin, j_end}) mix = mix * 7 + static_cast<std::uint64_t>(n);
  return static_cast<heed_rectangle>(mix % 7) - 1;
}

void half(void*, Int count, test::Task task, void* context) {
  for (Int t = 0; t < count; t += 2) task(context, t);
}

std::int32_t threads_of_pool = 4;

}  // namespace

// The elements that a tensor's addresses reach, counted from its data.
struct Placement::Extent {
  static constexpr Wide kFar = Wide{1} << 100;
  Wide low = 0, high = -1;

  void add(Wide first, Wide count) {
    if (count <= 0) return;
    if (high < low) low = first, high = first + count - 1;
    low = std::min(low, first);
    high = std::max(high, first + count - 1);
  }
  // Rows of `columns` at first + b * batch + h * head + t * token.
  void add(Wide first, Int b, Int batch, Int h, Int head, Int t, Int token, Int columns) {
    if (b <= 0 || h <= 0 || t <= 0 || columns <= 0) return;
    Wide from = first, to = first;
    for (const auto& [count, stride] : {std::pair{b, batch}, std::pair{h, head}, std::pair{t, token}}) {
      const Wide reach = std::clamp(static_cast<Wide>(count - 1) * stride, -kFar, kFar);
      (reach < 0 ? from : to) += reach;
    }
    add(from, columns);
    add(to, columns);
  }
  Wide elements() const { return high - low + 1; }
};

std::size_t Placement::block(std::size_t bytes, std::size_t align) {
  blocks_.push_back(std::make_unique<Block>(bytes, align));
  return blocks_.size() - 1;
}

void* Placement::place(const void* mark, const Extent& extent, heed_type type, bool output, bool view) {
  if (mark == nullptr) return nullptr;
  const Wide elements = extent.elements();
  const bool there = elements <= kMostElements;
  complete_ = complete_ && there;
  const std::size_t element = element_size(type), off = mark == beside() ? 1 : 0;
  const std::size_t bytes = there ? static_cast<std::size_t>(elements) * element : 0;
  const std::size_t n = block(bytes + off);
  unsigned char* const data = blocks_[n]->data() + off;
  fill(data, bytes, type, draft_.kind, draft_.seed * 131 + n);
  if (output) outputs_.push_back({n, {data - off, data + bytes}, {}, view});
  if (!there) return data;
  const auto shift = static_cast<std::uintptr_t>(static_cast<Int>(extent.low)) * element;
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(data) - shift);
}

template <class Tensor>
void Placement::rows(Tensor& t, Int columns, bool output) {
  Extent extent;
  const Wide first = static_cast<Wide>(first_token()) * t.stride_token;
  extent.add(first, query_batches(), t.stride_batch, a_.Hq, t.stride_head, query_tokens(), t.stride_token, columns);
  t.data = place(t.data, extent, t.type, output);
  if (!output || t.data == nullptr || extent.elements() > kMostElements) return;
  mark_elements(outputs_.back(), static_cast<Int>(first - extent.low), query_batches(), t.stride_batch, a_.Hq,
                t.stride_head, query_tokens(), t.stride_token, columns, static_cast<Int>(element_size(t.type)));
}

// Only the slots that hold keys, on the pages that are there; of panels whole pages.
void Placement::keys(heed_tensor& t, Int columns, bool panels) {
  if (t.data == nullptr) return;
  Extent extent;
  const bool paged = a_.block_table.data != nullptr || a_.page_indices.data != nullptr;
  complete_ = complete_ && a_.B <= 64;
  for (Int b = 0; b < a_.B && complete_; ++b) {
    const auto [begin, end] = slots(b);
    if (begin < 0 || end <= begin) continue;
    if (!paged) {
      const bool ragged_keys = a_.kv_indptr.data != nullptr;
      const Wide token = ragged_keys ? at(draft_.kv_indptr, b) : 0;
      const Wide first = (ragged_keys ? 0 : static_cast<Wide>(b) * t.stride_batch) +
                         (token + begin) * static_cast<Wide>(t.stride_token);
      extent.add(first, 1, 0, a_.Hkv, t.stride_head, end - begin, t.stride_token, columns);
      continue;
    }
    complete_ = complete_ && a_.page_size > 0 && end <= kMostEntries && a_.page_size < kMostElements;
    for (Int slot = begin; slot < end && complete_; slot += a_.page_size - slot % a_.page_size) {
      const Int entry = slot / a_.page_size;
      const Int page = page_of(b, entry);
      if (page < 0) continue;
      const Int within = panels ? 0 : slot % a_.page_size;
      const Int count = panels ? 1 : std::min(end - slot, a_.page_size - within);
      const Wide first = static_cast<Wide>(page) * t.stride_batch + static_cast<Wide>(within) * t.stride_token;
      extent.add(first, 1, 0, a_.Hkv, t.stride_head, count, t.stride_token, panels ? columns * a_.page_size : columns);
    }
  }
  t.data = place(t.data, extent, t.type, false);
}

// What is indexed by sequence, head, query and slot.
void Placement::pairs() {
  heed_tensor& bias = a_.bias;
  Extent extent;
  extent.add(0, a_.B, bias.stride_batch, a_.Hq, bias.stride_head, a_.Lq, bias.stride_token, a_.Lkv);
  bias.data = place(bias.data, extent, bias.type, false);
  Extent mask;
  const Int columns = a_.mask_kind == HEED_BIT_MASK ? a_.Lkv / 8 + (a_.Lkv % 8 != 0 ? 1 : 0) : a_.Lkv;
  mask.add(0, a_.B, a_.mask_stride_batch, a_.Hq, a_.mask_stride_head, a_.Lq, a_.mask_stride_token, columns);
  a_.mask = place(a_.mask, mask, HEED_INT8, false);
  heed_tensor_out& view = a_.inspect;
  Extent shown;
  shown.add(0, a_.B, view.stride_batch, a_.Hq, view.stride_head, a_.Lq, view.stride_token, a_.Lkv);
  view.data = place(view.data, shown, HEED_F32, true, true);
  if (view.data == nullptr || shown.elements() > kMostElements) return;
  mark_elements(outputs_.back(), static_cast<Int>(-shown.low), a_.B, view.stride_batch, a_.Hq, view.stride_head, a_.Lq,
                view.stride_token, a_.Lkv, 4);
}

void Placement::state(heed_state& s, bool output) {
  const auto small = [](Int n) { return n >= 0 && n < kMostElements; };
  const Int count = small(s.Hq) && small(s.Lq) ? s.Hq * s.Lq : 0;
  const bool given = s.stride_batch != 0 || s.stride_head != 0 || s.stride_token != 0;
  const bool o_given = s.o_stride_batch != 0 || s.o_stride_head != 0 || s.o_stride_token != 0;
  const Int m_strides[] = {given ? s.stride_batch : count, given ? s.stride_head : s.Lq, given ? s.stride_token : 1};
  const Int columns = small(s.Dv) ? s.Dv : 0;
  const Int o_strides[] = {o_given ? s.o_stride_batch : count * columns,
                           o_given       ? s.o_stride_head
                           : small(s.Lq) ? s.Lq * columns
                                         : 0,
                           o_given ? s.o_stride_token : columns};
  for (float** part : {&s.m, &s.l, &s.o}) {
    const bool o = part == &s.o;
    const Int* strides = o ? o_strides : m_strides;
    Extent extent;
    extent.add(0, s.B, strides[0], s.Hq, strides[1], s.Lq, strides[2], o ? s.Dv : 1);
    *part = static_cast<float*>(place(*part, extent, HEED_F32, output));
    if (!output || *part == nullptr || extent.elements() > kMostElements) continue;
    mark_elements(outputs_.back(), static_cast<Int>(-extent.low), s.B, strides[0], s.Hq, strides[1], s.Lq, strides[2],
                  o ? s.Dv : 1, 4);
  }
}

void Placement::calls() {
  constexpr void (*orders[])(void*, Int, test::Task, void*) = {test::last_first, test::odd_first, test::on_threads,
                                                               half};
  const Int order = static_cast<Int>(draft_.order);
  if (a_.executor.threads > 1 && !draft_.no_executor) a_.executor.parallel_for = orders[order];
  a_.executor.context = &threads_of_pool;
  a_.allocator = {draft_.no_memory ? allocate_nothing : allocate, draft_.half_allocator ? nullptr : release, nullptr};
  if (draft_.wild_callback) a_.mask_callback = wild;
}

bool Placement::little_work() const {
  Wide work = 1;
  for (const Int n : {a_.B, a_.Hq, a_.Lq, a_.Lkv, a_.D, a_.Dv}) {
    if (n < 0 || n > kMostElements) return false;
  }
  for (const Wide n : {a_.B, a_.Hq, a_.Lq, a_.Lkv + 8, a_.D + a_.Dv}) work *= n;
  if (work > 400'000) return false;
  return a_.executor.threads <= 32;
}

void Placement::heads() {
  Extent extent;
  extent.add(0, a_.Hq);
  a_.alibi_slopes = static_cast<const float*>(place(a_.alibi_slopes, extent, HEED_F32, false));
  a_.sinks = static_cast<const float*>(place(a_.sinks, extent, HEED_F32, false));
}

void Placement::lse() {
  if (a_.end != nullptr) a_.lse = nullptr;
  if (a_.lse == nullptr) return;
  const Int tokens = query_tokens();
  const bool given = a_.lse_stride_batch != 0 || a_.lse_stride_head != 0 || a_.lse_stride_token != 0;
  const Strides strides = given      ? Strides{a_.lse_stride_batch, a_.lse_stride_head, a_.lse_stride_token}
                          : ragged() ? Strides{0, 1, a_.Hq}
                                     : Strides{complete_ ? a_.Hq * tokens : 0, tokens, 1};
  Extent extent;
  const Wide first = static_cast<Wide>(first_token()) * strides.token;
  extent.add(first, query_batches(), strides.batch, a_.Hq, strides.head, tokens, strides.token, 1);
  a_.lse = static_cast<float*>(place(a_.lse, extent, HEED_F32, true));
  if (extent.elements() > kMostElements) return;
  mark_elements(outputs_.back(), static_cast<Int>(first - extent.low), query_batches(), strides.batch, a_.Hq,
                strides.head, tokens, strides.token, 1, 4);
}

// A struct of another version: what it has more is part of it, and zero or not.
void Placement::place_args() {
  const std::size_t size = a_.struct_size;
  const std::size_t bytes = size < 8                       ? 8
                            : size > sizeof a_ + (1 << 16) ? sizeof a_
                                                           : size;  // such a size isn't followed
  args_ = std::make_unique<Block>(bytes);
  std::memset(args_->data(), 0, bytes);
  std::memcpy(args_->data(), &a_, std::min(bytes, sizeof a_));
  if (bytes > sizeof a_ && draft_.seed % 2 != 0) args_->data()[bytes - 1] = 1;
}

Placement::Placement(const Draft& draft) : draft_(draft), a_(draft.args) {
  place_indices();
  complete_ = complete_ && little_work() && query_tokens() <= kMostElements;
  const bool panels = a_.kv_panels == 1 && complete_;
  if (draft_.in_place && complete_ && a_.end == nullptr && a_.D == a_.Dv && a_.q.type == a_.out.type) {
    a_.out = {const_cast<void*>(a_.q.data), a_.q.stride_batch, a_.q.stride_head, a_.q.stride_token, a_.out.type};
    rows(a_.out, a_.Dv, true);
    a_.q.data = a_.out.data;
  } else {
    rows(a_.q, a_.D, false);
    if (a_.end == nullptr) rows(a_.out, a_.Dv, true);
  }
  if (a_.end != nullptr) a_.out.data = nullptr;
  keys(a_.k, a_.D, panels);
  keys(a_.v, panels ? (a_.Dv + 15) / 16 * 16 : a_.Dv, panels);
  keys(a_.k_scales, 1, false);
  keys(a_.v_scales, 1, false);
  pairs();
  if (a_.start != nullptr && !draft_.start_is_end) state(draft_.start, false), a_.start = &draft_.start;
  if (a_.end != nullptr) state(draft_.end, true), a_.end = &draft_.end;
  if (a_.start != nullptr && draft_.start_is_end) a_.start = &draft_.end;
  heads();
  lse();
  calls();
  place_args();
}

}  // namespace heed::fuzz

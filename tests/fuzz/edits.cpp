// Edits that may break a drafted call.
#include <cstddef>

#include "fuzz/draft.hpp"

namespace heed::fuzz {
namespace {

enum FieldKind { kSize, kInt64, kInt32, kFloat, kPointer };
struct Field {
  FieldKind kind;
  std::size_t offset;
};
constexpr Field kFields[] = {
#define HEED_FIELD(kind, name) {kind, offsetof(heed_attention_args, name)},
#include "fuzz/fields.inc"
#undef HEED_FIELD
};

constexpr Field kStateFields[] = {
    {kInt64, offsetof(heed_state, B)},
    {kInt64, offsetof(heed_state, Hq)},
    {kInt64, offsetof(heed_state, Lq)},
    {kInt64, offsetof(heed_state, Dv)},
    {kPointer, offsetof(heed_state, m)},
    {kPointer, offsetof(heed_state, l)},
    {kPointer, offsetof(heed_state, o)},
    {kInt64, offsetof(heed_state, stride_batch)},
    {kInt64, offsetof(heed_state, stride_head)},
    {kInt64, offsetof(heed_state, stride_token)},
    {kInt64, offsetof(heed_state, o_stride_batch)},
    {kInt64, offsetof(heed_state, o_stride_head)},
    {kInt64, offsetof(heed_state, o_stride_token)},
};

template <class T, class Change>
void change(void* field, const Change& to) {
  T value;
  std::memcpy(&value, field, sizeof value);
  value = static_cast<T>(to(value));
  std::memcpy(field, &value, sizeof value);
}

void edit(void* base, const Field& field, Input& in) {
  void* const at = static_cast<char*>(base) + field.offset;
  switch (field.kind) {
    case kSize:
      return change<std::size_t>(at, [&](std::size_t now) { return in.edge(static_cast<Int>(now)); });
    case kInt64:
      return change<Int>(at, [&](Int now) { return in.edge(now); });
    case kInt32:
      return change<std::int32_t>(at, [&](std::int32_t now) { return in.edge32(now); });
    case kFloat:
      return change<float>(at, [&](float) { return in.edge_float(); });
    case kPointer:
      return change<std::uintptr_t>(at, [&](std::uintptr_t) {
        const std::uint8_t choice = in.byte();
        return reinterpret_cast<std::uintptr_t>(choice % 4 < 2 ? nullptr : choice % 4 == 2 ? beside() : present());
      });
  }
}

void edit_entry(std::vector<Int>& values, Input& in) {
  if (values.empty()) return;
  Int& entry = values[static_cast<std::size_t>(in.byte()) % values.size()];
  entry = in.edge(entry);
}

}  // namespace

void draw_edits(Draft& d, Input& in) {
  std::vector<Int>* const arrays[] = {&d.kv_lengths, &d.key_begin, &d.key_offset,  &d.offsets,      &d.table_rows,
                                      &d.q_indptr,   &d.kv_indptr, &d.block_table, &d.page_indices, &d.page_indptr};
  d.edits = in.pick({0, 0, 0, 1, 1, 2, 1, 3});
  for (int n = 0; n < d.edits; ++n) {
    switch (in.byte() % 8) {
      case 0:
      case 1:
        edit_entry(*in.pick(arrays), in);
        break;
      case 2:
        edit(in.flag() ? &d.start : &d.end, in.pick(kStateFields), in);
        break;
      case 3:
        switch (in.byte() % 4) {
          case 0:
            d.half_allocator = true;
            break;
          case 1:
            d.no_executor = true;
            break;
          default:
            d.args.executor.threads = in.edge32(d.args.executor.threads);
            break;
        }
        break;
      default:
        edit(&d.args, in.pick(kFields), in);
        break;
    }
  }
}

}  // namespace heed::fuzz

#include "fuzz/placement.hpp"
#include "fuzz/rows.hpp"
#include "fuzz/state_memory.hpp"
#include "fuzz/states.hpp"

namespace heed::fuzz {
namespace {

std::size_t size(Int n) { return static_cast<std::size_t>(n); }

void edit_state(heed_state& s, Input& in) {
  Int heed_state::*const fields[] = {&heed_state::B, &heed_state::Hq, &heed_state::Lq, &heed_state::Dv};
  switch (in.byte() % 4) {
    case 0:
      (in.flag() ? s.m : in.flag() ? s.l : s.o) = nullptr;
      break;
    case 1:
      s.m = reinterpret_cast<float*>(reinterpret_cast<char*>(s.m) + 1);
      break;
    case 2:
      s.*in.pick(fields) = in.pick<Int>({-1, INT64_MIN, INT64_MAX, 1 + (Int{1} << 60)});
      break;
    default:
      (in.flag() ? s.stride_batch : s.o_stride_batch) = in.flag() ? INT64_MIN : Int{1} << 60;
      if (s.B < 2) s.m = nullptr;  // then no stride of the batch counts
      break;
  }
}

}  // namespace

// a and b as one, in any aliasing; a broken state is refused by name.
void merge_states(Input& in) {
  const Int B = in.between(0, 2), Hq = in.between(1, 3), Lq = in.between(1, 4), Dv = in.between(1, 40);
  const test::Kind kind = in.pick({test::Kind::kTame, test::Kind::kHostile, test::Kind::kWide});
  const std::uint8_t seed = in.byte(), rows = in.byte();
  StateMemory a(B, Hq, Lq, Dv, kind, seed, in), b(B, Hq, Lq, Dv, kind, seed + 7u, in);
  StateMemory out(B, Hq, Lq, Dv, kind, seed + 9u, in);
  if (in.once_in(3) && kind == test::Kind::kTame) {  // b is empty
    for (std::size_t n = 0; n < b.m.size() / 4; ++n) b.state.m[n] = -test::kInfinity, b.state.l[n] = 0.0f;
    std::memset(b.o.data(), 0, b.o.size());
  }
  const std::string a_before = a.bytes(), b_before = b.bytes(), before = out.bytes();
  heed_status status;
  if (in.once_in(4)) {
    StateMemory* const broken[] = {&a, &b, &out};
    const int which = in.byte() % 3;
    edit_state(broken[which]->state, in);
    const heed_code code = heed_state_merge(&a.state, &b.state, &out.state, &status);
    const bool taken = expect_status(code, status, {"a", "b", "out"});
    if (!taken) expect(out.bytes() == before, "a merge that was refused has written");
    expect(!taken || B == 0, "a broken state was merged");
    return;
  }
  expect_same_on_rows(rows, "merge", [&](const test::Table&) {
    out.set(before);
    expect(expect_status(heed_state_merge(&a.state, &b.state, &out.state, &status), status), "a merge was refused");
    return out.bytes();
  });
  const std::string merged = out.bytes();
  const bool same_order = a.state.stride_head == out.state.stride_head && b.state.stride_head == out.state.stride_head;
  if (same_order) {
    out.set(before);
    expect(heed_state_merge(&a.state, &b.state, &out.state, &status) == HEED_OK, "a merge was refused");
    const std::string apart = out.bytes();
    expect(heed_state_merge(&a.state, &b.state, &a.state, &status) == HEED_OK, "a merge was refused");
    expect(a.bytes() == apart, "a merge into its first state gives other bits");
    a.set(a_before);
    expect(heed_state_merge(&a.state, &b.state, &b.state, &status) == HEED_OK, "a merge was refused");
    expect(b.bytes() == apart, "a merge into its second state gives other bits");
    b.set(b_before);
  }
}

void finish_state(Input& in) {
  const Int B = in.between(0, 2), Hq = in.between(1, 3), Lq = in.between(1, 4), Dv = in.between(1, 40);
  const test::Kind kind = in.pick({test::Kind::kTame, test::Kind::kHostile, test::Kind::kWide});
  const std::uint8_t seed = in.byte(), rows = in.byte();
  StateMemory state(B, Hq, Lq, Dv, kind, seed, in);
  auto type = static_cast<heed_type>(in.between(HEED_F32, HEED_BF16));
  const Block sinks(size(Hq) * 4), lse(state.m.size()), out(state.m.size() / 4 * size(Dv) * test::bytes_of(type));
  fill(sinks.data(), sinks.size(), HEED_F32, kind, seed + 3u);
  heed_tensor_out to{out.data(), Hq * Lq * Dv, Lq * Dv, Dv, type};
  const bool with_sinks = in.flag(), with_lse = in.flag();
  bool broken = in.once_in(4);
  if (broken) {
    switch (in.byte() % 4) {
      case 0:
        edit_state(state.state, in);
        break;
      case 1:
        to.type = in.edge32(HEED_INT8);
        broken = to.type < HEED_F32 || to.type > HEED_BF16;
        if (!broken) return;  // another type needs other memory
        break;
      case 2:
        to.data = in.flag() ? nullptr : static_cast<char*>(to.data) + (type == HEED_F32 ? 2 : 1);
        break;
      default:
        to.stride_token = 0;
        broken = Lq > 1;
        break;
    }
  }
  std::memset(out.data(), 0x55, out.size());
  std::memset(lse.data(), 0x55, lse.size());
  const auto bytes = [&] {
    return std::string(reinterpret_cast<const char*>(out.data()), out.size())
        .append(reinterpret_cast<const char*>(lse.data()), lse.size());
  };
  const std::string before = bytes();
  expect_same_on_rows(rows, "finish", [&](const test::Table&) {
    heed_status status;
    const heed_code code =
        heed_state_finish(&state.state, with_sinks ? reinterpret_cast<const float*>(sinks.data()) : nullptr, &to,
                          with_lse ? reinterpret_cast<float*>(lse.data()) : nullptr, &status);
    const bool taken = expect_status(code, status, {"state", "out"});
    expect(taken == !broken || B == 0, "finish takes what it should refuse, or the other way round");
    if (!taken) expect(bytes() == before, "a finish that was refused has written");
    return bytes();
  });
}

}  // namespace heed::fuzz

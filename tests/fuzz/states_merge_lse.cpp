#include "fuzz/placement.hpp"
#include "fuzz/rows.hpp"
#include "fuzz/states.hpp"

namespace heed::fuzz {

void merge_results(Input& in) {
  const Int B = in.between(0, 2), Hq = in.between(1, 3), Lq = in.between(1, 4), Dv = in.between(1, 40);
  const test::Kind kind = in.pick({test::Kind::kTame, test::Kind::kHostile, test::Kind::kWide});
  const std::uint8_t seed = in.byte(), rows = in.byte();
  const Int n = B * Hq * Lq;
  const auto type = static_cast<heed_type>(in.between(HEED_F32, HEED_BF16));
  const std::size_t bytes = static_cast<std::size_t>(n * Dv) * test::bytes_of(type);
  const std::size_t bytes_of_lse = static_cast<std::size_t>(n) * 4;
  const Block a(bytes), b(bytes), out(bytes), a_lse(bytes_of_lse), b_lse(bytes_of_lse), lse(bytes_of_lse);
  fill(a.data(), bytes, type, kind, seed);
  fill(b.data(), bytes, type, kind, seed + 1u);
  fill(a_lse.data(), a_lse.size(), HEED_F32, kind, seed + 2u);
  fill(b_lse.data(), b_lse.size(), HEED_F32, kind, seed + 3u);
  std::memset(out.data(), 0x55, out.size());
  std::memset(lse.data(), 0x55, lse.size());
  heed_result left{{a.data(), Hq * Lq * Dv, Lq * Dv, Dv, type}, reinterpret_cast<const float*>(a_lse.data())};
  heed_result right{{b.data(), Hq * Lq * Dv, Lq * Dv, Dv, type}, reinterpret_cast<const float*>(b_lse.data())};
  heed_tensor_out to{out.data(), Hq * Lq * Dv, Lq * Dv, Dv, type};
  Int sizes[] = {B, Hq, Lq, Dv};
  bool broken = in.once_in(3);
  if (broken) {
    heed_result& one = in.flag() ? left : right;
    switch (in.byte() % 6) {
      case 0:
        one.lse = in.flag() ? nullptr : reinterpret_cast<const float*>(a_lse.data() + 1);
        break;
      case 1:
        one.out.data = nullptr;
        break;
      case 2:
        one.out.type = static_cast<heed_type>(HEED_INT8 + in.between(0, 9));
        break;
      case 3:
        to.stride_head = 0;
        broken = Hq > 1;
        break;
      case 4:
        to.type = static_cast<heed_type>(-1 - in.between(0, 9));
        break;
      default:
        sizes[in.byte() % 4] = in.flag() ? -1 - in.between(0, 200) : INT64_MAX - in.between(0, 9);
        break;
    }
  }
  const auto results = [&] {
    return std::string(reinterpret_cast<const char*>(out.data()), out.size())
        .append(reinterpret_cast<const char*>(lse.data()), lse.size());
  };
  const std::string before = results();
  expect_same_on_rows(rows, "merge_lse", [&](const test::Table&) {
    heed_status status;
    const heed_code code = heed_merge_lse(sizes[0], sizes[1], sizes[2], sizes[3], &left, &right, &to,
                                          reinterpret_cast<float*>(lse.data()), &status);
    const bool taken = expect_status(code, status, {"a", "b", "out", "B", "Hq", "Lq", "Dv"});
    expect(taken == !broken || B == 0, "merge_lse takes what it should refuse, or the other way round");
    if (!taken) expect(results() == before, "a merge that was refused has written");
    return results();
  });
}

}  // namespace heed::fuzz

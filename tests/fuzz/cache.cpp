// Bytes to a story of a cache: every call is foreseen by a plain model, and attention over the cache has the bits of
// attention over the model's row-major arrays.
#include <algorithm>

#include "fuzz/cache_story.hpp"
#include "fuzz/target.hpp"

namespace heed::fuzz {
namespace {

heed_cache_config draw_config(Input& in) {
  heed_cache_config c{};
  c.struct_size = sizeof c;
  c.Hkv = in.between(1, 2);
  c.D = in.once_in(4) ? in.between(1, 40) : in.between(1, 5);
  c.Dv = in.once_in(4) ? in.between(1, 40) : in.between(1, 5);
  c.k_type = static_cast<heed_type>(in.between(HEED_F32, HEED_FP8_E5M2));
  c.v_type = static_cast<heed_type>(in.between(HEED_F32, HEED_FP8_E5M2));
  c.page_size = in.pick<Int>({16, 32, 48, 0});
  c.page_count = in.between(0, 12);
  c.max_sequences = in.between(0, 5);
  c.max_pages = in.pick<Int>({0, 1, 3, 50});
  return c;
}

bool edit(heed_cache_config& c, Input& in) {
  if (!in.once_in(4)) return false;
  Int heed_cache_config::*const fields[] = {&heed_cache_config::Hkv,        &heed_cache_config::D,
                                            &heed_cache_config::Dv,         &heed_cache_config::page_size,
                                            &heed_cache_config::page_count, &heed_cache_config::max_sequences,
                                            &heed_cache_config::max_pages};
  switch (in.byte() % 4) {
    case 0:
      (in.flag() ? c.k_type : c.v_type) = in.edge32(0);
      break;
    case 1:
      c.struct_size = std::min(static_cast<std::size_t>(in.edge(sizeof c)), sizeof c);
      break;
    default:
      Int& field = c.*in.pick(fields);
      field = in.edge(field);
      break;
  }
  return true;
}

void run(Input& in) {
  heed_cache_config config = draw_config(in);
  const bool edited = edit(config, in);
  heed_status status;
  const std::size_t bytes = heed_cache_bytes(&config, &status);
  const bool right = expect_status(
      status.code, status,
      {"struct_size", "Hkv", "D", "Dv", "k_type", "v_type", "page_size", "page_count", "max_sequences", "max_pages"});
  expect(right == (bytes > 0) && (right || edited), "a legal cache was refused, or has no bytes");
  if (!right || bytes > std::size_t{1} << 20 || config.Hkv > 8 || config.D > 300 || config.Dv > 300) return;
  Story story(config, bytes);
  if (!story.create(in)) return;
  for (int steps = 0; in.size() > 0 && steps < 40; ++steps) {
    story.step(in);
    story.check();
  }
}

}  // namespace
}  // namespace heed::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  heed::fuzz::Input in(data, size);
  heed::fuzz::run(in);
  return 0;
}

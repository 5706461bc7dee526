#include "fuzz/block.hpp"

#include "support/storage.hpp"

namespace heed::fuzz {
namespace {

constexpr bool is_type(heed_type type) { return type >= HEED_F32 && type <= HEED_FP8_E5M2; }

}  // namespace

std::size_t element_size(heed_type type) { return is_type(type) ? test::bytes_of(type) : 4; }

Block::Block(std::size_t bytes, std::size_t align) : bytes_(bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, align, bytes) != 0) std::abort();
  data_.reset(static_cast<unsigned char*>(memory));
}

void fill(unsigned char* at, std::size_t bytes, heed_type type, test::Kind kind, std::uint64_t seed) {
  test::Random random(seed);
  const std::size_t element = element_size(type);
  for (std::size_t n = 0; n + element <= bytes; n += element) {
    if (element == 1 || (element == 2 && kind == test::Kind::kHostile)) {
      auto code = static_cast<test::Code>(random.next());
      if (kind != test::Kind::kHostile) {  // numbers of moderate size
        if (type == HEED_INT8) code = code % 17 - 8;
        if (type != HEED_INT8 && (code & 0x70u) >= 0x50u) code &= 0xBFu;
      }
      test::put(element == 1 ? HEED_INT8 : type, at + n, code);
    } else if (is_type(type)) {
      test::put(type, at + n, test::encoded(type, random.number(kind)));
    }
  }
}

}  // namespace heed::fuzz

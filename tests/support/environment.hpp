// What the environment says of random tests. Read here and nowhere else.
#pragma once

#include <cstdint>

namespace heed::test {

// `count` random problems, HEED_TEST_PROBLEMS times as many if it is set, or a part of them if that is 1/N (at least
// one). They come from consecutive seeds, the first of which HEED_TEST_SEED may choose. A variable that isn't a whole
// number from 1 up is refused by an exception: a test that draws no problem would pass.
std::int64_t problems(std::int64_t count);
bool fewer_problems();  // it is 1/N
std::uint64_t first_seed();

}  // namespace heed::test

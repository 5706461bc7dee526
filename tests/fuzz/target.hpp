// A fuzz target is one function; libFuzzer calls it with inputs of its own, replay.cpp with those of the corpus.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

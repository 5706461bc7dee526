// Problems of the option tests, drawn from an input: the model of the arithmetic says which bits are right.
#pragma once

#include "fuzz/input.hpp"

namespace heed::fuzz {

void run_modelled(Input& in);

}  // namespace heed::fuzz

// heed: exact attention on CPUs. The C++ interface (C++17 and later); includes everything.
#pragma once

#include "heed/attention.hpp"
#include "heed/cache.hpp"
#include "heed/isa.hpp"
#include "heed/kernels.hpp"
#include "heed/plan.hpp"
#include "heed/reference.hpp"
#include "heed/state.hpp"
#include "heed/status.hpp"

// The C functions of a peer's shared object, for ctypes.
#include "peer.hpp"

#include <chrono>
#include <cstdio>

using namespace peers;

namespace {
thread_local char error_text[256];

template <class Body>
auto guarded(Body body) -> decltype(body()) {
  try {
    error_text[0] = '\0';
    return body();
  } catch (const std::exception& error) {
    std::snprintf(error_text, sizeof error_text, "%s", error.what());
    return {};
  }
}
}  // namespace

extern "C" {

const Entry* peer_entries() { return kEntries; }

// Why the last call of this thread returned null or 0.
const char* peer_error() { return error_text; }

void* peer_make(const Entry* entry, const Problem* problem, int* unsupported) {
  *unsupported = 0;
  return guarded([&]() -> void* {
    try {
      return entry->make(*problem).release();
    } catch (const Unsupported&) {
      *unsupported = 1;
      throw;
    }
  });
}

// Seconds that `calls` calls took, on the operand sets from `first` on in turn; 0 after an error.
double peer_time(void* peer, int first, int calls, int sets) {
  return guarded([&]() -> double {
    int set = first;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) {
      static_cast<Peer*>(peer)->run(set);
      if (++set == sets) set = 0;
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  });
}

void peer_free(void* peer) { delete static_cast<Peer*>(peer); }
}

#include "library.hpp"

#include <dlfcn.h>

#include <stdexcept>

namespace heed::bench {
namespace {

// A library must find its own functions first, not those of the same name in this program or in another build of heed.
#if defined(RTLD_DEEPBIND)
constexpr int kOwnNamesFirst = RTLD_DEEPBIND;
#elif defined(__APPLE__)
constexpr int kOwnNamesFirst = 0;  // names there belong to a library from the start
#else
constexpr int kOwnNamesFirst = -1;
#endif

template <class Function>
void find(void* library, const char* name, const std::string& path, Function& function) {
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) throw std::runtime_error(path + " has no " + name);
  function = reinterpret_cast<Function>(symbol);
}

}  // namespace

const Library& linked_library() {
  static const Library library = {
#define HEED_BENCH_CALL(name) &heed_##name,
      HEED_BENCH_CALLS(HEED_BENCH_CALL)
#undef HEED_BENCH_CALL
  };
  return library;
}

Library load_library(const std::string& path) {
  if (kOwnNamesFirst == -1) throw std::runtime_error("this system cannot hold two builds of a library apart");
  // It stays open: its functions are used to the end of the program.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | kOwnNamesFirst);
  if (handle == nullptr) throw std::runtime_error(dlerror());
  Library library{};
#define HEED_BENCH_CALL(name) find(handle, "heed_" #name, path, library.name);
  HEED_BENCH_CALLS(HEED_BENCH_CALL)
#undef HEED_BENCH_CALL
  return library;
}

}  // namespace heed::bench

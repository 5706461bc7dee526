// What the suite needs to know of the machine, and memory of a chosen page size.
#pragma once

#include <cstddef>
#include <vector>

namespace heed::bench {

struct Machine {
  std::size_t l1_bytes, l2_bytes, llc_bytes;  // llc: the last level, equal to l2 where there is no third
  std::size_t available_bytes;
  bool caches_known;      // false: the system does not tell, and these are typical sizes
  std::vector<int> cpus;  // that this process may run on
};

Machine probe_machine();

// Keeps the calling thread on one processor: a thread that moves leaves its caches behind. Does nothing where the
// system has no such call.
void pin_to(int cpu);

enum class PageSize { k4KiB, kHuge };

// Anonymous memory. Huge pages are asked for; whether the system grants them is its own affair, and the probes show it.
class Pages {
 public:
  Pages() = default;
  Pages(std::size_t bytes, PageSize size);
  Pages(Pages&& other) noexcept : data_(other.data_), bytes_(other.bytes_) { other.data_ = nullptr; }
  Pages& operator=(Pages&& other) noexcept;
  ~Pages();

  float* floats() const { return static_cast<float*>(data_); }
  const char* bytes() const { return static_cast<const char*>(data_); }
  std::size_t size_bytes() const { return bytes_; }

  // Writes to every page: untouched memory is one page of zeros.
  void touch();

  // Fills the memory with numbers of mean 0 and variance 1, the same in every run.
  void fill_random();

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace heed::bench

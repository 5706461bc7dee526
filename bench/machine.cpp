#include "machine.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <new>
#include <string>
#include <thread>
#include <utility>

#ifdef __linux__
#include <sched.h>
#endif

namespace heed::bench {
namespace {

std::string first_word(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

// "48K" or "32M" in bytes.
std::size_t bytes_of(const std::string& text) {
  std::size_t used = 0;
  std::size_t number = 0;
  try {
    number = std::stoull(text, &used);
  } catch (const std::exception&) {
    return 0;
  }
  const char unit = used < text.size() ? text[used] : ' ';
  return number << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0);
}

std::size_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  std::size_t kib = 0;
  while (file >> key >> kib) {
    if (key == "MemAvailable:") return kib << 10;
    std::getline(file, unit);
  }
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) / 2;
}

}  // namespace

Machine probe_machine() {
  Machine machine{};
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    const std::string level = first_word(folder + "level");
    if (level.empty() || first_word(folder + "type") == "Instruction") continue;
    const std::size_t bytes = bytes_of(first_word(folder + "size"));
    if (level == "1") machine.l1_bytes = bytes;
    if (level == "2") machine.l2_bytes = bytes;
    if (bytes > machine.llc_bytes) machine.llc_bytes = bytes;
  }
  machine.caches_known = machine.l1_bytes > 0 && machine.l2_bytes > 0;
  if (!machine.caches_known) {
    machine.l1_bytes = std::size_t{32} << 10;
    machine.l2_bytes = std::size_t{1} << 20;
    machine.llc_bytes = std::size_t{32} << 20;
  }
  machine.available_bytes = available_memory();
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) machine.cpus.push_back(cpu);
    }
  }
#endif
  if (machine.cpus.empty()) machine.cpus.resize(std::thread::hardware_concurrency());
  return machine;
}

void pin_to([[maybe_unused]] int cpu) {
#ifdef __linux__
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
#endif
}

Pages::Pages(std::size_t bytes, PageSize size) : bytes_(bytes) {
  data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data_ == MAP_FAILED) {
    data_ = nullptr;
    throw std::bad_alloc();
  }
#ifdef MADV_HUGEPAGE
  madvise(data_, bytes, size == PageSize::kHuge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#endif
}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Pages::~Pages() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

void Pages::touch() {
  for (std::size_t at = 0; at < bytes_ / sizeof(float); at += 1024) floats()[at] = 1.0f;
}

void Pages::fill_random() {
  // Sums of four uniform bytes, scaled to variance 1: close to normal, and quick enough for half a gigabyte.
  std::uint64_t state = 0x9E3779B97F4A7C15u;
  float* out = floats();
  const std::size_t n = bytes_ / sizeof(float);
  constexpr float kScale = 1.0f / 147.8f;  // one over the standard deviation of the sum
  for (std::size_t i = 0; i + 2 <= n; i += 2) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const auto sum = [&](int shift) {
      const std::uint32_t word = static_cast<std::uint32_t>(state >> shift);
      return static_cast<int>((word & 255u) + (word >> 8 & 255u) + (word >> 16 & 255u) + (word >> 24));
    };
    out[i] = static_cast<float>(sum(0) - 510) * kScale;
    out[i + 1] = static_cast<float>(sum(32) - 510) * kScale;
  }
}

}  // namespace heed::bench

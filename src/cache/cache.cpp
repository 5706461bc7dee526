#include "cache/cache.hpp"

#include <cstring>

#include "arithmetic.hpp"
#include "driver/kernels.hpp"
#include "integers.hpp"
#include "plan/problem.hpp"

namespace heed {
namespace {

std::int64_t panels(std::int64_t columns) { return (columns + kPanel - 1) / kPanel; }

// Adds parts one after the other, each in cache lines of its own, and remembers if a size was none.
class Sizes {
 public:
  std::int64_t product(std::int64_t a, std::int64_t b) {
    std::int64_t c = 0;
    failed_ = failed_ || __builtin_mul_overflow(a, b, &c) || c > kMost;
    return failed_ ? 0 : c;
  }
  std::int64_t take(std::int64_t bytes) {
    const std::int64_t here = next_;
    next_ += (bytes + 63) / 64 * 64;
    failed_ = failed_ || next_ > kMost;
    return failed_ ? 0 : here;
  }
  std::int64_t bytes() const { return failed_ ? -1 : next_; }

 private:
  static constexpr std::int64_t kMost = std::int64_t{1} << 60;
  std::int64_t next_ = 0;
  bool failed_ = false;
};

// One row of numbers, as floats and then as the cache holds it, scattered to its lane or columns.
class Writer {
 public:
  Writer(heed_cache& cache, const dispatch::Table& table)
      : cache_(cache),
        table_(table),
        rows_(cache.part<float>(cache.at.rows)),
        codes_(cache.part<char>(cache.at.codes)) {}

  // `tokens` keys that all go into the panel of `slot`, from its lane on.
  void keys(const heed_tensor& from, std::int64_t head, std::int64_t first, std::int64_t tokens, std::int64_t page,
            std::int64_t slot) {
    const CacheShape& shape = cache_.shape;
    const std::int64_t bytes = element_bytes(shape.k_type), lane = slot % kPanel;
    char* panel = cache_.part<char>(cache_.at.k) + page * cache_.at.k_page +
                  (head * shape.page_size + slot - lane) * shape.D * bytes;
    if (lane == 0 && shape.k_type != HEED_INT8) {  // a new panel: transposed as a whole, lanes without a key +0
      float* out = shape.k_type == HEED_F32 ? reinterpret_cast<float*>(panel) : rows_;
      table_.pack_keys[from.type](row(from, head, first), from.stride_token, tokens, shape.D, out, {});
      if (out == rows_) table_.narrow[shape.k_type](rows_, panel, shape.D * kPanel);
      return;
    }
    if (lane == 0) std::memset(panel, 0, static_cast<std::size_t>(shape.D * kPanel * bytes));
    for (std::int64_t j = 0; j < tokens; ++j) {
      const char* codes = convert(row(from, head, first + j), from.type, shape.D, shape.k_type,
                                  scale_of(cache_.at.k_scales, head, page, slot + j));
      for (std::int64_t d = 0; d < shape.D; ++d) {
        std::memcpy(panel + (d * kPanel + lane + j) * bytes, codes + d * bytes, static_cast<std::size_t>(bytes));
      }
    }
  }

  void value(const heed_tensor& from, std::int64_t head, std::int64_t token, std::int64_t page, std::int64_t slot) {
    const CacheShape& shape = cache_.shape;
    const std::int64_t bytes = element_bytes(shape.v_type), columns = panels(shape.Dv) * kPanel;
    char* panel = cache_.part<char>(cache_.at.v) + page * cache_.at.v_page +
                  (head * shape.page_size * columns + slot * kPanel) * bytes;
    const char* codes = convert(row(from, head, token), from.type, shape.Dv, shape.v_type,
                                scale_of(cache_.at.v_scales, head, page, slot));
    for (std::int64_t d = 0; d < shape.Dv; d += kPanel, panel += shape.page_size * kPanel * bytes) {
      const std::int64_t here = least(kPanel, shape.Dv - d);
      std::memcpy(panel, codes + d * bytes, static_cast<std::size_t>(here * bytes));
      std::memset(panel + here * bytes, 0, static_cast<std::size_t>((kPanel - here) * bytes));
    }
  }

 private:
  static const char* row(const heed_tensor& t, std::int64_t head, std::int64_t token) {
    return static_cast<const char*>(t.data) + (head * t.stride_head + token * t.stride_token) * element_bytes(t.type);
  }

  float* scale_of(std::int64_t scales, std::int64_t head, std::int64_t page, std::int64_t slot) {
    return cache_.part<float>(scales + page * cache_.at.scale_page) + head * cache_.shape.page_size + slot;
  }

  const char* convert(const char* from, heed_type from_type, std::int64_t n, heed_type type, float* scale) {
    if (from_type == type) return from;
    table_.widen[from_type](from, 1.0f, rows_, n);
    if (type == HEED_F32) return reinterpret_cast<const char*>(rows_);
    if (type == HEED_INT8) {
      quantize_rows({rows_, 1, n, n, HEED_F32}, reinterpret_cast<std::int8_t*>(codes_), n, scale);
    } else {
      table_.narrow[type](rows_, codes_, n);
    }
    return codes_;
  }

  heed_cache& cache_;
  const dispatch::Table& table_;
  float* rows_;
  char* codes_;
};

std::int32_t take_page(heed_cache& cache) {
  const std::int32_t page = cache.free()[--cache.free_count];
  cache.references()[page] = 1;
  return page;
}

void copy_page(heed_cache& cache, std::int64_t from, std::int64_t to) {
  const CacheLayout& at = cache.at;
  const auto copy = [&](std::int64_t pages, std::int64_t bytes) {
    std::memcpy(cache.part<char>(pages) + to * bytes, cache.part<char>(pages) + from * bytes,
                static_cast<std::size_t>(bytes));
  };
  copy(at.k, at.k_page);
  copy(at.v, at.v_page);
  if (cache.shape.k_type == HEED_INT8) copy(at.k_scales, at.scale_page);
  if (cache.shape.v_type == HEED_INT8) copy(at.v_scales, at.scale_page);
}

bool last_page_is_shared(heed_cache& cache, std::int64_t sequence) {
  return cache.lengths()[sequence] % cache.shape.page_size != 0 &&
         cache.references()[cache.table(sequence)[cache.pages(sequence) - 1]] > 1;
}

}  // namespace

CacheLayout cache_layout(const CacheShape& shape) {
  CacheLayout at{};
  Sizes sizes;
  sizes.take(static_cast<std::int64_t>(sizeof(heed_cache)));
  at.lengths = sizes.take(sizes.product(shape.max_sequences, 8));
  at.offsets = sizes.take(sizes.product(shape.max_sequences, 8));
  at.tables = sizes.take(sizes.product(sizes.product(shape.max_sequences, shape.max_pages), 4));
  at.references = sizes.take(sizes.product(shape.page_count, 4));
  at.free = sizes.take(sizes.product(shape.page_count, 4));
  const std::int64_t longest = (shape.D > shape.Dv ? shape.D : shape.Dv) * kPanel;
  at.rows = sizes.take(longest * 4);
  at.codes = sizes.take(longest * 2);
  const std::int64_t slots = sizes.product(shape.Hkv, shape.page_size);
  at.k_page = sizes.product(sizes.product(slots, shape.D), element_bytes(shape.k_type));
  at.v_page = sizes.product(sizes.product(slots, panels(shape.Dv) * kPanel), element_bytes(shape.v_type));
  at.scale_page = sizes.product(slots, 4);
  at.k = sizes.take(sizes.product(at.k_page, shape.page_count));
  at.v = sizes.take(sizes.product(at.v_page, shape.page_count));
  at.k_scales = sizes.take(shape.k_type == HEED_INT8 ? sizes.product(at.scale_page, shape.page_count) : 0);
  at.v_scales = sizes.take(shape.v_type == HEED_INT8 ? sizes.product(at.scale_page, shape.page_count) : 0);
  at.bytes = sizes.bytes();
  return at;
}

void clear(heed_cache& cache) {
  for (std::int64_t s = 0; s < cache.shape.max_sequences; ++s) cache.lengths()[s] = -1;
  cache.free_count = cache.shape.page_count;
  for (std::int64_t page = 0; page < cache.shape.page_count; ++page) {
    cache.references()[page] = 0;
    cache.free()[page] = static_cast<std::int32_t>(cache.shape.page_count - 1 - page);
  }
}

void release_pages(heed_cache& cache, std::int64_t sequence, std::int64_t first, std::int64_t last) {
  for (std::int64_t n = first; n < last; ++n) {
    const std::int32_t page = cache.table(sequence)[n];
    if (--cache.references()[page] == 0) cache.free()[cache.free_count++] = page;
  }
}

std::int64_t pages_to_append(heed_cache& cache, std::int64_t sequence, std::int64_t tokens) {
  if (tokens == 0) return 0;
  const std::int64_t size = cache.shape.page_size, length = cache.lengths()[sequence] + tokens;
  return length / size + (length % size != 0 ? 1 : 0) - cache.pages(sequence) +
         (last_page_is_shared(cache, sequence) ? 1 : 0);
}

void append(heed_cache& cache, std::int64_t sequence, const heed_tensor& k, const heed_tensor& v, std::int64_t tokens,
            const dispatch::Table& table) {
  const std::int64_t size = cache.shape.page_size;
  std::int64_t& length = cache.lengths()[sequence];
  std::int32_t* const pages = cache.table(sequence);
  if (tokens > 0 && last_page_is_shared(cache, sequence)) {
    std::int32_t& last = pages[cache.pages(sequence) - 1];
    const std::int32_t copy = take_page(cache);
    copy_page(cache, last, copy);
    --cache.references()[last];
    last = copy;
  }
  Writer write(cache, table);
  for (std::int64_t done = 0; done < tokens;) {
    const std::int64_t slot = length % size;
    if (slot == 0) pages[length / size] = take_page(cache);
    const std::int32_t page = pages[length / size];
    const std::int64_t count = least(kPanel - slot % kPanel, tokens - done);
    for (std::int64_t h = 0; h < cache.shape.Hkv; ++h) {
      write.keys(k, h, done, count, page, slot);
      for (std::int64_t j = 0; j < count; ++j) write.value(v, h, done + j, page, slot + j);
    }
    length += count;
    done += count;
  }
}

}  // namespace heed

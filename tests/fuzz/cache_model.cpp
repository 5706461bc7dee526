#include "fuzz/cache_model.hpp"

#include "fuzz/finding.hpp"

namespace heed::fuzz {
namespace {

std::size_t size(Int n) { return static_cast<std::size_t>(n); }
Int bytes_of(heed_type type) { return static_cast<Int>(test::bytes_of(type)); }

template <class T>
void keep_range(std::vector<T>& values, Int first, Int count) {
  values.erase(values.begin(), values.begin() + first);
  values.resize(size(count));
}

}  // namespace

bool CacheModel::has_room(const HeldSequence& s, Int tokens) const {
  const Int pages = (s.length + tokens + page_size() - 1) / page_size(),
            more = pages - static_cast<Int>(s.pages.size());
  return tokens == 0 || (pages <= max_pages() && more + (copies_a_page(s, tokens) ? 1 : 0) <= free_pages());
}

// A page that counts itself among those in use for as long as anyone holds it.
std::shared_ptr<int> CacheModel::page() const {
  ++*used_;
  return {new int(0), [used = used_](int* p) {
            --*used;
            delete p;
          }};
}

// The tokens' rows, converted by the public calls.
void CacheModel::add(HeldRows& rows, heed_type type, Int columns, Int tokens, const heed_tensor& from) const {
  const Int row = columns * bytes_of(type);
  for (Int t = 0; t < tokens; ++t) {
    for (Int h = 0; h < config_.Hkv; ++h) {
      const Int at = h * from.stride_head + t * from.stride_token;
      const heed_matrix one{static_cast<const char*>(from.data) + at * bytes_of(from.type), 1, columns, columns,
                            from.type};
      rows.codes.resize(rows.codes.size() + size(row));
      unsigned char* const to = rows.codes.data() + rows.codes.size() - row;
      heed_code code = HEED_OK;
      if (type == HEED_INT8) {
        std::vector<float> wide(size(columns));
        const heed_matrix_out out{wide.data(), 1, columns, columns, HEED_F32};
        code = heed_convert(&one, &out, nullptr);
        rows.scales.push_back(0.0f);
        const heed_matrix x{wide.data(), 1, columns, columns, HEED_F32};
        if (code == HEED_OK) {
          code = heed_quantize_int8(&x, reinterpret_cast<std::int8_t*>(to), columns, &rows.scales.back(), nullptr);
        }
      } else {
        const heed_matrix_out out{to, 1, columns, columns, type};
        code = heed_convert(&one, &out, nullptr);
      }
      expect(code == HEED_OK, "a row cannot be converted");
    }
  }
}

void CacheModel::append(HeldSequence& s, Int tokens, const heed_tensor& k, const heed_tensor& v) {
  if (copies_a_page(s, tokens)) s.pages.back() = page();
  s.length += tokens;
  while (static_cast<Int>(s.pages.size()) * page_size() < s.length) s.pages.push_back(page());
  add(s.k, config_.k_type, config_.D, tokens, k);
  add(s.v, config_.v_type, config_.Dv, tokens, v);
}

void CacheModel::keep(HeldRows& rows, Int heads, Int row_bytes, Int first, Int count) {
  keep_range(rows.codes, first * heads * row_bytes, count * heads * row_bytes);
  if (!rows.scales.empty()) keep_range(rows.scales, first * heads, count * heads);
}

void CacheModel::truncate(HeldSequence& s, Int length) {
  s.length = length;
  s.pages.resize(size((length + page_size() - 1) / page_size()));
  keep(s.k, config_.Hkv, config_.D * bytes_of(config_.k_type), 0, length);
  keep(s.v, config_.Hkv, config_.Dv * bytes_of(config_.v_type), 0, length);
}

void CacheModel::drop(HeldSequence& s, Int tokens) {
  const Int pages = tokens / page_size(), gone = pages * page_size();
  s.pages.erase(s.pages.begin(), s.pages.begin() + pages);
  s.length -= gone;
  s.dropped += gone;
  keep(s.k, config_.Hkv, config_.D * bytes_of(config_.k_type), gone, s.length);
  keep(s.v, config_.Hkv, config_.Dv * bytes_of(config_.v_type), gone, s.length);
}

}  // namespace heed::fuzz

#include "attention_forms.hpp"

#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "reference/sequence.hpp"
#include "support/rows.hpp"
#include "support/storage.hpp"

namespace heed::test {
namespace {

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

bool is_paged(Storage storage) { return storage == Storage::kPageTable || storage == Storage::kPageList; }

// Calls of one dense problem: as it is, with twelve query heads, and each of some query rows alone.
class Way {
 public:
  struct One {
    std::int64_t i;
  };
  struct Heads {
    std::int64_t n;
  };
  explicit Way(const heed_attention_args& dense) : args(dense), rows(dense.Lq), all_rows_(dense.Lq) {}
  Way(const heed_attention_args& dense, Heads heads)
      : args(dense), rows(dense.Lq), all_rows_(dense.Lq), repeated_(true) {
    args.Hq = heads.n;
    args.q.stride_head = args.bias.stride_head = args.mask_stride_head = 0;
    if (dense.alibi_slopes != nullptr) args.alibi_slopes = repeat(slopes_, heads.n, *dense.alibi_slopes);
    if (dense.sinks != nullptr) args.sinks = repeat(sinks_, heads.n, *dense.sinks);
  }
  Way(const heed_attention_args& dense, One row) : args(dense), first(row.i), rows(1), all_rows_(dense.Lq) {
    const std::int64_t i = row.i;
    const reference::Sequence sequence(dense, 0);
    position_ = sequence.query_position(i);
    args.Lq = 1;
    args.alignment = HEED_OFFSETS;
    args.offsets = &position_;
    args.q.data = static_cast<const float*>(dense.q.data) + i * dense.q.stride_token;
    if (dense.bias.data != nullptr) {
      args.bias.data = static_cast<const float*>(dense.bias.data) + i * dense.bias.stride_token;
    }
    if (dense.mask_kind != HEED_NO_MASK) {
      args.mask = static_cast<const unsigned char*>(dense.mask) + i * dense.mask_stride_token;
    }
  }
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;

  // What the whole problem's result makes this one's.
  Result of(const Result& whole) const {
    Result part;
    for (std::int64_t h = 0; h < args.Hq; ++h) {
      const std::int64_t row = (repeated_ ? 0 : h * all_rows_) + first;
      const auto out = whole.out.begin() + row * args.Dv, lse = whole.lse.begin() + row;
      part.out.insert(part.out.end(), out, out + rows * args.Dv);
      part.lse.insert(part.lse.end(), lse, lse + rows);
    }
    return part;
  }

  heed_attention_args args;
  std::int64_t first = 0, rows;

 private:
  static const float* repeat(std::vector<float>& to, std::int64_t n, float x) {
    to.assign(size(n), x);
    return to.data();
  }
  std::int64_t all_rows_, position_ = 0;
  bool repeated_ = false;
  std::vector<float> slopes_, sinks_;
};

}  // namespace

std::string describe(const Form& form) {
  const char* storages[] = {"dense", "ragged", "page table", "page list"};
  std::string text = std::string(storages[static_cast<int>(form.storage)]) + ", q " + name_of(form.q) + ", k " +
                     name_of(form.k) + ", v " + name_of(form.v) + ", out " + name_of(form.out);
  if (is_paged(form.storage)) text += ", pages of " + std::to_string(form.page_size);
  return text + (form.tokens_first ? ", tokens first" : "") + (form.bit_mask ? ", bit mask" : "");
}

const std::vector<Form>& forms() {
  static const std::vector<Form> all = [] {
    const heed_type pairs[][2] = {{HEED_F32, HEED_F32},           {HEED_F16, HEED_F16},          {HEED_BF16, HEED_BF16},
                                  {HEED_INT8, HEED_INT8},         {HEED_F16, HEED_INT8},         {HEED_INT8, HEED_F32},
                                  {HEED_FP8_E4M3, HEED_FP8_E5M2}, {HEED_FP8_E5M2, HEED_FP8_E4M3}};
    std::vector<Form> list;
    for (const auto& [k, v] : pairs) {
      for (const std::int64_t page : {-1, 0, 1, 3, 16}) {
        const bool odd = list.size() % 2 != 0;
        const heed_type wide = list.size() % 5 == 4 ? HEED_F16 : list.size() % 7 == 6 ? HEED_BF16 : HEED_F32;
        list.push_back({wide, k, v, wide,
                        page < 0    ? Storage::kDense
                        : page == 0 ? Storage::kRagged
                        : odd       ? Storage::kPageList
                                    : Storage::kPageTable,
                        page, list.size() % 3 == 1, odd, odd ? HEED_INT32 : HEED_INT64});
      }
    }
    return list;
  }();
  return all;
}

void TensorMemory::make(heed_type of, std::int64_t batches, std::int64_t heads, std::int64_t tokens, std::int64_t cols,
                        bool tokens_first) {
  type = of;
  columns = cols;
  const std::int64_t row = cols + 3;
  token = tokens_first ? heads * row : row;
  head = tokens_first ? row : tokens * row + 1;
  batch = heads * tokens * row + heads + 2;
  bytes.resize(size(batches * batch) * bytes_of(type));
  fill(float_of(0x7FA57FA5u));
}

unsigned char* TensorMemory::at(std::int64_t b, std::int64_t h, std::int64_t t) {
  return bytes.data() + size(b * batch + h * head + t * token) * bytes_of(type);
}

void TensorMemory::fill(float x) {
  const float nearest = x > 127.0f ? 127.0f : x > -128.0f ? std::nearbyint(x) : -128.0f;
  const Code code = type == HEED_INT8 ? static_cast<Code>(static_cast<int>(nearest)) : encoded(type, x);
  for (std::size_t i = 0; i < bytes.size(); i += bytes_of(type)) put(type, bytes.data() + i, code);
}

heed_tensor strides_of_lse(const heed_attention_args& args) {
  heed_tensor t{args.lse, args.lse_stride_batch, args.lse_stride_head, args.lse_stride_token, HEED_F32};
  if (t.stride_batch != 0 || t.stride_head != 0 || t.stride_token != 0) return t;
  const bool ragged = args.q_indptr.data != nullptr;
  return {args.lse, args.Hq * args.Lq, ragged ? 1 : args.Lq, ragged ? args.Hq : 1, HEED_F32};
}

Result result_of(const heed_attention_args& args) {
  Result result;
  const heed_tensor lse = strides_of_lse(args);
  const heed_tensor_out& out = args.out;
  for (std::int64_t b = 0; b < args.B; ++b) {
    const reference::Sequence sequence(args, b);
    const std::int64_t first = reference::index_or(args.q_indptr, b, 0), batch = args.q_indptr.data == nullptr ? b : 0;
    for (std::int64_t h = 0; h < args.Hq; ++h) {
      for (std::int64_t t = first; t < first + sequence.queries; ++t) {
        const std::int64_t at = batch * out.stride_batch + h * out.stride_head + t * out.stride_token;
        const auto* x =
            static_cast<const unsigned char*>(out.data) + at * static_cast<std::int64_t>(bytes_of(out.type));
        for (std::int64_t d = 0; d < args.Dv; ++d, x += bytes_of(out.type)) {
          result.out.push_back(decoded(out.type, code_at(out.type, x)));
        }
        if (args.lse == nullptr) continue;
        result.lse.push_back(args.lse[batch * lse.stride_batch + h * lse.stride_head + t * lse.stride_token]);
      }
    }
  }
  return result;
}

std::vector<float> rounded(heed_type type, std::vector<float> x) {
  for (float& value : x) value = decoded(type, encoded(type, value));
  return x;
}

std::vector<float> codes(Random& random, std::int64_t n) {
  std::vector<float> x;
  for (std::int64_t i = 0; i < n; ++i) x.push_back(static_cast<float>(random.between(-127, 127)) / 64.0f);
  return x;
}

void check_every_form(const ModelProblem& problem, const Change& change, const Look& look) {
  Call dense(problem, Layout::kHeadsFirst);
  if (change) change(dense.args);
  const std::vector<const Table*> rows = rows_under_test();
  std::vector<Result> whole;
  for (const Table* row : rows) {
    INFO("row " << row->name);
    const ForcedRow forced(*row);
    whole.push_back(dense.run());
    REQUIRE(whole.back().failure == "");
    look(whole.back());
  }

  std::deque<Way> ways;
  ways.emplace_back(dense.args);
  const std::int64_t Lq = dense.args.Lq;
  if (dense.args.Hq == 1 && Lq < 100) ways.emplace_back(dense.args, Way::Heads{12});
  for (std::int64_t i = 0; i < Lq && Lq > 1; i += Lq > 20 ? 97 : 1) ways.emplace_back(dense.args, Way::One{i});
  int tried = 0;
  const std::size_t step = Lq < 100 ? 1 : 4;  // of the forms, for large problems
  for (std::size_t f = 0; f < forms().size(); f += step) {
    const Form& form = forms()[f];
    for (const Way& way : ways) {
      FormedCall call(way.args, form);
      if (!call.possible() || (!call.same_bits() && form.out != HEED_F32)) break;
      ++tried;
      INFO(describe(form) << "; " << way.args.Hq << " heads, query rows " << way.first << " to "
                          << way.first + way.rows - 1);
      for (std::size_t n = 0; n < rows.size(); ++n) {
        INFO("row " << rows[n]->name);
        const ForcedRow forced(*rows[n]);
        const Result found = call.run(), expected = way.of(whole[n]);
        if (call.same_bits()) {
          REQUIRE(difference(found, rounded(form.out, expected.out), expected.lse) == "");
        } else {
          REQUIRE(found.failure == "");
          if (&way == &ways.front()) look(found);
        }
      }
    }
  }
  CHECK(tried >= static_cast<int>((step == 1 ? 5 : 2) * ways.size()));  // f32 in its layouts
}

}  // namespace heed::test

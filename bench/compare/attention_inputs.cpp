// Attention files: tensors q, k, v and the options in the metadata become an argument struct.
#include <algorithm>
#include <cstring>
#include <set>

#include "file_case.hpp"
#include "numbers.hpp"
#include "problem.hpp"

namespace heed::compare {
namespace {

using Shape = std::vector<std::int64_t>;

const Names kNames = {
    {"q",   "k",        "v",  "past_k", "past_v",  "mask",      "kv_len",    "alibi_slopes", "sinks",  "out",
     "lse", "lse_keys", "qk", "logits", "weights", "present_k", "present_v", "ref_out",      "ref_qk", "torch_out"},
    {"layout",
     "batch",
     "heads_q",
     "heads_kv",
     "len_q",
     "len_kv",
     "len_past",
     "len_total",
     "dim_qk",
     "dim_v",
     "scale",
     "softcap",
     "causal",
     "offset",
     "align",
     "mask",
     "window_left",
     "window_right",
     "alibi",
     "sink",
     "scale_is_default",
     "qk_mode",
     "prob_scale",
     "ref_error",
     "torch_differs",
     "softmax_precision",
     "atol_out",
     "atol_lse",
     "atol_qk",
     "atol_out_stored",
     "atol_out_p16",
     "atol_out_ftz",
     "rows_without_keys",
     "plain_f32_error_out",
     "plain_f32_error_lse"}};

// One of q, k, v in either layout: [B, H, L, D], or [B, L, H*D] with the heads packed in the last axis.
struct View {
  std::int64_t B, H, L, D;
  heed_tensor tensor;
};

View view_of(const Safetensors& file, const std::string& name, bool packed, std::int64_t heads,
             std::vector<std::byte>& storage) {
  const Tensor& t = tensor_of(file, name);
  storage = t.bytes;
  const heed_type type = name == "q" ? float_type_of(t, name) : type_of(t, name);
  if (t.shape.size() != (packed ? 3u : 4u))
    throw FileError("tensor '" + name + "': its layout has " + std::string(packed ? "3" : "4") + " axes");
  if (!packed) {
    const std::int64_t H = t.shape[1], L = t.shape[2], D = t.shape[3];
    return {t.shape[0], H, L, D, {storage.data(), H * L * D, L * D, D, type}};
  }
  const std::int64_t L = t.shape[1], width = t.shape[2];
  if (heads <= 0 || width % heads != 0)
    throw FileError("tensor '" + name + "': its last axis does not split into heads");
  return {t.shape[0], heads, L, width / heads, {storage.data(), L * width, width / heads, width, type}};
}

std::size_t bytes_of(heed_type type, std::int64_t n) { return static_cast<std::size_t>(n) * type_bytes(type); }

// Past and new tokens joined into one [B, H, P + L, D].
void join_past(const Safetensors& file, const std::string& name, View& view, std::vector<std::byte>& storage) {
  const Tensor* past = find_tensor(file, name);
  if (!past) return;
  if (past->shape.size() != 4) throw FileError("tensor '" + name + "': it has 4 axes in every layout");
  const std::int64_t P = past->shape[2];
  const heed_type type = view.tensor.type;
  tensor_of(file, name, {view.B, view.H, P, view.D});
  if (type_of(*past, name) != type) throw FileError("tensor '" + name + "': its type is not that of the new tokens");
  std::vector<std::byte> joined;
  joined.reserve(past->bytes.size() + storage.size());
  for (std::int64_t b = 0; b < view.B; ++b) {
    for (std::int64_t h = 0; h < view.H; ++h) {
      const auto old_rows =
          past->bytes.begin() + static_cast<std::ptrdiff_t>(bytes_of(type, (b * view.H + h) * P * view.D));
      joined.insert(joined.end(), old_rows, old_rows + static_cast<std::ptrdiff_t>(bytes_of(type, P * view.D)));
      for (std::int64_t t = 0; t < view.L; ++t) {
        const std::int64_t row =
            b * view.tensor.stride_batch + h * view.tensor.stride_head + t * view.tensor.stride_token;
        const auto new_row = storage.begin() + static_cast<std::ptrdiff_t>(bytes_of(type, row));
        joined.insert(joined.end(), new_row, new_row + static_cast<std::ptrdiff_t>(bytes_of(type, view.D)));
      }
    }
  }
  storage = std::move(joined);
  view.L += P;
  view.tensor = {storage.data(), view.H * view.L * view.D, view.L * view.D, view.D, type};
}

// Empty axes hide sizes that no file could hold; a product of small ones can be more than memory.
void check_sizes(const heed_attention_args& args) {
  constexpr std::int64_t kMostPairs = std::int64_t{1} << 25;  // 40 bytes each
  if (args.D < 1 || args.Dv < 1) throw FileError("a head without elements");
  const Shape axes = {args.B, args.Hq, args.Lq, std::max(args.Lkv, args.Dv)};
  std::int64_t product = 1;
  for (const std::int64_t axis : axes)
    if (__builtin_mul_overflow(product, std::max<std::int64_t>(axis, 1), &product) || product > kMostPairs)
      throw FileError("more than " + std::to_string(kMostPairs) + " pairs of queries and keys");
}

void read_tensors(const Safetensors& file, const Attributes& attributes, Problem& problem) {
  const std::string layout = attributes.text("layout", "bhld");
  if (layout != "bhld" && layout != "blhd") throw Unsupported("layout " + layout);
  const bool packed = layout == "blhd";
  const View q = view_of(file, "q", packed, attributes.integer("heads_q", 0), problem.q);
  View k = view_of(file, "k", packed, attributes.integer("heads_kv", 0), problem.k);
  View v = view_of(file, "v", packed, attributes.integer("heads_kv", 0), problem.v);
  attributes.check("len_kv", k.L);
  join_past(file, "past_k", k, problem.k);
  join_past(file, "past_v", v, problem.v);
  if (q.B != k.B || q.B != v.B || k.H != v.H || k.L != v.L || q.D != k.D)
    throw FileError("q, k and v do not fit together");
  if (k.H == 0 ? q.H != 0 : q.H % k.H != 0) throw FileError("heads of q are not a multiple of the heads of k");

  heed_attention_args& args = problem.args;
  args.struct_size = sizeof args;
  args.B = q.B, args.Hq = q.H, args.Hkv = k.H, args.Lq = q.L, args.Lkv = k.L, args.D = q.D, args.Dv = v.D;
  args.q = q.tensor, args.k = k.tensor, args.v = v.tensor;
  check_sizes(args);
  attributes.check("batch", args.B);
  attributes.check("heads_q", args.Hq);
  attributes.check("heads_kv", args.Hkv);
  attributes.check("len_q", args.Lq);
  attributes.check("len_total", args.Lkv);
  attributes.check("dim_qk", args.D);
  attributes.check("dim_v", args.Dv);
}

// Strides of [B, Hq, Lq, Lkv] for an array of rank 1 to 4 that is aligned to the right; axes of size 1 repeat. The rows
// keep their length here, see padded_rows.
struct MaskShape {
  std::int64_t rows, keys, batch, head, token;
};

MaskShape mask_shape(const Tensor& mask, const heed_attention_args& args) {
  if (mask.shape.empty() || mask.shape.size() > 4)
    throw FileError("tensor 'mask': rank " + std::to_string(mask.shape.size()));
  Shape shape(4 - mask.shape.size(), 1);
  shape.insert(shape.end(), mask.shape.begin(), mask.shape.end());
  const Shape full = {args.B, args.Hq, args.Lq};
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (shape[axis] != 1 && shape[axis] != full[axis]) throw FileError("tensor 'mask': its shape does not fit");
  if (shape[3] > args.Lkv) throw FileError("tensor 'mask': more keys than there are");
  const std::int64_t token = shape[2] == 1 ? 0 : args.Lkv;
  const std::int64_t head = shape[1] == 1 ? 0 : shape[2] * args.Lkv;
  const std::int64_t batch = shape[0] == 1 ? 0 : shape[1] * shape[2] * args.Lkv;
  return {shape[0] * shape[1] * shape[2], shape[3], batch, head, token};
}

// Rows of keys elements, filled up to Lkv: the last axis of a mask does not repeat, keys that it lacks are excluded.
std::vector<std::byte> padded_rows(const Tensor& mask, const MaskShape& shape, std::int64_t Lkv,
                                   const std::vector<std::byte>& excluded) {
  const auto row_bytes = static_cast<std::ptrdiff_t>(excluded.size()) * shape.keys;
  std::vector<std::byte> rows;
  for (std::int64_t r = 0; r < shape.rows; ++r) {
    const auto row = mask.bytes.begin() + r * row_bytes;
    rows.insert(rows.end(), row, row + row_bytes);
    for (std::int64_t j = shape.keys; j < Lkv; ++j) rows.insert(rows.end(), excluded.begin(), excluded.end());
  }
  return rows;
}

std::vector<std::byte> negative_infinity(heed_type type) {
  if (type == HEED_F16) return {std::byte{0x00}, std::byte{0xFC}};
  if (type == HEED_BF16) return {std::byte{0x80}, std::byte{0xFF}};
  return {std::byte{0x00}, std::byte{0x00}, std::byte{0x80}, std::byte{0xFF}};
}

void read_mask(const Safetensors& file, const Attributes& attributes, Problem& problem) {
  const Tensor* mask = find_tensor(file, "mask");
  const std::string kind = attributes.text("mask", !mask ? "none" : mask->dtype == "BOOL" ? "bool" : "additive");
  if (kind != "none" && kind != "bool" && kind != "additive") throw Unsupported("mask " + kind);
  if ((kind == "none") != !mask) throw FileError("attribute mask and tensor 'mask' contradict each other");
  if (!mask) return;
  heed_attention_args& args = problem.args;
  const MaskShape shape = mask_shape(*mask, args);
  if (kind == "bool") {
    if (mask->dtype != "BOOL") throw FileError("tensor 'mask': " + mask->dtype + " in a boolean mask");
    problem.mask = padded_rows(*mask, shape, args.Lkv, {std::byte{0}});
    args.mask_kind = HEED_BYTE_MASK;
    args.mask = problem.mask.data();
    args.mask_stride_batch = shape.batch, args.mask_stride_head = shape.head, args.mask_stride_token = shape.token;
  } else {
    const heed_type type = float_type_of(*mask, "mask");
    problem.bias = padded_rows(*mask, shape, args.Lkv, negative_infinity(type));
    args.bias = {problem.bias.data(), shape.batch, shape.head, shape.token, type};
  }
}

void read_alibi(const Safetensors& file, const Attributes& attributes, Problem& problem) {
  const Tensor* slopes = find_tensor(file, "alibi_slopes");
  const std::string kind = attributes.text("alibi", slopes ? "neg_abs_dist" : "none");
  if (kind != "none" && kind != "neg_abs_dist" && kind != "key_index") throw Unsupported("alibi " + kind);
  if ((kind == "none") != !slopes) throw FileError("attribute alibi and tensor 'alibi_slopes' contradict each other");
  if (!slopes) return;
  heed_attention_args& args = problem.args;
  problem.alibi_slopes = floats(tensor_of(file, "alibi_slopes", {args.Hq}), "alibi_slopes");
  if (kind == "neg_abs_dist") {
    args.alibi_slopes = problem.alibi_slopes.data();
    return;
  }
  // slope * j depends on the key alone: an additive bias, one row for each head.
  if (args.bias.data) throw Unsupported("alibi key_index together with an additive mask");
  problem.bias.resize(bytes_of(HEED_F32, args.Hq * args.Lkv));
  for (std::int64_t h = 0; h < args.Hq; ++h) {
    for (std::int64_t j = 0; j < args.Lkv; ++j) {
      const float bias = problem.alibi_slopes[static_cast<std::size_t>(h)] * static_cast<float>(j);
      std::memcpy(problem.bias.data() + bytes_of(HEED_F32, h * args.Lkv + j), &bias, sizeof bias);
    }
  }
  args.bias = {problem.bias.data(), 0, args.Lkv, 0, HEED_F32};
}

// offset says where query row 0 stands, for all sequences or for each; align how that came about. heed is told the
// alignment where one gives these numbers, else the numbers.
void read_positions(const Attributes& attributes, Problem& problem) {
  heed_attention_args& args = problem.args;
  args.causal = attributes.flag("causal");
  args.window_left = attributes.integer("window_left", -1);
  args.window_right = attributes.integer("window_right", -1);
  args.has_window = args.window_left != -1 || args.window_right != -1;
  if (!args.causal && !args.has_window && !args.alibi_slopes) return;  // positions have no meaning

  static const std::set<std::string> known = {"none", "top_left", "bottom_right", "past", "kv_len"};
  const std::string align = attributes.text("align", "none");
  if (!known.count(align)) throw Unsupported("align " + align);
  if (!attributes.has("offset")) {
    args.alignment = align == "top_left" ? HEED_TOP_LEFT : HEED_BOTTOM_RIGHT;
    return;
  }
  problem.offsets = attributes.integers("offset");
  if (problem.offsets.size() == 1) problem.offsets.resize(static_cast<std::size_t>(args.B), problem.offsets[0]);
  if (problem.offsets.size() != static_cast<std::size_t>(args.B))
    throw FileError("attribute offset: not one for each sequence");

  bool bottom_right = true, top_left = true;
  for (std::size_t b = 0; b < problem.offsets.size(); ++b) {
    const std::int64_t keys = problem.kv_lengths.empty() ? args.Lkv : problem.kv_lengths[b];
    bottom_right = bottom_right && problem.offsets[b] == keys - args.Lq;
    top_left = top_left && problem.offsets[b] == 0;
  }
  if (top_left && (align == "top_left" || !bottom_right)) {
    args.alignment = HEED_TOP_LEFT;
  } else if (bottom_right) {
    args.alignment = HEED_BOTTOM_RIGHT;
  } else {
    args.alignment = HEED_OFFSETS;
    args.offsets = problem.offsets.data();
  }
}

void read_options(const Safetensors& file, const Attributes& attributes, Problem& problem) {
  heed_attention_args& args = problem.args;
  if (attributes.number("prob_scale", 1) != 1) throw Unsupported("prob_scale");
  args.has_scale = attributes.has("scale") && !attributes.flag("scale_is_default");
  args.scale = args.has_scale ? static_cast<float>(attributes.number("scale", 0)) : 0;
  args.softcap = static_cast<float>(attributes.number("softcap", 0));
  if (find_tensor(file, "kv_len")) {
    problem.kv_lengths = integers(tensor_of(file, "kv_len", {args.B}), "kv_len");
    for (const std::int64_t length : problem.kv_lengths)
      if (length < 0 || length > args.Lkv) throw FileError("tensor 'kv_len': a length outside the keys");
    args.kv_lengths = {problem.kv_lengths.data(), HEED_INT64};
  }
  read_mask(file, attributes, problem);
  read_alibi(file, attributes, problem);
  read_positions(attributes, problem);
  const Tensor* sinks = find_tensor(file, "sinks");
  if (attributes.has("sink") && attributes.flag("sink") != (sinks != nullptr))
    throw FileError("attribute sink and tensor 'sinks' contradict each other");
  if (sinks) {
    problem.sinks = floats(tensor_of(file, "sinks", {args.Hq}), "sinks");
    args.sinks = problem.sinks.data();
  }
}

}  // namespace

std::shared_ptr<Problem> attention_problem(const Safetensors& file) {
  const Attributes attributes(file.metadata);
  refuse_other_names(file, kNames);
  auto problem = std::make_shared<Problem>();
  read_tensors(file, attributes, *problem);
  read_options(file, attributes, *problem);
  return problem;
}

}  // namespace heed::compare

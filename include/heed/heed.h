/* heed: exact attention on CPUs. The C interface.
 *
 * Everything here is plain C99: structs of numbers and pointers, functions without hidden state. The C++ interface
 * (heed.hpp) uses the same structs, so this file is also where each field is defined.
 *
 * Symbols, the same everywhere in heed: B batch, Hq query heads, Hkv key/value heads, Lq query tokens, Lkv key/value
 * tokens, D key head dimension, Dv value head dimension, s score, p weight, m row maximum, l row sum, lse log-sum-exp,
 * i query row, j key. Sizes and strides count elements; where bytes are meant the name says bytes.
 *
 * Every option's zero is its default: a struct that is all zero but for struct_size asks for full attention at the
 * default scale.
 */
#ifndef HEED_HEED_H
#define HEED_HEED_H

#include <stddef.h>
#include <stdint.h>

#define HEED_VERSION_MAJOR 0
#define HEED_VERSION_MINOR 1
#define HEED_VERSION_PATCH 0

#if defined(__GNUC__)
#define HEED_API __attribute__((visibility("default")))
#else
#define HEED_API
#endif

#ifdef __cplusplus
#define HEED_NOEXCEPT noexcept
extern "C" {
#else
#define HEED_NOEXCEPT
#endif

/* ---- Errors ---------------------------------------------------------------------------------------------------- */

typedef int32_t heed_code;
enum {
  HEED_OK = 0,
  HEED_INVALID_ARGUMENT = 1, /* the message names the argument and says why; nothing was written */
  HEED_UNSUPPORTED = 2,      /* a legal request that this version cannot serve yet; nothing was written */
  HEED_ISA_UNAVAILABLE = 3,  /* HEED_ISA or force_isa names a row that is unknown or that this processor cannot run */
  HEED_OUT_OF_MEMORY = 4     /* the allocator returned NULL; nothing was written */
};

typedef struct heed_status {
  heed_code code;
  char message[124]; /* empty when code is HEED_OK, else one line, NUL-terminated */
} heed_status;

/* ---- Versions and instruction sets ----------------------------------------------------------------------------- */

/* "major.minor.patch" of the library that runs, which may differ from the header's macros. */
HEED_API const char* heed_version(void) HEED_NOEXCEPT;

/* Number of the arithmetic: two libraries with the same number give the same bits for the same call. */
HEED_API int32_t heed_arithmetic(void) HEED_NOEXCEPT;

/* Name of the row of kernels in use: the best that this processor runs, unless HEED_ISA or heed_force_isa chose. */
HEED_API const char* heed_isa(void) HEED_NOEXCEPT;

/* Uses the named row from now on, in the whole process; NULL returns to the automatic choice. Not to be called while
 * other heed calls run. An unknown or unsupported name is remembered: every call with a status then fails with it, and
 * calls without one run the best row. */
HEED_API heed_code heed_force_isa(const char* name, heed_status* status) HEED_NOEXCEPT;

typedef struct heed_isa_info {
  const char* name;
  int32_t fma;       /* 1: fused multiply-add, so its results have the arithmetic's bits */
  int32_t supported; /* 1: this processor and operating system can run it */
  int32_t automatic; /* 1: may be chosen without being forced (rows for tests and measurements may not) */
} heed_isa_info;

/* How many rows this build holds, and one of them, best first. heed_isa_row returns 0 when index is out of range. */
HEED_API int32_t heed_isa_count(void) HEED_NOEXCEPT;
HEED_API int32_t heed_isa_row(int32_t index, heed_isa_info* info) HEED_NOEXCEPT;

/* ---- Data ------------------------------------------------------------------------------------------------------ */

typedef int32_t heed_type;
enum { HEED_F32 = 0, HEED_F16 = 1, HEED_BF16 = 2, HEED_INT8 = 3 };

/* A row-major matrix: element (r, c) is data[r * stride + c]. stride 0 means cols. */
typedef struct heed_matrix {
  const void* data;
  int64_t rows, cols, stride;
  heed_type type;
} heed_matrix;

typedef struct heed_matrix_out {
  void* data;
  int64_t rows, cols, stride;
  heed_type type;
} heed_matrix_out;

/* A tensor [batch][head][token][D] in any order of the first three axes; D is contiguous. Strides may be 0 (shared) and
 * negative. */
typedef struct heed_tensor {
  const void* data;
  int64_t stride_batch, stride_head, stride_token;
  heed_type type;
} heed_tensor;

typedef struct heed_tensor_out {
  void* data;
  int64_t stride_batch, stride_head, stride_token;
  heed_type type;
} heed_tensor_out;

/* ---- The kernels ----------------------------------------------------------------------------------------------- */

/* Dot product of two vectors of n floats: 16 partial sums (index mod 16), then a fixed tree. It differs from a score of
 * heed_scores in its last bits on purpose: one chain per score would be 15 times slower for a single pair.
 * n < 0, or a null pointer with n > 0: NaN. */
HEED_API float heed_dot(const float* a, const float* b, int64_t n) HEED_NOEXCEPT;

/* Softmax of one row of n floats: weights[j] = exp(x[j] - lse). Returns lse, the natural log-sum-exp, with the bits of
 * attention's lse. weights may be x (same bits), but not overlap it otherwise. A row without a score above -inf:
 * weights +0, lse -inf. NaN in x: all NaN. +inf in x and no NaN: weights NaN, lse +inf. n < 0, or a null pointer with n
 * > 0: NaN, and nothing is written. */
HEED_API float heed_softmax(const float* x, float* weights, int64_t n) HEED_NOEXCEPT;

/* Scores of R query rows against n row-major keys: s[r][j] = (scale * q[r]) . k[j]. q [R][D] and k [n][D] in f32, f16
 * or bf16, s [R][n] in f32. */
HEED_API heed_code heed_scores(const heed_matrix* q, const heed_matrix* k, float scale, const heed_matrix_out* s,
                               heed_status* status) HEED_NOEXCEPT;

/* Weighted sums: out[r] = accumulator[r] + sum over j of weights[r][j] * v[j]. weights [R][n] and out [R][Dv] in
 * f32, v [n][Dv] in f32, f16 or bf16; accumulator [R][Dv] in f32 may be null, or out itself. */
HEED_API heed_code heed_weighted_sum(const heed_matrix* weights, const heed_matrix* v, const heed_matrix* accumulator,
                                     const heed_matrix_out* out, heed_status* status) HEED_NOEXCEPT;

/* Softmax and weighted sum fused, no weights stored: out[r] = softmax(s[r]) . v, lse[r] (may be null). s [R][n],
 * v [n][Dv], out [R][Dv]. The same bits as heed_attention whose scores are s. */
HEED_API heed_code heed_attend(const heed_matrix* s, const heed_matrix* v, const heed_matrix_out* out, float* lse,
                               heed_status* status) HEED_NOEXCEPT;

/* to[r][c] = from[r][c], between f32, f16 and bf16, to nearest even; a NaN stays a NaN with its sign, overflow gives
 * infinity. The caller's flush-to-zero setting changes nothing but f32 results that are subnormal. */
HEED_API heed_code heed_convert(const heed_matrix* from, const heed_matrix_out* to, heed_status* status) HEED_NOEXCEPT;

/* int8 rows with a scale each, as the k and v of heed_attention take them: scales[r] = largest |x[r]| / 127,
 * codes[r][c] = x[r][c] / scales[r] to the nearest integer. x f32 [R][n]; codes [R][n] with codes_stride elements
 * between rows (0: n); scales [R]. A row whose scale would be subnormal becomes zeros with scale 0; NaN becomes 0. */
HEED_API heed_code heed_quantize_int8(const heed_matrix* x, int8_t* codes, int64_t codes_stride, float* scales,
                                      heed_status* status) HEED_NOEXCEPT;

/* The usual ALiBi slopes of `heads` heads. With n the largest power of two <= heads: head h < n has 2^(-8 (h + 1) / n),
 * the others 2^(-4 (2 (h - n) + 1) / n) (Press, Smith, Lewis: Train Short, Test Long, 2021, and its published code). */
HEED_API heed_code heed_alibi_slopes(int64_t heads, float* slopes, heed_status* status) HEED_NOEXCEPT;

/* ---- Attention ------------------------------------------------------------------------------------------------- */

/* Integers of either width. data NULL: absent. */
typedef int32_t heed_index_type;
enum { HEED_INT64 = 0, HEED_INT32 = 1 };
typedef struct heed_index {
  const void* data;
  heed_index_type type;
} heed_index;

/* Where query row i stands among the keys. */
typedef int32_t heed_alignment;
enum {
  HEED_BOTTOM_RIGHT = 0, /* i' = i + Lkv - Lq + key_offset: the last query stands at the last key */
  HEED_TOP_LEFT = 1,     /* i' = i */
  HEED_OFFSETS = 2       /* i' = i + offsets[b] */
};

/* Runs task(task_context, t) once for every t in [0, count), in any order and on any threads, and returns when all have
 * ended. parallel_for NULL: one after the other in the caller's thread. threads: how many run at a time (0 is 1). */
typedef struct heed_executor {
  void (*parallel_for)(void* context, int64_t count, void (*task)(void* task_context, int64_t t), void* task_context);
  void* context;
  int32_t threads;
} heed_executor;

/* Memory for the work in one call, aligned to 64 bytes. allocate NULL: malloc and free. */
typedef struct heed_allocator {
  void* (*allocate)(void* context, size_t bytes);
  void (*release)(void* context, void* memory, size_t bytes);
  void* context;
} heed_allocator;

typedef int32_t heed_mask_kind;
enum {
  HEED_NO_MASK = 0,
  HEED_BYTE_MASK = 1, /* one byte per key: 0 excludes, anything else attends */
  HEED_BIT_MASK = 2   /* one bit per key, least significant bit first; every stride of the mask is in bytes */
};

/* What the caller may see beside the output. */
typedef int32_t heed_inspect;
enum {
  HEED_SCORES_SCALED = 0, /* -inf where no key exists */
  HEED_SCORES_CAPPED = 1, /* likewise */
  HEED_SCORES_BIASED = 2, /* before the callback; -inf where excluded */
  HEED_WEIGHTS = 3        /* +0 where excluded */
};

/* What a mask callback says of a rectangle of the score matrix. After HEED_SOME it is asked again about parts of the
 * rectangle, down to single pairs, where HEED_SOME counts as HEED_ALL; where a mask is given too, HEED_SOME means that
 * the mask decides. */
typedef int32_t heed_rectangle;
enum { HEED_SOME = 0, HEED_ALL = 1, HEED_NONE = 2 };

typedef struct heed_attention_args {
  size_t struct_size; /* sizeof(heed_attention_args); the only field that must be set in C (0 is an error) */

  /* The problem. Hq must be a multiple of Hkv; kv head = query head / (Hq / Hkv). */
  int64_t B, Hq, Hkv, Lq, Lkv, D, Dv;
  heed_tensor q;       /* [B][Hq][Lq][D], f32, f16 or bf16 */
  heed_tensor k;       /* [B][Hkv][Lkv][D], any type */
  heed_tensor v;       /* [B][Hkv][Lkv][Dv], any type */
  heed_tensor_out out; /* [B][Hq][Lq][Dv], f32, f16 or bf16; may be q exactly when D = Dv, else overlaps no input */
  float* lse;          /* [B][Hq][Lq], natural logarithm, sink included; NULL: not wanted. Strides all 0: contiguous */
  int64_t lse_stride_batch, lse_stride_head, lse_stride_token;

  /* Scores: s = (scale * q) . k, then soft-cap, ALiBi, bias, callback, in this order, each one rounded operation. */
  float scale;
  int32_t has_scale;         /* 0: scale is 1/sqrt(D), whatever the field above holds */
  float softcap;             /* s = softcap * tanh(s / softcap); 0: off */
  const float* alibi_slopes; /* [Hq]: s = s - slope * |i' - position of the key|; NULL: off */
  heed_tensor bias; /* [B][Hq][Lq][Lkv], f32, f16 or bf16; strides of 0 broadcast; -inf excludes; data NULL: off */
  /* s = score_callback(context, query head, i', key position, s); called for attended keys only, from any thread that
   * the executor uses. NULL: off */
  float (*score_callback)(void* context, int64_t head, int64_t position, int64_t key, float score);
  void* score_context;

  /* Exclusion. A key that any of these excludes has no influence, whatever its bytes hold. */
  int32_t causal;     /* key position <= i' */
  int32_t has_window; /* i' - window_left <= key position <= i' + window_right, where -1 is unlimited; "a window of W
                         tokens" is window_left = W - 1, window_right = 0 */
  int64_t window_left, window_right;
  heed_alignment alignment;
  const int64_t* offsets; /* [B], with HEED_OFFSETS */
  heed_index kv_lengths;  /* [B]: how many slots of k and v hold keys; the others are never read. Absent: all */
  heed_index key_begin;   /* [B]: slots before it do not exist; positions and blocks count from it. Absent: 0 */
  heed_index key_offset;  /* [B]: position of the first key (a cache that has dropped old keys). Absent: 0 */
  heed_mask_kind mask_kind;
  const void* mask; /* [B][Hq][Lq][Lkv], a column per slot; strides of 0 broadcast */
  int64_t mask_stride_batch, mask_stride_head, mask_stride_token;
  /* Asked about query rows i_begin <= i' < i_end and key positions j_begin <= j < j_end of one query head. NULL: off */
  heed_rectangle (*mask_callback)(void* context, int64_t head, int64_t i_begin, int64_t i_end, int64_t j_begin,
                                  int64_t j_end);
  void* mask_context;

  /* Denominator: exp(sink) joins the row sum, nothing joins the sum of V. */
  const float* sinks; /* [Hq]; NULL: none */

  /* Storage: scales of int8 keys and values, f32, per token and head, with strides of their own (the element at D = 0).
   * The value is code * scale. A scale per channel needs no field: fold it into q (keys) or into the output (values).
   */
  heed_tensor k_scales, v_scales;

  /* Layout. Ragged: token t of sequence b is token indptr[b] + t of the tensor, stride_batch is not used, Lq and Lkv
   * are the longest sequence's; the default lse is then [token][Hq]. Paged: slot t of sequence b is slot t % page_size
   * of page table[b][t / page_size], stride_batch is the stride of a page; only the first ceil(length / page_size)
   * entries are read, and the keys of page -1 are excluded. The table is either block_table or page_indices with
   * page_indptr. */
  heed_index q_indptr, kv_indptr; /* [B + 1] */
  heed_index block_table;         /* [B][block_table_stride], page ids */
  int64_t block_table_stride;
  heed_index page_indices, page_indptr; /* the ids of all sequences one after the other, and [B + 1] */
  int64_t page_size, page_count;

  /* For inspection: the chosen view, f32 [B][Hq][Lq][Lkv], a column per slot. Costs a second computation of the scores.
   */
  heed_tensor_out inspect;
  heed_inspect inspect_what;

  heed_executor executor;
  heed_allocator allocator;
} heed_attention_args;

/* Exact attention for B sequences: softmax(scale * q . k^T + mask) . v. Uses at most 16 KiB of stack; problems that
 * need more take memory from args->allocator. */
HEED_API heed_code heed_attention(const heed_attention_args* args, heed_status* status) HEED_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#endif

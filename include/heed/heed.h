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
 * default scale. In the sources, examples/contract.md shows every option at work.
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
  HEED_OUT_OF_MEMORY = 4,    /* the allocator returned NULL; nothing was written */
  HEED_FULL = 5,             /* the cache has no page or no sequence left; nothing was changed */
  HEED_CANCELLED = 6         /* the executor returned before its tasks had done all the work: outputs are incomplete */
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

/* Uses the named row from now on, in the whole process; NULL or "" returns to the automatic choice. Not to be called
 * while other heed calls run. An unknown or unsupported name is remembered: every call with a status then fails with
 * it, and calls without one run the best row. */
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
enum {
  HEED_F32 = 0,
  HEED_F16 = 1,
  HEED_BF16 = 2,
  HEED_INT8 = 3,     /* keys and values, with scales */
  HEED_FP8_E4M3 = 4, /* keys and values. OCP's: no infinity, NaN 0x7F and 0xFF, largest number 448 */
  HEED_FP8_E5M2 = 5  /* keys and values. The upper byte of an f16: infinities, NaN, largest number 57344 */
};

/* A row-major matrix: element (r, c) is data[r * stride + c]. stride 0 means cols. Results keep their rows apart, and
 * overlap no input but where a call's comment allows it. */
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
 * negative and lie in any order; those of an output keep its rows apart. */
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

/* Dot product of two vectors of n floats: 64 partial sums (index mod 64), then a fixed tree. It differs from a score of
 * heed_scores, which is one chain, in its last bits on purpose: a single chain would wait for each multiply-add.
 * n < 0, or a null pointer with n > 0: NaN. */
HEED_API float heed_dot(const float* a, const float* b, int64_t n) HEED_NOEXCEPT;

/* Softmax of one row of n floats: weights[j] = exp(x[j] - lse). Returns lse, the natural log-sum-exp, with the bits of
 * attention's lse. weights may be x (same bits), but not overlap it otherwise. A row without a score above -inf:
 * weights +0, lse -inf. NaN in x: all NaN. +inf in x and no NaN: weights NaN, lse +inf. n < 0, or a null pointer with n
 * > 0: NaN, and nothing is written. */
HEED_API float heed_softmax(const float* x, float* weights, int64_t n) HEED_NOEXCEPT;

/* Scores of R query rows against n row-major keys: s[r][j] = (scale * q[r]) . k[j]. q [R][D] in f32, f16 or bf16,
 * k [n][D] in these or fp8, s [R][n] in f32. */
HEED_API heed_code heed_scores(const heed_matrix* q, const heed_matrix* k, float scale, const heed_matrix_out* s,
                               heed_status* status) HEED_NOEXCEPT;

/* Weighted sums: out[r] = accumulator[r] + sum over j of weights[r][j] * v[j]. weights [R][n] and out [R][Dv] in
 * f32, v [n][Dv] in f32, f16, bf16 or fp8, Dv at most 2^24; accumulator [R][Dv] in f32 may be null, or out itself. */
HEED_API heed_code heed_weighted_sum(const heed_matrix* weights, const heed_matrix* v, const heed_matrix* accumulator,
                                     const heed_matrix_out* out, heed_status* status) HEED_NOEXCEPT;

/* Softmax and weighted sum fused, no weights stored: out[r] = softmax(s[r]) . v, lse[r] (may be null). s [R][n],
 * v [n][Dv] in f32, f16, bf16 or fp8, Dv at most 2^24, out [R][Dv]. The same bits as heed_attention whose scores are s.
 */
HEED_API heed_code heed_attend(const heed_matrix* s, const heed_matrix* v, const heed_matrix_out* out, float* lse,
                               heed_status* status) HEED_NOEXCEPT;

/* to[r][c] = from[r][c], between f32, f16, bf16 and fp8, to nearest even; a NaN stays a NaN with its sign. What rounds
 * beyond the largest number becomes infinity or, in e4m3, which has none, NaN: from 65520 on in f16, from 61440 on in
 * e5m2, above 464 in e4m3. Nothing saturates: scale first where that may happen. The caller's flush-to-zero setting
 * changes nothing but f32 results that are subnormal. */
HEED_API heed_code heed_convert(const heed_matrix* from, const heed_matrix_out* to, heed_status* status) HEED_NOEXCEPT;

/* int8 rows with a scale each, as the k and v of heed_attention take them: scales[r] = largest |x[r]| / 127,
 * codes[r][c] = x[r][c] / scales[r] to the nearest integer. x f32 [R][n]; codes [R][n] with codes_stride elements
 * between rows (0: n); scales [R]. A row whose scale would be subnormal becomes zeros with scale 0; NaN becomes 0, and
 * infinity counts as the largest float, whose scale is one step smaller, so that 127 * scale is a number.
 *
 * What it costs: a finite number is off by at most r = scale / 2 (and 2^-15 of that for rounding; 2^-119 if the scale
 * is 0), whatever the data are. So a score, and with it lse, is off by at most E = |scale of attention| * sum_d |q_d| *
 * the largest r of the keys; each weight by a factor between e^(-2E) and e^(2E), where their sum stays 1; and an output
 * by at most (e^(2E) - 1) * sum_j w_j |v_j - out| + the largest r of the values. Of unit-normal data the errors are
 * many, independent and uniform in +-r, and mostly cancel: at D = 64 ... 128, scales are near 3/127, lse and out have
 * standard deviations of about 0.01 |w|, with |w| the root of the sum of the squared weights (1 for one key, near
 * sqrt(e / Lkv) for many), and a test holds both to 6 of them, 0.06 |w|, up to 1024 keys. */
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

/* Runs task(task_context, t) once for every t in [0, count), in any order and on any threads, and returns when all
 * have ended. parallel_for NULL: one after the other in the caller's thread. threads: how many run at a time (0 is
 * 1); more than 1 needs a parallel_for.
 *
 * Tasks share the work between them. So one that runs twice, late or with another t, or that is left out, changes
 * nothing as long as others run: each finds what is left. If all have ended and work is left, the call fails with
 * HEED_CANCELLED, which is also how to stop one: run no more tasks and return. Tasks may make heed calls of their own.
 * A call may use the executor twice, and its own thread beside it. What must not happen is that a task
 * runs, or still runs, when parallel_for has returned, or that it throws: exceptions don't pass through heed, here and
 * in every other callback. */
typedef struct heed_executor {
  void (*parallel_for)(void* context, int64_t count, void (*task)(void* task_context, int64_t t), void* task_context);
  void* context;
  int32_t threads;
} heed_executor;

/* Memory for the work in one call, aligned to 64 bytes, or the call is refused. allocate NULL: malloc and free. */
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
 * rectangle, down to single pairs, where HEED_SOME counts as HEED_ALL. A mask beside it excludes what it excludes all
 * the same, so HEED_ALL is the answer where only the mask is to decide. Any other number counts as HEED_NONE. */
typedef int32_t heed_rectangle;
enum { HEED_SOME = 0, HEED_ALL = 1, HEED_NONE = 2 };

/* The result of some of a row's keys, before the division: row maximum m, row sum l and unnormalised weighted sum o,
 * natural units, without the sink. m and l [B][Hq][Lq], o [B][Hq][Lq][Dv]. The three strides of either all 0:
 * contiguous. A state without any key is m = -inf, l = 0, o = 0. */
typedef struct heed_state {
  int64_t B, Hq, Lq, Dv;
  float *m, *l, *o;
  int64_t stride_batch, stride_head, stride_token;       /* of m and l */
  int64_t o_stride_batch, o_stride_head, o_stride_token; /* of o */
} heed_state;

/* Limits: D and Dv 2^24, elements of any tensor and distances within it 2^60, positions +-2^61, threads 4096. The sum
 * of p * v is made in f32 before it is divided by the row sum: values up to the largest float / Lkv never overflow. */
typedef struct heed_attention_args {
  size_t struct_size; /* sizeof(heed_attention_args); the only field that must be set in C (0 is an error). So many
                         bytes are read: those that this library doesn't know must be 0 */

  /* The problem. Hq must be a multiple of Hkv; kv head = query head / (Hq / Hkv). */
  int64_t B, Hq, Hkv, Lq, Lkv, D, Dv;
  heed_tensor q;       /* [B][Hq][Lq][D], f32, f16 or bf16 */
  heed_tensor k;       /* [B][Hkv][Lkv][D], any type */
  heed_tensor v;       /* [B][Hkv][Lkv][Dv], any type */
  heed_tensor_out out; /* [B][Hq][Lq][Dv], f32, f16 or bf16. May be q itself: the same type and strides, and D = Dv.
                          Else it overlaps no input */
  float* lse;          /* [B][Hq][Lq], natural logarithm, sink included; NULL: not wanted. Strides all 0: contiguous */
  int64_t lse_stride_batch, lse_stride_head, lse_stride_token;

  /* Scores: s = (scale * q) . k, then soft-cap, ALiBi, bias, callback, in this order, each one rounded operation. */
  float scale;               /* finite */
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
  heed_index kv_lengths;  /* [B]: how many slots of k and v hold keys, at most Lkv or, beside kv_indptr, the sequence's
                             own; the others are never read. Absent: all */
  heed_index key_begin;   /* [B], up to the length: slots before it do not exist; positions and blocks count from it.
                             Absent: 0 */
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
   * The value is code * scale. fp8 has none here. Other scales need no field, for any type of k and v, since they leave
   * the sums: one for the whole tensor joins `scale` (keys) or multiplies out (values); one per channel multiplies q's
   * channel beforehand (keys) or out's afterwards (values). int8 codes then still want their scale per token: a single
   * 1 with strides of 0. */
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

  /* For inspection: the chosen view, f32 [B][Hq][Lq][Lkv], a column per slot, also of a ragged batch, where rows that a
   * sequence doesn't have stay as they are. Over nothing else. Costs a second computation of the scores. */
  heed_tensor_out inspect;
  heed_inspect inspect_what;

  heed_executor executor;
  heed_allocator allocator;

  /* Which row of block_table (or page_indptr), kv_lengths, key_begin and key_offset sequence b has: the tables of a
   * cache hold more sequences than a call. Absent: row b. table_row_count: how many rows there are. Not with kv_indptr.
   */
  heed_index table_rows; /* [B] */
  int64_t table_row_count;

  /* 1: the pages of k and v hold panels of 16, as heed's cache writes them, whose loads need no rearranging. One kv
   * head's part of a page is [page_size / 16][D][16] (lane = slot) in k and [Dv rounded up to 16, / 16][page_size][16]
   * (lane = column) in v; page_size is a multiple of 16, key_begin too, stride_token is not used. */
  int32_t kv_panels;

  /* States (see below). start: what other keys gave so far; this call's keys join it. end: where the state goes instead
   * of out and lse, which are not used then; sinks and inspect are refused, since they belong to the end of all keys.
   * Either may be NULL; they may be the same. Of a ragged batch: B = 1, and Lq all its tokens. */
  const heed_state* start;
  const heed_state* end;
} heed_attention_args;

/* Exact attention for B sequences: softmax(scale * q . k^T + mask) . v. Uses at most 16 KiB of stack; problems that
 * need more take memory from args->allocator. */
HEED_API heed_code heed_attention(const heed_attention_args* args, heed_status* status) HEED_NOEXCEPT;

/* ---- States ---------------------------------------------------------------------------------------------------- */

/* Keys may be worked on in parts: in one after the other call, in other processes, on other machines. A part's call
 * gets its own keys, and `end`; key_offset (and alignment HEED_OFFSETS) say where they and the queries stand.
 *
 * The bits are those of one call over all keys if every part but the last has a multiple of 512 keys and the parts are
 * folded from the left: with `start`, any such parts; with heed_state_merge, parts of 512 keys each. Other cuts round
 * differently, by no more than a few units in the last place of the largest term. */

/* out = a and b as one, where the keys of a come before those of b. out may be a or b. m is NaN where l is, every NaN
 * is the canonical one, zeros are +0. An empty state changes nothing. */
HEED_API heed_code heed_state_merge(const heed_state* a, const heed_state* b, const heed_state* out,
                                    heed_status* status) HEED_NOEXCEPT;

/* out = o / l and lse = m + ln l, as heed_attention gives them. sinks [Hq] may be NULL. out [B][Hq][Lq][Dv] in f32, f16
 * or bf16. lse as the m of the state, with its strides; may be NULL. */
HEED_API heed_code heed_state_finish(const heed_state* state, const float* sinks, const heed_tensor_out* out,
                                     float* lse, heed_status* status) HEED_NOEXCEPT;

/* Results (out, lse) of other libraries as one: out = (e^(a.lse) a.out + e^(b.lse) b.out) / (e^(a.lse) + e^(b.lse)),
 * and the lse of both. Rounded twice more than a merge of states. [B][Hq][Lq][Dv] in f32, f16 or bf16, lse [B][Hq][Lq]
 * contiguous. A result without keys has lse -inf. out and lse may be those of a or of b. */
typedef struct heed_result {
  heed_tensor out;
  const float* lse;
} heed_result;
HEED_API heed_code heed_merge_lse(int64_t B, int64_t Hq, int64_t Lq, int64_t Dv, const heed_result* a,
                                  const heed_result* b, const heed_tensor_out* out, float* lse,
                                  heed_status* status) HEED_NOEXCEPT;

/* ---- Plans ----------------------------------------------------------------------------------------------------- */

/* A plan is made once for the largest problem of a kind, and run often, with other pointers, lengths and tables each
 * time. It holds what doesn't depend on them, the row of kernels included, takes no memory of its own, and may be
 * copied and used by any number of threads at a time, each with its own workspace. */
typedef struct heed_plan {
  uint64_t opaque[72];
} heed_plan;

/* Looks at B, Hq, Hkv, Lq, Lkv, D, Dv, the types of q, k, v and out, page_size (0: not paged), kv_panels and
 * executor.threads; nothing else of args is read. A run may have smaller B, Lq and Lkv, fewer threads, and any options;
 * the rest must be the same. */
HEED_API heed_code heed_plan_make(const heed_attention_args* args, heed_plan* plan, heed_status* status) HEED_NOEXCEPT;

/* Bytes of workspace that any run of the plan gets along with, aligned to 64 bytes. Its size grows with Lkv only where
 * long sequences are cut for several threads. */
HEED_API size_t heed_plan_workspace_bytes(const heed_plan* plan) HEED_NOEXCEPT;

/* What the plan chose and why, in lines of text. Writes at most `bytes` bytes, the last one 0; returns the bytes that
 * the whole text needs, with the 0. */
HEED_API size_t heed_plan_describe(const heed_plan* plan, char* text, size_t bytes) HEED_NOEXCEPT;

/* heed_attention in the caller's workspace: nothing is allocated. */
HEED_API heed_code heed_plan_run(const heed_plan* plan, const heed_attention_args* args, void* workspace,
                                 size_t workspace_bytes, heed_status* status) HEED_NOEXCEPT;

/* The same in pieces, for a thread pool of the caller's: begin, then every item of phase 0 once, then every item of
 * phase 1 once, in any order and on any threads within a phase. `worker` is a number below the plan's threads that no
 * other item uses at the same time. args->executor is not used. The run lies in the workspace, with a copy of args;
 * what args points to must outlive it. */
typedef struct heed_run heed_run;
enum { HEED_PHASES = 2 };
HEED_API heed_code heed_plan_begin(const heed_plan* plan, const heed_attention_args* args, void* workspace,
                                   size_t workspace_bytes, heed_run** run, heed_status* status) HEED_NOEXCEPT;
HEED_API int64_t heed_run_items(const heed_run* run, int32_t phase) HEED_NOEXCEPT;
/* HEED_INVALID_ARGUMENT, and nothing is done, if there is no such phase, item or worker. */
HEED_API heed_code heed_run_item(heed_run* run, int32_t phase, int64_t item, int32_t worker) HEED_NOEXCEPT;

/* ---- Cache ----------------------------------------------------------------------------------------------------- */

/* Keys and values of many sequences in pages of panels (kv_panels above), in one piece of the caller's memory. Appended
 * numbers are converted to the cache's types; int8 gets a scale per token and head. Attention over it has the bits of
 * attention over row-major tensors of the converted numbers. Calls that change a cache must not run at the same time as
 * other calls on it; attention only reads it.
 *
 * A sequence is a number below max_sequences. Forks share pages, which are counted and copied when one of them writes.
 */
typedef struct heed_cache heed_cache;
typedef struct heed_cache_config {
  size_t struct_size; /* sizeof(heed_cache_config) */
  int64_t Hkv, D, Dv;
  heed_type k_type, v_type;
  int64_t page_size;  /* tokens in a page, a multiple of 16; 0: 128, the fastest */
  int64_t page_count; /* of all sequences together, at most 2^31 - 1 */
  int64_t max_sequences;
  int64_t max_pages; /* of one sequence; 0: page_count */
} heed_cache_config;

/* Bytes of memory that a cache takes, aligned to 64 bytes; 0 if the configuration is wrong, and status says why. */
HEED_API size_t heed_cache_bytes(const heed_cache_config* config, heed_status* status) HEED_NOEXCEPT;

/* An empty cache in the caller's memory, which may be given back when the cache isn't used any more. */
HEED_API heed_code heed_cache_create(const heed_cache_config* config, void* memory, size_t bytes, heed_cache** cache,
                                     heed_status* status) HEED_NOEXCEPT;

/* A new, empty sequence. HEED_FULL if max_sequences are open. */
HEED_API heed_code heed_cache_open(heed_cache* cache, int64_t* sequence, heed_status* status) HEED_NOEXCEPT;
HEED_API heed_code heed_cache_close(heed_cache* cache, int64_t sequence, heed_status* status) HEED_NOEXCEPT;

/* Adds tokens at the end: k [Hkv][tokens][D], v [Hkv][tokens][Dv], f32, f16, bf16 or fp8; stride_batch is not
 * used.
 * HEED_FULL, and nothing is changed, if there are not enough pages. */
HEED_API heed_code heed_cache_append(heed_cache* cache, int64_t sequence, const heed_tensor* k, const heed_tensor* v,
                                     int64_t tokens, heed_status* status) HEED_NOEXCEPT;

/* A new sequence with the same tokens, in the same pages. Only a last page that isn't full will be copied, by the first
 * append to either. */
HEED_API heed_code heed_cache_fork(heed_cache* cache, int64_t sequence, int64_t* fork,
                                   heed_status* status) HEED_NOEXCEPT;

/* Keeps the first `length` of the tokens that the sequence holds. */
HEED_API heed_code heed_cache_truncate(heed_cache* cache, int64_t sequence, int64_t length,
                                       heed_status* status) HEED_NOEXCEPT;

/* Gives back the pages of which every slot holds one of the first `tokens` tokens: whole pages, so that up to
 * page_size - 1 of these tokens stay. Positions stay as they were (key_offset), but blocks count from the first token
 * that is left. */
HEED_API heed_code heed_cache_drop(heed_cache* cache, int64_t sequence, int64_t tokens,
                                   heed_status* status) HEED_NOEXCEPT;

/* Tokens that a sequence holds, and the position of the first one (how many were dropped); -1: not open. */
HEED_API int64_t heed_cache_length(const heed_cache* cache, int64_t sequence) HEED_NOEXCEPT;
HEED_API int64_t heed_cache_position(const heed_cache* cache, int64_t sequence) HEED_NOEXCEPT;
HEED_API int64_t heed_cache_free_pages(const heed_cache* cache) HEED_NOEXCEPT;

/* Fills in what args says of keys and values, for a batch of these sequences: B, Hkv, Lkv (the longest), D, Dv, k, v,
 * k_scales, v_scales, kv_lengths, key_offset, block_table and its stride, page_size, page_count, table_rows and their
 * count, kv_panels; key_begin and other layouts of keys are cleared. It points to `sequences` and into the cache, and
 * holds until either changes: bind again after an append. */
HEED_API heed_code heed_cache_bind(const heed_cache* cache, const int64_t* sequences, int64_t B,
                                   heed_attention_args* args, heed_status* status) HEED_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#endif

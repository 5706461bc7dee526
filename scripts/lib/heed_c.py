"""heed's C interface (include/heed/heed.h) for Python: ctypes mirrors of its structs, NumPy arrays in and out."""
import ctypes
from ctypes import POINTER, byref, c_char, c_char_p, c_float, c_int32, c_int64, c_size_t, c_void_p

import numpy as np


def struct(name, *fields):
    return type(name, (ctypes.Structure,), {'_fields_': [(field, kind) for kind, names in fields
                                                         for field in names.split()]})


Status = struct('Status', (c_int32, 'code'), (c_char * 124, 'message'))
IsaInfo = struct('IsaInfo', (c_char_p, 'raw_name'), (c_int32, 'fma supported automatic'))
IsaInfo.name = property(lambda self: self.raw_name.decode())
Matrix = struct('Matrix', (c_void_p, 'data'), (c_int64, 'rows cols stride'), (c_int32, 'type'))
Tensor = struct('Tensor', (c_void_p, 'data'), (c_int64, 'stride_batch stride_head stride_token'), (c_int32, 'type'))
Index = struct('Index', (c_void_p, 'data'), (c_int32, 'type'))
Executor = struct('Executor', (c_void_p, 'parallel_for context'), (c_int32, 'threads'))
Allocator = struct('Allocator', (c_void_p, 'allocate release context'))
# Up to the fields of later versions, which are at their defaults then.
AttentionArgs = struct(
    'AttentionArgs',
    (c_size_t, 'struct_size'),
    (c_int64, 'B Hq Hkv Lq Lkv D Dv'),
    (Tensor, 'q k v out'),
    (c_void_p, 'lse'),
    (c_int64, 'lse_stride_batch lse_stride_head lse_stride_token'),
    (c_float, 'scale'),
    (c_int32, 'has_scale'),
    (c_float, 'softcap'),
    (c_void_p, 'alibi_slopes'),
    (Tensor, 'bias'),
    (c_void_p, 'score_callback score_context'),
    (c_int32, 'causal has_window'),
    (c_int64, 'window_left window_right'),
    (c_int32, 'alignment'),
    (c_void_p, 'offsets'),
    (Index, 'kv_lengths key_begin key_offset'),
    (c_int32, 'mask_kind'),
    (c_void_p, 'mask'),
    (c_int64, 'mask_stride_batch mask_stride_head mask_stride_token'),
    (c_void_p, 'mask_callback mask_context sinks'),
    (Tensor, 'k_scales v_scales'),
    (Index, 'q_indptr kv_indptr block_table'),
    (c_int64, 'block_table_stride'),
    (Index, 'page_indices page_indptr'),
    (c_int64, 'page_size page_count'),
    (Tensor, 'inspect'),
    (c_int32, 'inspect_what'),
    (Executor, 'executor'),
    (Allocator, 'allocator'),
)


def find_library(root):
    """The shared library that was built last in one of the folders of build/, or None."""
    built = [path for suffix in ('so', 'dylib') for path in root.glob(f'build*/**/libheed.{suffix}')]
    return max(built, key=lambda path: path.stat().st_mtime, default=None)


def matrix(a):
    if not (a.dtype == np.float32 and a.flags.c_contiguous):
        raise TypeError('an array that heed cannot take')
    return byref(Matrix(a.ctypes.data, *a.shape, 0, 0))


def tensor(a):
    """A view [batch][head][token][D] with any strides but the last."""
    if not (a.dtype == np.float32 and (a.shape[3] <= 1 or a.strides[3] == 4)):
        raise TypeError('an array that heed cannot take')
    return Tensor(a.ctypes.data, *(stride // 4 for stride in a.strides[:3]), 0)


class Heed:
    """The library's calls. Errors become RuntimeError with heed's own message."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        self.library.heed_version.restype = c_char_p
        self.library.heed_dot.restype = self.library.heed_softmax.restype = c_float

    def call(self, name, *arguments):
        status = Status()
        if getattr(self.library, name)(*arguments, byref(status)) != 0:
            raise RuntimeError(f'{name}: {status.message.decode()}')

    def version(self):
        return self.library.heed_version().decode()

    def arithmetic(self):
        return self.library.heed_arithmetic()

    def rows(self):
        rows = [IsaInfo() for _ in range(self.library.heed_isa_count())]
        for index, row in enumerate(rows):
            if not self.library.heed_isa_row(index, byref(row)):
                raise RuntimeError(f'heed_isa_row: there is no row {index}')
        return rows

    def force_isa(self, name):
        self.call('heed_force_isa', name.encode())

    def dot(self, a, b):
        return np.float32(self.library.heed_dot(c_void_p(a.ctypes.data), c_void_p(b.ctypes.data), c_int64(a.size)))

    def softmax(self, x):
        weights = np.empty_like(x)
        lse = self.library.heed_softmax(c_void_p(x.ctypes.data), c_void_p(weights.ctypes.data), c_int64(x.size))
        return weights, np.float32(lse)

    def scores(self, q, k, scale):
        s = np.empty((q.shape[0], k.shape[0]), np.float32)
        self.call('heed_scores', matrix(q), matrix(k), c_float(scale), matrix(s))
        return s

    def weighted_sum(self, weights, v, accumulator=None):
        out = np.empty((weights.shape[0], v.shape[1]), np.float32)
        start = None if accumulator is None else matrix(accumulator)
        self.call('heed_weighted_sum', matrix(weights), matrix(v), start, matrix(out))
        return out

    def attend(self, s, v):
        out, lse = np.empty((s.shape[0], v.shape[1]), np.float32), np.empty(s.shape[0], np.float32)
        self.call('heed_attend', matrix(s), matrix(v), matrix(out), c_void_p(lse.ctypes.data))
        return out, lse

    def attention(self, q, k, v, scale=None, causal=False):
        """q [B][Hq][Lq][D], k [B][Hkv][Lkv][D], v [B][Hkv][Lkv][Dv]; scale None: 1/sqrt(D)."""
        B, Hq, Lq, D = q.shape
        Hkv, Lkv, Dv = v.shape[1:]
        out, lse = np.empty((B, Hq, Lq, Dv), np.float32), np.empty((B, Hq, Lq), np.float32)
        args = AttentionArgs(struct_size=ctypes.sizeof(AttentionArgs), B=B, Hq=Hq, Hkv=Hkv, Lq=Lq, Lkv=Lkv, D=D, Dv=Dv,
                             q=tensor(q), k=tensor(k), v=tensor(v), out=tensor(out), lse=lse.ctypes.data,
                             causal=int(causal))
        if scale is not None:
            args.scale, args.has_scale = scale, 1
        self.call('heed_attention', byref(args))
        return out, lse

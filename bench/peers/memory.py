"""Memory that all peers share: operands at the same addresses for every one of them, whatever it takes them for.

For each storage type there is one arena of fixed numbers, larger than the last-level cache. A point's operand sets lie in
it one after the other. The same bytes are rows to one peer, panels or columns to another: each is held against what its
own reading of them must give, and none needs a copy.
"""

import ctypes
import mmap

import numpy as np

HUGE = 2 << 20
PAGE = 4096
PANEL, PAGE_TOKENS = 16, 128  # of heed's cache
BLOCK, BLOCK_BYTES = 32, 34  # of ggml's q8_0
NUMBERS = 4_000_037  # random numbers, repeated: a prime, so that no stride of a problem meets the period


class Arena:
    """Anonymous memory for which huge pages were asked."""

    def __init__(self, bytes):
        self.map = mmap.mmap(-1, bytes + HUGE)
        self.map.madvise(mmap.MADV_HUGEPAGE)
        whole = np.frombuffer(self.map, np.uint8)
        start = -whole.ctypes.data % HUGE
        self.bytes = whole[start:start + bytes]
        self.address = self.bytes.ctypes.data

    def repeat(self, pattern):
        pattern = pattern.view(np.uint8)
        for at in range(0, self.bytes.size, pattern.size):
            part = self.bytes[at:at + pattern.size]
            part[:] = pattern[:part.size]
        return self


class Sets:
    """Where the operands of a point lie: lists of arrays of bytes, one an operand set."""

    def __init__(self, k, v, k_scales, v_scales):
        self.k, self.v, self.k_scales, self.v_scales = k, v, k_scales, v_scales

    def __len__(self):
        return len(self.k)


def to_bf16(numbers):
    bits = numbers.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(codes):
    return (codes.astype(np.uint32) << 16).view(np.float32)


def narrow(numbers, type):
    return numbers if type == "f32" else numbers.astype(np.float16) if type == "f16" else to_bf16(numbers)


def widen(numbers, type):
    return from_bf16(numbers) if type == "bf16" else numbers.astype(np.float32)


DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": np.uint16, "int8": np.int8}


class Memory:
    def __init__(self, llc_bytes, available_bytes):
        # As heed's own suite: twice the last-level cache, at most 640 MiB or a quarter of the free memory.
        self.stream_bytes = min(2 * llc_bytes, 640 << 20, available_bytes // 4)
        self.numbers = np.random.default_rng(1).standard_normal(NUMBERS, np.float32)
        self.arenas = {}

    def _fill(self, storage):
        if storage == "int8":
            return np.clip(np.rint(self.numbers * 40), -127, 127).astype(np.int8)
        if storage == "scales":
            return np.abs(self.numbers) * np.float32(0.005) + np.float32(0.02)
        if storage == "q8_0":
            blocks = np.empty((NUMBERS // BLOCK, BLOCK_BYTES), np.uint8)
            scales = np.abs(self.numbers[:len(blocks)]) * 0.005 + 0.02
            blocks[:, :2] = scales.astype(np.float16)[:, None].view(np.uint8)
            codes = np.clip(np.rint(self.numbers * 40), -127, 127).astype(np.int8)
            blocks[:, 2:] = codes[:blocks.shape[0] * BLOCK].reshape(-1, BLOCK).view(np.uint8)
            return blocks.reshape(-1)
        return narrow(self.numbers, storage)

    def arena(self, storage, least):
        """The arena of a storage type, of at least so many bytes."""
        have = self.arenas.get(storage)
        if have is None or have.bytes.size < least:
            self.arenas.pop(storage, None)
            size = max(least, self.stream_bytes if storage not in ("scales", "out") else 0)
            self.arenas[storage] = have = Arena(-(-size // HUGE) * HUGE)
            if storage != "out":
                have.repeat(self._fill(storage))
        return have

    def sets(self, point, blocks=False):
        """The operand sets of a point: one if it is hot, else as many as the arena holds."""
        storage = "q8_0" if blocks and point.type == "int8" else point.type
        numbers = point.batch * point.Hkv * point.Lkv * point.D
        if point.family == "dot":
            numbers = point.D
        elif point.family == "softmax":
            numbers = point.Lq * point.Lkv
        bytes = numbers // BLOCK * BLOCK_BYTES if storage == "q8_0" else numbers * DTYPES[point.type]().itemsize
        room = _round(bytes, HUGE if bytes >= HUGE // 2 else PAGE)
        if storage == "q8_0":  # whole blocks, or their scales would be codes
            room = _round(bytes, PAGE * BLOCK_BYTES // 2)
        operands = 1 if point.kernel else 2
        arena = self.arena(storage, operands * room)
        count = max(1, arena.bytes.size // (operands * room)) if point.streams else 1

        def place(arena, index, bytes, room):
            return arena.bytes[index * room:index * room + bytes]

        k = [place(arena, operands * i, bytes, room) for i in range(count)]
        v = [place(arena, operands * i + operands - 1, bytes, room) for i in range(count)]
        if storage != "int8":
            return Sets(k, v, None, None)
        tokens = 4 * point.batch * point.Hkv * point.Lkv
        room = _round(tokens, PAGE)
        scales = self.arena("scales", 2 * count * room)
        return Sets(k, v, [place(scales, 2 * i, tokens, room) for i in range(count)],
                    [place(scales, 2 * i + 1, tokens, room) for i in range(count)])

    def query(self, point):
        """q of attention, the other operand of a kernel: numbers that no key has beside it."""
        count = {"dot": point.D, "scores": point.D, "weighted_sum": point.Lkv, "softmax": 1}.get(
            point.family, point.batch * point.Hq * point.Lq * point.D)
        return np.resize(np.roll(self.numbers, -1_234_567), count)

    def outs(self, point, count):
        """Where results go, all zero: one place, but as many as operand sets where a softmax streams."""
        numbers = {"dot": 1, "scores": point.Lkv, "weighted_sum": point.D, "softmax": point.Lq * point.Lkv}.get(
            point.family, point.batch * point.Hq * point.Lq * point.D)
        room = _round(4 * numbers, PAGE)
        places = count if point.family == "softmax" else 1
        arena = self.arena("out", places * room)
        first = arena.bytes[:4 * numbers]
        first[:] = 0
        return [arena.bytes[i % places * room:i % places * room + 4 * numbers] for i in range(count)]


def _round(n, step):
    return -(-n // step) * step


def rows_of(bytes, scales, storage, layout, point, b, head):
    """What one kv head of sequence b holds by a peer's reading of the bytes: doubles [lengths[b]][D]."""
    B, H, L, D = point.batch, point.Hkv, point.Lkv, point.D
    if storage == "q8_0":
        blocks = bytes.reshape(B, H, L, D // BLOCK, BLOCK_BYTES)[b, head, :point.lengths[b]]
        return (blocks[..., 2:].view(np.int8) * blocks[..., :2].copy().view(np.float16).astype(float)).reshape(-1, D)
    numbers = bytes.view(DTYPES[storage])
    if layout == "rows":
        found = numbers.reshape(B, H, L, D)[b, head]
    elif layout == "tokens":
        found = numbers.reshape(B, L, H, D)[b, :, head]
    elif layout == "columns":
        found = numbers.reshape(B, H, D, L)[b, head].T
    elif layout == "key panels":
        pages = numbers.reshape(B, L // PAGE_TOKENS, H, PAGE_TOKENS // PANEL, D, PANEL)[b, :, head]
        found = pages.transpose(0, 1, 3, 2).reshape(L, D)
    else:
        pages = numbers.reshape(B, L // PAGE_TOKENS, H, D // PANEL, PAGE_TOKENS, PANEL)[b, :, head]
        found = pages.transpose(0, 2, 1, 3).reshape(L, D)
    found = (from_bf16(found) if storage == "bf16" else found).astype(float)
    if scales is not None:
        factors = scales.view(np.float32)
        factors = factors.reshape(B, L // PAGE_TOKENS, H, PAGE_TOKENS)[b, :, head].reshape(L) if "panels" in layout \
            else factors.reshape(B, H, L)[b, head]
        found = found * factors[:, None]
    return found[:point.lengths[b]]


def available_bytes():
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable:"))

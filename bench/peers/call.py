"""What a peer makes of a point: operands in memory that all share, and a way to time calls on them."""

import time

import numpy as np

import memory


class Unsupported(Exception):
    """What a peer doesn't do; no failure."""


class Call:
    """A peer's calls at one point. `sets` are the operand sets, `out` the places of the results."""

    def __init__(self, shared, point, blocks=False, k_layout="rows", v_layout="rows", out_layout="rows", narrow=False):
        self.point = point
        self.sets = shared.sets(point, blocks)
        self.storage = "q8_0" if blocks and point.type == "int8" else point.type
        self.k_layout, self.v_layout, self.out_layout = k_layout, v_layout, out_layout
        self.query = shared.query(point)
        self.io_type = point.type if narrow and point.type != "int8" else "f32"
        self.narrow_query = memory.narrow(self.query, self.io_type)
        self.out = shared.outs(point, len(self.sets))

    def operands(self):
        scales = self.sets.k_scales, self.sets.v_scales
        first = [each[0] if each else None for each in scales]
        return (self.sets.k[0], first[0], self.k_layout), (self.sets.v[0], first[1], self.v_layout)

    def raw_result(self):
        """Numbers of operand set 0, where the peer wrote them."""
        count = self.out[0].size // 4
        return self.out[0].view(memory.DTYPES[self.io_type])[:count]

    def result(self):
        """[batch][Hq][Lq][D], or a kernel's flat numbers."""
        numbers = memory.widen(self.raw_result(), self.io_type)
        p = self.point
        if p.kernel:
            return numbers
        if self.out_layout == "tokens":
            return numbers.reshape(p.batch, p.Lq, p.Hq, p.D).transpose(0, 2, 1, 3)
        return numbers.reshape(p.batch, p.Hq, p.Lq, p.D)

    def time(self, first, calls):
        """Seconds that so many calls take, on the operand sets from `first` on in turn."""
        raise NotImplementedError

    def close(self):
        pass


class PythonCall(Call):
    """Of a library that is called from Python: self.calls holds a function without arguments for each operand set."""

    def time(self, first, calls):
        count = len(self.calls)
        turn = [self.calls[(first + i) % count] for i in range(calls)]
        start = time.perf_counter()
        for call in turn:
            call()
        return time.perf_counter() - start

    def close(self):
        self.calls = None


def address(array):
    return array.ctypes.data


def as_numbers(array, type, *shape):
    return array.view(memory.DTYPES[type])[:int(np.prod(shape))].reshape(shape)

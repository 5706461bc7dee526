"""Peers behind shims/: shared objects with the C functions of shims/peer.cpp."""

import ctypes
from ctypes import POINTER, c_char_p, c_double, c_int, c_int32, c_void_p

from call import Call, Unsupported, address

KINDS = {"dot": 1, "softmax": 2, "scores": 3, "weighted_sum": 4}
TYPES = {"f32": 0, "f16": 1, "bf16": 2, "int8": 3}
LAYOUTS = ("rows", "columns", "panels", "tokens")


class Entry(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("k", c_int32), ("v", c_int32), ("out", c_int32), ("blocks", c_int32),
                ("narrow", c_int32), ("make", c_void_p)]


class Problem(ctypes.Structure):
    _fields_ = [(name, c_int32) for name in "kind type batch Hq Hkv Lq Lkv D causal threads planned sets".split()] + \
               [(name, c_void_p) for name in "lengths q out k v k_scales v_scales".split()]


class Peer:
    def __init__(self, library, entry):
        self.library, self.entry, self.name = library, entry, entry.name.decode()

    def make(self, shared, point, threads):
        return NativeCall(self, shared, point, threads)


class NativeCall(Call):
    def __init__(self, peer, shared, point, threads):
        entry = peer.entry
        layouts = [LAYOUTS[which] for which in (entry.k, entry.v, entry.out)]
        if layouts[0] == "panels":
            layouts[:2] = "key panels", "value panels"
        super().__init__(shared, point, entry.blocks, *layouts, entry.narrow)
        self.functions, count = peer.library, len(self.sets)

        def addresses(arrays):
            return ctypes.cast((c_void_p * count)(*map(address, arrays)), c_void_p) if arrays else None
        self.problem = Problem(
            KINDS.get(point.family, 0), TYPES[point.type], point.batch, point.Hq, point.Hkv, point.Lq, point.Lkv, point.D,
            point.causal, threads, point.family != "call", count,
            ctypes.cast((c_int32 * point.batch)(*point.lengths), c_void_p), address(self.narrow_query),
            addresses(self.out), addresses(self.sets.k), addresses(self.sets.v), addresses(self.sets.k_scales),
            addresses(self.sets.v_scales))
        unsupported = c_int()
        self.peer = self.functions.peer_make(ctypes.byref(entry), ctypes.byref(self.problem), ctypes.byref(unsupported))
        if not self.peer:
            raise (Unsupported if unsupported.value else RuntimeError)(self.error())

    def error(self):
        return self.functions.peer_error().decode()

    def time(self, first, calls):
        seconds = self.functions.peer_time(self.peer, first, calls, len(self.sets))
        if self.error():
            raise RuntimeError(self.error())
        return seconds

    def close(self):
        self.functions.peer_free(self.peer)


def load(path):
    """The peers of one shared object."""
    library = ctypes.CDLL(str(path))
    library.peer_entries.restype = POINTER(Entry)
    library.peer_error.restype = c_char_p
    library.peer_make.restype, library.peer_make.argtypes = c_void_p, (c_void_p, c_void_p, c_void_p)
    library.peer_time.restype, library.peer_time.argtypes = c_double, (c_void_p, c_int, c_int, c_int)
    library.peer_free.argtypes = (c_void_p,)
    entries, peers = library.peer_entries(), []
    while entries[len(peers)].name:
        peers.append(Peer(library, entries[len(peers)]))
    return peers

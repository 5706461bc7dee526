"""The roofs of this processor, by the probes of heed's own suite (bench/roofs.cpp)."""

import ctypes
from ctypes import c_char_p, c_double, c_int, c_void_p

LEVELS = ("L1", "L2", "L3", "DRAM")


class Roofs:
    def __init__(self, path, row, threads):
        self.library = ctypes.CDLL(str(path))
        self.library.heed_roofs_make.restype, self.library.heed_roofs_make.argtypes = c_void_p, (c_char_p, c_int)
        for name in ("peak", "tile", "clock"):
            function = getattr(self.library, f"heed_roofs_{name}")
            function.restype, function.argtypes = c_double, (c_void_p,)
        self.library.heed_roofs_bandwidth.restype = c_double
        self.library.heed_roofs_bandwidth.argtypes = (c_void_p, c_int)
        self.library.heed_roofs_choose.argtypes = (c_void_p, c_int)
        self.library.heed_roofs_cache_bytes.restype = c_double
        self.roofs = self.library.heed_roofs_make(row.encode(), threads)
        if not self.roofs:
            raise RuntimeError(f"no probes for row {row}")
        self.caches = [int(self.library.heed_roofs_cache_bytes(i)) for i in range(3)]

    def peak(self):
        return self.library.heed_roofs_peak(self.roofs)

    def tile(self):
        return self.library.heed_roofs_tile(self.roofs)

    def clock(self):
        return self.library.heed_roofs_clock(self.roofs)

    def bandwidth(self, level):
        return self.library.heed_roofs_bandwidth(self.roofs, LEVELS.index(level))

    def choose(self, level):
        """Looks for the fastest probe of a level anew."""
        self.library.heed_roofs_choose(self.roofs, LEVELS.index(level))

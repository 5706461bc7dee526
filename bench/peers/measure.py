#!/usr/bin/env python3
"""Measures heed and its peers in this one process, and prints JSON, an object a line: a context, then points.

Runs where the peers are installed; run.py starts it, once per number of threads.
"""

import argparse
import json
import os
import platform
import sys
import time
from pathlib import Path

import points
import verdict


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--filter")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--heed-build", type=Path, required=True)
    parser.add_argument("--shims", type=Path, required=True)
    return parser.parse_args()


def emit(kind, **fields):
    print(json.dumps({"kind": kind, **fields}), flush=True)


def choose_processors(threads):
    """The last ones that this process may use: the first one serves interrupts."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < threads:
        sys.exit(f"peers: {threads} threads want as many processors, and this process may use {len(allowed)}")
    os.sched_setaffinity(0, allowed[-threads:])


def load_silently(load):
    """Libraries that two peers have in common say so on standard error, once per operator."""
    sys.stderr.flush()
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        return load()
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


def load_peers(arguments):
    """All peers that can be had, heed first; what is missing is said by name."""
    import native

    def native_peers(name):
        return lambda: native.load(arguments.shims / f"lib{name}.so")

    def python_peers(module):
        return lambda: __import__(module).peers(arguments.threads)
    sources = {"heed": native_peers("heed"), "PyTorch": python_peers("torch_peers"),
               "ONNX Runtime": python_peers("onnx_peers"), "ggml": native_peers("ggml"),
               "ggml -O3": native_peers("ggml_O3"), "oneDNN": native_peers("onednn"),
               "OpenBLAS and SLEEF": native_peers("openblas"), "Eigen": native_peers("eigen"),
               "SimSIMD": native_peers("simsimd")}
    peers, missing = [], {}
    for name, load in sources.items():
        try:
            peers += load_silently(load)
        except Exception as error:
            if name == "heed":
                raise
            missing[name] = str(error).splitlines()[0][:200]
    return peers, missing


class Bench:
    def __init__(self, peers, shared, roofs, sampler, threads):
        self.peers, self.shared, self.roofs, self.sampler, self.threads = peers, shared, roofs, sampler, threads

    def prepare(self, point):
        """Series of the peers whose results are right, and what is to be said of the others."""
        import expected
        import sampling
        from call import Unsupported
        series, others = {}, {}
        for peer in self.peers:
            call = None
            try:
                call = peer.make(self.shared, point, self.threads)
                call.time(0, 1)
                error = expected.error(point, call)
                if error <= expected.TOLERANCE[point.type]:
                    series[peer.name] = sampling.Series(call, self.sampler.estimate(call))
                    others[peer.name] = {"status": "measured", "error": error}
                    continue
                others[peer.name] = {"status": "wrong", "error": error}
            except Unsupported as reason:
                others[peer.name] = {"status": "unsupported", "reason": str(reason)}
            except Exception as failure:
                others[peer.name] = {"status": "failed", "reason": f"{type(failure).__name__}: {failure}"[:200]}
            if call is not None:
                call.close()
        return series, others

    def measure(self, point):
        level = point.level(self.roofs.caches, self.threads)
        series, said = self.prepare(point)
        found = {"name": point.name, "threads": self.threads, "level": level, "operations": point.operations(),
                 "bytes": point.bytes(), "peers": said, "runs": []}
        if verdict.HEED in series:
            found["runs"].append(self.run(level, series))
            if verdict.beats_roof(found):  # perhaps another probe has become the fastest
                self.roofs.choose(level)
                found["runs"] = [self.run(level, series)]
            close = verdict.close_peers(found["runs"][0]["seconds"])
            if close:  # once more, longer, with those that are near
                again = {name: series[name] for name in series if name in close or not verdict.is_peer(name)}
                found["runs"].append(self.run(level, again, rounds=11, longer=2))
        for each in series.values():
            each.call.close()
        emit("point", **found)

    def run(self, level, series, **how):
        for each in series.values():
            each.seconds, each.rejected = {}, 0
        roofs = self.sampler.measure(level, series, **how)
        return {"roofs": roofs, "seconds": {name: each.seconds for name, each in series.items()},
                "rejected": {name: each.rejected for name, each in series.items() if each.rejected}}


def main():
    arguments = parse_arguments()
    chosen = points.read(arguments.filter, arguments.quick)
    chosen = [p for p in chosen if arguments.threads == 1 or not p.kernel]
    choose_processors(arguments.threads)
    start = time.monotonic()

    import memory
    import sampling
    from roofs import Roofs
    peers, missing = load_peers(arguments)
    heed = peers[0].library
    roofs = Roofs(arguments.heed_build / "bench/peers/libheed-peers-roofs.so", heed_row(heed), arguments.threads)
    emit("context", threads=arguments.threads, heed_row=heed_row(heed), missing=missing, versions=versions(),
         peers=[p.name for p in peers], points=len(chosen), caches=roofs.caches, clock_hz=roofs.clock(),
         peak=roofs.peak(), tile=roofs.tile(), processors=sorted(os.sched_getaffinity(0)),
         bandwidth={level: roofs.bandwidth(level) for level in ("L1", "L2", "L3", "DRAM")})
    shared = memory.Memory(roofs.caches[2], memory.available_bytes())
    bench = Bench(peers, shared, roofs, sampling.Sampler(roofs, sampling.Policy(arguments.quick)), arguments.threads)
    for point in chosen:
        bench.measure(point)
    emit("end", seconds=time.monotonic() - start)


def heed_row(library):
    import ctypes
    library.heed_isa.restype = ctypes.c_char_p
    return library.heed_isa().decode()


def versions():
    found = {"python": platform.python_version()}
    for module in ("numpy", "torch", "onnxruntime"):
        if module in sys.modules:
            found[module] = sys.modules[module].__version__
    return found


if __name__ == "__main__":
    main()

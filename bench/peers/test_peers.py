#!/usr/bin/env python3
"""The grid file parses, and a small result becomes the right table and list. Needs neither a peer nor a package."""

import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import points
import tables
import verdict


def run(seconds, peak=1e11, bandwidth=1e10):
    rounds = {str(r) for each in seconds.values() for r in range(len(each))}
    return {"roofs": {r: {"peak": peak, "tile": 0.95, "bandwidth": bandwidth} for r in rounds}, "rejected": {},
            "seconds": {name: {str(r): s * 1e-6 for r, s in enumerate(each)} for name, each in seconds.items()}}


def point(name, runs, threads=1, operations=2_000_000, bytes=1_000_000, **others):
    said = {peer: {"status": "measured", "error": 1e-7} for one in runs for peer in one["seconds"]}
    return {"name": name, "threads": threads, "level": "DRAM", "operations": operations, "bytes": bytes,
            "peers": {**said, **others}, "runs": runs}


def results(*found):
    context = {"threads": 1, "heed_row": "avx2", "missing": {"ggml": "no such file"}, "versions": {"numpy": "2.0"},
               "clock_hz": 3e9, "peak": 1e11, "bandwidth": {"L1": 2e11, "DRAM": 1e10}}
    machine = {"cpu": "a processor", "cpus_usable": 2, "memory_gib": 8.0, "huge_pages": "madvise", "virtual_machine": True}
    return {"date": "today", "commit": "abc", "command": "scripts/bench --peers", "quick": False, "machine": machine,
            "contexts": [context], "points": list(found)}


class Grid(unittest.TestCase):
    def test_the_file_parses_and_has_every_family(self):
        everything, quick = points.read(), points.read(quick=True)
        self.assertEqual({p.family for p in everything}, set(points.FAMILIES))
        self.assertEqual(len({p.name for p in everything}), len(everything))
        self.assertTrue(set(p.name for p in quick) < set(p.name for p in everything))
        self.assertEqual({p.type for p in everything if p.family == "decode"}, {"f32", "f16", "bf16", "int8"})
        self.assertEqual({p.group for p in everything if p.family == "decode" and p.streams}, {1, 4, 8})
        self.assertEqual({p.D for p in everything if p.family == "prefill"}, {40, 64, 80, 96, 128, 256})

    def test_names_find_their_point_alone(self):
        names = [p.name for p in points.read()]
        for name in names[::40]:
            self.assertEqual([p.name for p in points.read(f"^{name}$")], [name])
        self.assertEqual([re.escape(name) for name in names], names)  # so nothing in a name is a pattern

    def test_stars_choose_the_quick_part(self):
        lines = points.parse("dot D=64,128* type=f32 memory=hot\nsoftmax rows=1 keys=4,8 type=f32 memory=hot")
        self.assertEqual([p.name for p in lines if p.quick], ["dot_f32/D=128/hot"])

    def test_mistakes_name_their_line(self):
        good = "decode heads=8:8 D=64 keys=128 type=f32 memory=hot\n"
        for bad in ("walk D=1 type=f32 memory=hot", "dot D=0 type=f32 memory=hot", "dot D=64 type=f64 memory=hot",
                    "dot D=64 type=f32", "dot D=64 D=32 type=f32 memory=hot", "dot speed=3 type=f32 memory=hot",
                    "decode heads=3:2 D=64 keys=1 type=f32 memory=hot", good.strip(),
                    "chunk heads=1:1 D=64 keys=4 queries=5 type=f32 mask=causal memory=hot"):
            with self.assertRaisesRegex(ValueError, "^line 2: ", msg=bad):
                points.parse(good + bad)

    def test_work_counts_what_the_mask_allows(self):
        one, = points.parse("prefill heads=8:2 D=64 keys=4 mask=causal type=f32 memory=hot")
        self.assertEqual((one.pairs(), one.operations(), one.bytes()), (10, 4 * 64 * 10 * 8, 2 * 2 * 4 * 64 * 4))
        one, = points.parse("chunk heads=1:1 D=16 queries=2 keys=10 mask=causal type=f16 memory=stream")
        self.assertEqual((one.pairs(), one.bytes(), one.level((1, 1, 1), 1)), (9 + 10, 2 * 10 * 32, "DRAM"))
        one, = points.parse("decode heads=4:4 D=64 keys=128 batch=3 ragged=yes type=int8 memory=hot")
        self.assertEqual((one.lengths, one.Lkv), ((32, 224, 128), 224))
        self.assertEqual(one.bytes(), 2 * 4 * (32 + 224 + 128) * (64 + 4))


class Verdict(unittest.TestCase):
    seven = [10, 11, 10, 12, 10, 11, 10]

    def test_a_peer_is_faster_only_if_all_its_samples_are(self):
        for peer, expected in (([9] * 7, ["x"]), ([9] * 6 + [10], []), ([9] * 6, []), ([1] + [12] * 6, [])):
            found = point("decode_f32/keys=8/stream", [run({"heed": self.seven, "x": peer})])
            self.assertEqual(verdict.faster_peers(found), expected, msg=peer)

    def test_the_panels_are_no_peer(self):
        found = point("decode_f32/keys=8/stream", [run({"heed": self.seven, "heed_panels": [5] * 7, "x": [30] * 7})])
        self.assertEqual((verdict.faster_peers(found), verdict.judge(found)["best"]), ([], "x"))

    def test_the_second_run_decides(self):
        first = run({"heed": self.seven, "x": [9] * 7, "far": [40] * 7})
        again = run({"heed": [10] * 11, "x": [11] * 11})
        found = verdict.judge(point("decode_f32/keys=8/stream", [first, again]))
        self.assertEqual((found["faster"], found["best"], found["again"]), ([], "x", True))
        self.assertAlmostEqual(found["ratio"]["median"], 1.1)

    def test_who_is_measured_again(self):
        def close(heed, **peers):
            return verdict.close_peers(run({"heed": heed, **peers})["seconds"])
        self.assertEqual(close([10] * 7, x=[10.6] * 7), [])
        self.assertEqual(sorted(close([10] * 7, x=[10.4] * 7, y=[12] * 7, z=[20] * 7)), ["x", "y"])

    def test_shares_are_of_the_larger_roof(self):
        one = point("decode_f32/keys=8/stream", [run({"heed": [200] * 7})])
        self.assertAlmostEqual(verdict.judge(one)["share"]["median"], 0.5)  # 1e6 bytes at 1e10 a second in 200 µs
        self.assertEqual(verdict.judge(one)["bound"], "DRAM")
        one = point("decode_f32/keys=8/stream", [run({"heed": [200] * 7})], operations=18_000_000)
        self.assertAlmostEqual(verdict.judge(one)["share"]["median"], 0.9)
        self.assertEqual(verdict.judge(one)["bound"], "FMA")


class Report(unittest.TestCase):
    def setUp(self):
        heed = [100, 100, 102, 101, 100, 100, 100]
        self.results = results(
            point("decode_f32/keys=8/stream", [run({"heed": heed, "fast": [50] * 7, "slow": [400] * 3})],
                  odd={"status": "wrong", "error": 0.3}, other={"status": "unsupported", "reason": "no groups"}),
            point("decode_f32/keys=16/stream", [run({"heed": heed, "fast": [200] * 7})]),
            point("prefill_f32/keys=16/hot", [run({"heed": heed, "fast": [800] * 7})], threads=2))

    def test_the_list_of_losses(self):
        self.assertEqual(tables.faster(self.results), [
            "decode_f32/keys=8/stream threads=1: fast is 2.00 times as fast as heed (2.00 - 2.04): "
            "scripts/bench --peers --threads=1 --filter='^decode_f32/keys=8/stream$'"])

    def test_the_summary(self):
        lines = tables.summary(self.results)
        self.assertIn("decode_f32, 1 thread: 1.00 × the best peer (geometric mean of 2; least 0.50)", lines)
        self.assertIn("prefill_f32, 2 threads: 8.00 × the best peer (geometric mean of 1; least 8.00)", lines)
        self.assertIn("points where a peer is faster: 1 of 3", lines)

    def test_the_tables(self):
        lines = tables.markdown(self.results).splitlines()
        self.assertIn("| keys=8/stream | 100 µs | 100 % (98 % – 100 %) | DRAM | fast | 50.0 µs | "
                      "0.50 (0.49 – 0.50) **slower** |", lines)
        self.assertIn("| keys=16/stream | 100 µs | 100 % (98 % – 100 %) | DRAM | fast | 200 µs | "
                      "2.00 (1.96 – 2.00) |", lines)
        self.assertIn("| keys=8/stream | 100 µs | 50.0 µs | 400 µs | wrong (0.3) |", lines)
        self.assertIn("- other: unsupported: no groups (1 points; decode_f32/keys=8/stream)", lines)
        self.assertIn("- ggml: no such file", lines)
        self.assertIn("## prefill_f32, 2 threads", lines)

    def test_a_wrong_heed_is_said_first_of_all(self):
        found = point("dot_f32/D=8/hot", [], heed={"status": "wrong", "error": 0.5})
        self.assertTrue(verdict.heed_is_wrong(found))
        self.assertIn("WRONG RESULT, not timed: dot_f32/D=8/hot, 1 thread: heed", tables.summary(results(found)))

    def test_a_roof_that_is_beaten_was_none(self):
        for microseconds, said in ((96, True), (98, False)):  # the roof allows 100
            one = results(point("dot_f32/D=8/hot", [run({"heed": [microseconds] * 7})]))
            warning = "INVALID: dot_f32/D=8/hot, 1 thread: faster than the roof that was measured beside it"
            self.assertEqual(warning in tables.summary(one) and f"- {warning}" in tables.markdown(one), said)

    def test_few_samples_are_counted_and_none_is_no_result(self):
        few = results(point("dot_f32/D=8/hot", [run({"heed": [100] * 3, "x": [200] * 7})]))
        self.assertIn("100 µs (3 samples)", tables.markdown(few))
        none = results(point("dot_f32/D=8/hot", [run({"heed": [], "x": [200] * 7})]))
        self.assertIn("machine busy: dot_f32/D=8/hot, 1 thread: no sample was undisturbed", tables.summary(none))


if __name__ == "__main__":
    unittest.main()

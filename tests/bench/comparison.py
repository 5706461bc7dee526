"""What scripts/bench --against calls slower and faster, and its exit status: of invented results of heed-bench."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "bench"))
sys.dont_write_bytecode = True
from report import comparison, results  # noqa: E402

failures = []


def expect(what, got, wanted):
    if got != wanted:
        failures.append(f"{what}: {got}, expected {wanted}")


def entry(name, times=None, error=None):
    """A benchmark of the suite's raw file, with the median, minimum and maximum of its times."""
    if error:
        return {"name": name, "error_occurred": True, "error_message": error}
    found = {"name": name + "/iterations:7/manual_time", "iterations": 7, "label": "L1", "operations": 1.0, "bytes": 1.0,
             "pairs": 1.0, "copies": 1.0, "rejected": 0.0, "check": 0.5, "invalid": 0.0}
    for key in results.SPREAD:
        found.update({key: times[0], key + "_min": times[1], key + "_max": times[2]})
    return found


def compared(before, now):
    """The comparison of one point, and the exit status of a run of nothing else."""
    raw = {"context": {"rows": "before now", "operations": "dot_f32"}, "benchmarks": [
        entry("dot_f32/before/64/16", *before), entry("dot_f32/now/64/16", *now)]}
    lines = comparison.compare(results.points(raw))
    expect("points", [line["name"] for line in lines], ["dot_f32/64/16"])
    return lines[0], comparison.exit_status(lines)


def times(median, least, most):
    return ((median, least, most),)


# Ranges that touch or overlap say nothing, however far apart the medians are.
for words, before, now, verdict, status in (
        ("the same", times(2, 1, 3), times(2, 1, 3), "same", 0),
        ("overlap, slower median", times(1.1, 1, 3), times(5, 2.9, 6), "same", 0),
        ("overlap, faster median", times(5, 2.9, 6), times(1.1, 1, 3), "same", 0),
        ("one inside the other", times(2, 1, 9), times(5, 4, 6), "same", 0),
        ("touching", times(2, 1, 3), times(4, 3, 5), "same", 0),
        ("slower", times(2, 1, 3), times(4, 3.01, 5), "slower", 1),
        ("faster", times(4, 3.01, 5), times(2, 1, 3), "faster", 0)):
    line, got = compared(before, now)
    expect(words, (line["verdict"], got), (verdict, status))
    expect(f"{words}: ratio", line["ratio"], before[0][0] / now[0][0])

# What differs is measured again: it still differs if all four ranges say so.
def line_of(before, now):
    return compared(before, now)[0]


for words, again, verdict in (
        ("still slower", (times(2, 0.5, 3.2), times(4, 3.3, 5)), "slower"),
        ("slower, but its first range reaches the second's", (times(2, 1, 3.5), times(4, 3.6, 5)), "same"),
        ("the other way round", (times(4, 3.3, 5), times(2, 1, 3)), "same"),
        ("busy the second time", (times(2, 1, 3), (None, "machine busy: 3 of 7 samples")), "busy")):
    lines = [line_of(times(2, 1, 3), times(4, 3.3, 5))]
    comparison.confirm(lines, [line_of(*again)])
    expect(words, lines[0]["verdict"], verdict)
lines = [line_of(times(2, 1, 3), times(4, 3.3, 5))]
comparison.confirm(lines, [line_of(times(3, 0.5, 3.2), times(6, 3.3, 7))])
expect("both runs", (lines[0]["before"], lines[0]["now"], lines[0]["ratio"]),
       ({"median": 2.5, "min": 0.5, "max": 3.2}, {"median": 5, "min": 3.3, "max": 7}, 0.5))
lines = [{"name": "dot_f32/64/16", "verdict": "slower"}, {"name": "a/64/16", "verdict": "same"},
         {"name": "softmax_f32/-/16", "verdict": "faster"}]
expect("filter", comparison.to_confirm(lines),
       "^(dot_f32/[^/]+/64/16|softmax_f32/[^/]+/-/16)$")
expect("nothing to confirm", comparison.to_confirm([{"name": "a/64/16", "verdict": "same"}]), None)

# What was not measured has no ratio, and alone it is no success; a wrong result is a failure.
fine = times(2, 1, 3)
for words, error, verdict, status in (
        ("busy", "machine busy: 3 of 7 samples", "busy", 2),
        ("skipped", "skipped: no such row", "skipped", 2),
        ("wrong", "WRONG: differs", "wrong", 1)):
    line, got = compared(fine, (None, error))
    expect(words, (line["verdict"], line["ratio"], got), (verdict, None, status))
    expect(f"{words}: the other side", line["before"], {"median": 2, "min": 1, "max": 3})

# A run of several: one slower point is enough, its other verdicts are counted.
lines = [{"verdict": word, "ratio": ratio} for word, ratio in
         (("same", 1.0), ("faster", 4.0), ("slower", 0.25), ("busy", None), ("faster", 1.0))]
expect("several", comparison.exit_status(lines), 1)
expect("without the slower one", comparison.exit_status(lines[:2] + lines[3:]), 0)
expect("counts", comparison.count(lines), {"faster": 2, "slower": 1, "same": 1, "busy": 1})
expect("mean", round(comparison.mean_ratio(lines), 12), 1.0)
expect("mean of nothing", comparison.mean_ratio(lines[3:4]), None)

print("\n".join(failures) or "every verdict is right")
sys.exit(bool(failures))

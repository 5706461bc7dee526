"""How scripts/bench --goals judges: of invented measurements, which goals are met and which points it asks for."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "bench"))
sys.dont_write_bytecode = True
from report import goals  # noqa: E402
from report.goals import Goal  # noqa: E402

failures = []


def expect(what, got, wanted):
    if got != wanted:
        failures.append(f"{what}: {got}, expected {wanted}")


def spread(median, least, most):
    return {"median": median, "min": least, "max": most}


def measured(beats_its_roof=False, **figures):
    return {"status": "measured", "beats_its_roof": beats_its_roof, "share": None, "ratio": None, "seconds": None, **figures}


def judged(measure, bound, *points, library=None):
    """The one line of a goal whose point was measured so, with one thread and then with two."""
    goal = Goal("a figure", measure, bound, () if measure == goals.BYTES else ("a/64/16",))
    runs = {threads: {"a/64/16": point} for threads, point in enumerate(points, 1)}
    (line,) = goals.judge([goal], runs, library)
    return line


# At least, at most, and exactly at the bound: the median decides.
for words, line, met in (
        ("share above", judged(goals.SHARE, 0.5, measured(share=spread(0.51, 0.1, 0.6))), True),
        ("share at it", judged(goals.SHARE, 0.5, measured(share=spread(0.5, 0.1, 0.6))), True),
        ("share below", judged(goals.SHARE, 0.5, measured(share=spread(0.49, 0.4, 0.9))), False),
        ("ratio below", judged(goals.RATIO, 0.95, measured(ratio=spread(0.94, 0.9, 1.1))), False),
        ("seconds above", judged(goals.SECONDS, 2e-7, measured(seconds=spread(2.1e-7, 1e-7, 3e-7))), False),
        ("seconds below", judged(goals.SECONDS, 2e-7, measured(seconds=spread(1.9e-7, 1e-7, 3e-7))), True),
        ("cost above", judged(goals.COST, 0.10, measured(ratio=spread(0.90, 0.8, 1.0))), False),
        ("cost below", judged(goals.COST, 0.10, measured(ratio=spread(0.92, 0.8, 1.0))), True),
        ("no loss: once as fast", judged(goals.NO_LOSS, 1.0, measured(ratio=spread(0.97, 0.9, 1.0))), True),
        ("no loss: always slower", judged(goals.NO_LOSS, 1.0, measured(ratio=spread(0.97, 0.9, 0.99))), False),
        ("bytes above", judged(goals.BYTES, 2**20, library=2**20 + 1), False),
        ("bytes at it", judged(goals.BYTES, 2**20, library=2**20), True)):
    expect(words, line["met"], met)

line = judged(goals.COST, 0.10, measured(ratio=spread(0.8, 0.5, 1.25)))
expect("cost", {key: round(value, 12) for key, value in line["figure"].items()}, spread(0.25, -0.2, 1.0))

# Two threads: shares of their own roofs, the one over the other; ranges as wide as they can be.
line = judged(goals.SCALING, 0.95, measured(share=spread(0.8, 0.5, 1.0)), measured(share=spread(0.6, 0.5, 0.75)))
expect("scaling", {key: round(value, 12) for key, value in line["figure"].items()}, spread(0.75, 0.5, 1.5))
expect("scaling: met", line["met"], False)

# What wasn't measured is neither met nor missed, and says why.
busy = {"status": "busy", "reason": "3 of 7 samples"}
for words, line, reason in (
        ("busy", judged(goals.SHARE, 0.5, busy), "busy: 3 of 7 samples"),
        ("no second thread", judged(goals.SCALING, 0.95, measured(share=spread(0.8, 0.5, 1.0))), "not measured"),
        ("busy with two threads", judged(goals.SCALING, 0.95, measured(share=spread(0.8, 0.5, 1.0)), busy),
         "busy: 3 of 7 samples"),
        ("no partner", judged(goals.RATIO, 0.95, measured(share=spread(0.8, 0.5, 1.0))), "its partner was not measured"),
        ("no library", judged(goals.BYTES, 2**20), "there is no library or no strip")):
    expect(words, (line["met"], line["figure"], line["reason"]), (None, None, reason))
line = judged(goals.SHARE, 0.5, measured(True, share=spread(1.2, 1.1, 1.3)))
expect("beats its roof", (line["met"], "probe was weak" in line["reason"]), (None, True))

# The summary shows the worst point, and counts.
goal = Goal("several", goals.SHARE, 0.5, ("a/64/16", "a/64/32", "a/64/64", "a/64/128"))
runs = {1: {"a/64/16": measured(share=spread(0.9, 0.9, 0.9)), "a/64/32": measured(share=spread(0.4, 0.3, 0.45)),
            "a/64/64": busy}}
lines = goals.judge([goal], runs, None)
expect("summary", goals.summary(lines),
       [["several", "≥ 0.500 of the roof", "0.400 (0.300 … 0.450)", "a/64/32", "1 of 4"]])
goal = Goal("several", goals.COST, 0.1, ("a/64/16", "a/64/32"))
runs = {1: {"a/64/16": measured(ratio=spread(1, 1, 1)), "a/64/32": measured(ratio=spread(0.8, 0.8, 0.8))}}
expect("worst cost", goals.summary(goals.judge([goal], runs, None))[0][2:], ["+25.0 %", "a/64/32", "1 of 2"])

# What is asked for: each point once; with two threads only what scales; by a filter.
expect("points", len(goals.points_of(goals.GOALS, 1)), len(set(goals.points_of(goals.GOALS, 1))))
expect("two threads", set(goals.points_of(goals.GOALS, 2)),
       {p for goal in goals.GOALS if goal.measure == goals.SCALING for p in goal.points})
expect("filter", [(goal.measure, goal.points) for goal in goals.chosen("softcap|textbook")],
       [(goals.COST, ("attention_f32_full_softcap/128/2048:attention_f32_full",)),
        (goals.SECONDS, ("attention_f32_textbook/2/3",))])
expect("no filter", goals.chosen(None), goals.GOALS)
expect("names", [goals.name_of({"op": op, "D": dim, "L": 16}) for op, dim in
                 (("a_f32:b_f32", 64), ("a_f32", 64), ("softmax_f32", None))],
       ["a_f32/64/16:b_f32", "a_f32/64/16", "softmax_f32/-/16"])

# The program knows every operation that a goal asks for.
if len(sys.argv) > 2:
    words = [word for point in goals.points_of(goals.GOALS, 1) for word in ("--point", point)]
    done = subprocess.run([sys.argv[2], "--list", *words], text=True, capture_output=True, check=False)
    expect("heed-bench", (done.returncode, len(done.stdout.splitlines()), done.stderr), (0, len(words) // 2, ""))
    done = subprocess.run([sys.argv[2], "--list", "--point", "no_such/64/16"], text=True, capture_output=True, check=False)
    expect("an operation that there isn't", (done.returncode, "'no_such'" in done.stderr), (2, True))

print("\n".join(failures) or "every goal is judged right")
sys.exit(bool(failures))

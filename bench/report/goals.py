"""The goals of speed, and whether a run met them. GOALS is the only list of them."""

import dataclasses
import re

from . import text

# How a point's figure comes about, how it reads, and whether the goal is the least or the most that it may be.
SHARE = "share"        # of the roof
RATIO = "ratio"        # the partner's time / the point's own: how fast it is beside the partner
COST = "cost"          # the point's own time / the partner's - 1: what it adds to the partner
NO_LOSS = "no loss"    # a ratio; missed only if every sample is slower than the partner's beside it
SECONDS = "seconds"    # a call
SCALING = "scaling"    # share of the roof of two threads / share of the roof of one
BYTES = "bytes"        # of the shared library, stripped
AT_MOST = (COST, SECONDS, BYTES)


@dataclasses.dataclass(frozen=True)
class Goal:
    figure: str
    measure: str
    bound: float
    points: tuple = ()  # <op>/<D>/<L>, or <op>/<D>/<L>:<partner> for an operation that is sampled in turn with it


def over(ops, dims, lengths, partner=None):
    """Points of all operations, head dimensions and lengths. A partner's name may hold the operation's: {op}."""
    return tuple(f"{op}/{dim}/{length}" + (":" + partner.format(op=op) if partner else "")
                 for op in ops for dim in dims for length in lengths)


BOTH = (64, 128)
LONG = 32768  # keys whose bytes no core's own cache holds, in any type
GROUPS = ("", "_g4", "_g8")
SIXTEEN = ("f16", "bf16")


def decodes(types, layout=""):
    return [f"attention_{kind}_decode{group}{layout}" for kind in types for group in GROUPS]


def options():
    for option, words, bound in (("softcap", "a soft-cap", 0.10), ("alibi", "ALiBi", 0.05), ("window", "a window", 0.0),
                                 ("bit_mask", "a bit mask", 0.10), ("bias", "an f32 bias", 0.15)):
        yield Goal(f"what {words} adds to a plain prefill", COST, bound,
                   over([f"attention_f32_full_{option}"], [128], [2048], "attention_f32_full"))


def dram(layout, words):
    for types, bound in ((("f32",), 0.90), (SIXTEEN, 0.80), (("int8",), 0.70)):
        yield Goal(f"decode from DRAM, {words}, {' and '.join(types)}", SHARE, bound,
                   over(decodes(types, layout), BOTH, [LONG]))


GOALS = (
    Goal("prefill f32, D = 128", SHARE, 0.90, over(["attention_f32_full"], [128], [1024, 2048, 4096])),
    Goal("prefill f32, D = 128, causal", SHARE, 0.85, over(["attention_f32_causal"], [128], [2048, 4096])),
    Goal("prefill f32, D = 64", SHARE, 0.85, over(["attention_f32_full"], [64], [1024, 2048, 4096])),
    Goal("prefill f32, D = 64, causal", SHARE, 0.80, over(["attention_f32_causal"], [64], [2048, 4096])),
    Goal("prefill with 16-bit and int8 K and V, beside f32", RATIO, 0.95,
         over([f"attention_{kind}_full" for kind in (*SIXTEEN, "int8")], BOTH, [2048], "attention_f32_full")),
    *dram("", "row-major"),
    *dram("_panels", "panels"),
    Goal("decode from L2, row-major", SHARE, 0.35, over(["attention_f32_decode"], [64], [512])),
    Goal("decode from L2, panels", SHARE, 0.60, over(["attention_f32_decode_panels"], [64], [512])),
    Goal("2 … 64 queries against long keys", SHARE, 0.75,
         over([f"attention_f32_tokens{n}" for n in (2, 4, 8, 16, 32, 64)], BOTH, [4096, 16384, 65536])),
    Goal("64 decodes of 512 keys in one call", SHARE, 0.75,
         over(["attention_f32_decode64", "attention_f32_decode64_g4"], BOTH, [512])),
    *options(),
    Goal("pages of 16 keys, beside contiguous", RATIO, 0.95,
         over(["attention_f32_decode_pages"], BOTH, [LONG], "attention_f32_decode")
         + over(["attention_f32_decode_g4_pages"], BOTH, [LONG], "attention_f32_decode_g4")),
    Goal("decode from DRAM, row-major beside panels", RATIO, 0.85,
         over(decodes(("f32", *SIXTEEN, "int8")), [128], [LONG], "{op}_panels")),
    Goal("softmax from DRAM, 12 bytes an element", SHARE, 0.90, over(["softmax_f32_streamed"], ["-"], [1 << 26])),
    Goal("fused, beside the three steps, never slower", NO_LOSS, 1.0,
         over(["attention_f32_full"], BOTH, [16, 128, 512, 2048], "three_steps_f32_full")
         + over(["attention_f32_decode"], BOTH, [16, 128, 512, 4096, LONG], "three_steps_f32_decode")
         + over(["attention_f32_decode_g4"], BOTH, [16, 128, 512, 4096, LONG], "three_steps_f32_decode_g4")),
    Goal("two threads, of the probes' scaling", SCALING, 0.95,
         over(["attention_f32_full", "attention_f32_causal"], [128], [2048])
         + over(["attention_f32_decode", "attention_f32_decode_g4"], [128], [LONG])),
    Goal("the textbook problem, a whole call", SECONDS, 200e-9, over(["attention_f32_textbook"], [2], [3])),
    Goal("shared library, all public rows, stripped", BYTES, 2**20),
)


def chosen(pattern):
    """The goals with those of their points that a filter finds. None: all. The library's size has no name to be found."""
    if pattern is None:
        return GOALS
    found = [dataclasses.replace(goal, points=tuple(p for p in goal.points if re.search(pattern, p))) for goal in GOALS]
    return tuple(goal for goal in found if goal.points)


def points_of(goals, threads):
    """What heed-bench has to measure with so many threads, each once."""
    wanted = (p for goal in goals if threads == 1 or goal.measure == SCALING for p in goal.points)
    return list(dict.fromkeys(wanted))


def name_of(measured):
    """Of a measured point (results.point), as GOALS spells it."""
    op, _, partner = measured["op"].partition(":")
    dim = "-" if measured["D"] is None else measured["D"]
    return f"{op}/{dim}/{measured['L']}" + (":" + partner if partner else "")


def _quotient(a, b):
    return {"median": a["median"] / b["median"], "min": a["min"] / b["max"], "max": a["max"] / b["min"]}


def _figure(goal, one, two):
    """The figure's spread, of a point measured with one thread and, for scaling, with two."""
    if goal.measure == SCALING:
        return _quotient(two["share"], one["share"])
    if goal.measure == COST:
        ratio = one["ratio"]
        return {"median": 1 / ratio["median"] - 1, "min": 1 / ratio["max"] - 1, "max": 1 / ratio["min"] - 1}
    return one["ratio" if goal.measure == NO_LOSS else goal.measure]


def is_met(goal, figure):
    if goal.measure == NO_LOSS:
        return figure["max"] >= goal.bound
    return figure["median"] <= goal.bound if goal.measure in AT_MOST else figure["median"] >= goal.bound


def judge(goals, runs, library_bytes):
    """A line per goal and point: figure (None: not measured, and why) and whether it is met.

    runs: {threads: {name: point}}; library_bytes: None if it can't be told."""
    lines = []
    for goal in goals:
        if goal.measure == BYTES:
            figure = None if library_bytes is None else dict.fromkeys(("median", "min", "max"), library_bytes)
            lines.append({"goal": goal, "point": "–", "figure": figure, "met": figure and is_met(goal, figure),
                          "reason": "there is no library or no strip" if figure is None else None})
            continue
        for point in goal.points:
            line = {"goal": goal, "point": point, "figure": None, "met": None, "reason": None}
            sides = [runs.get(threads, {}).get(point) for threads in ((1, 2) if goal.measure == SCALING else (1,))]
            bad = [f"{side['status']}: {side['reason']}" for side in sides if side and side["status"] != "measured"]
            if None in sides or bad:
                line["reason"] = bad[0] if bad else "not measured"
            elif goal.measure in (RATIO, COST, NO_LOSS) and sides[0]["ratio"] is None:
                line["reason"] = "its partner was not measured"
            else:
                line["figure"] = _figure(goal, sides[0], sides[-1])
                line["met"] = is_met(goal, line["figure"])
                if any(side["beats_its_roof"] for side in sides):
                    line.update(met=None, reason="beats its roof: the probe was weak")
            lines.append(line)
    return lines


# ---- To be read -------------------------------------------------------------------------------------------------


def show(measure, value):
    if measure == SECONDS:
        return text.engineering(value, "s")
    if measure == BYTES:
        return f"{value / 2**10:.0f} KiB"
    return f"{100 * value:+.1f} %" if measure == COST else f"{value:.3f}"


def goal_text(goal):
    sign = "≤" if goal.measure in AT_MOST else "≥"
    bound = f"{100 * goal.bound:.0f} %" if goal.measure == COST else show(goal.measure, goal.bound)
    return f"{sign} {bound}" + (" of the roof" if goal.measure == SHARE else "")


def figure_text(line):
    if line["figure"] is None:
        return line["reason"]
    shown = {key: show(line["goal"].measure, value) for key, value in line["figure"].items()}
    spread = f" ({shown['min']} … {shown['max']})" if shown["min"] != shown["max"] else ""
    return shown["median"] + spread + (f"; {line['reason']}" if line["reason"] else "")


def met_text(line):
    return {True: "yes", False: "no", None: "?"}[line["met"]]


def worst(lines):
    """The line that is furthest from its goal, those without a figure last."""
    sign = -1 if lines[0]["goal"].measure in AT_MOST else 1
    return min(lines, key=lambda line: (line["figure"] is None, sign * line["figure"]["median"] if line["figure"] else 0))


def summary(lines):
    """A row per goal: figure, goal, the worst of its points, how many are met."""
    rows = []
    for goal in dict.fromkeys(line["goal"] for line in lines):
        own = [line for line in lines if line["goal"] is goal]
        met = sum(line["met"] is True for line in own)
        rows.append([goal.figure, goal_text(goal), figure_text(worst(own)), worst(own)["point"], f"{met} of {len(own)}"])
    return rows


SUMMARY_HEADINGS = ["figure", "goal", "worst: median (min … max)", "at", "met"]
HEADINGS = ["figure", "goal", "measured: median (min … max)", "met", "to repeat it"]


def table(lines):
    """A row per goal and point."""
    rows = []
    for line in lines:
        point = line["point"]
        repeat = "`scripts/bench --goals`" if point == "–" else f"`scripts/bench --goals --filter '^{point}$'`"
        where = "" if point == "–" else f": {point.partition(':')[0]}"
        rows.append([line["goal"].figure + where, goal_text(line["goal"]), figure_text(line), met_text(line), repeat])
    return rows

"""Plots against sequence length: time, share of the roof, speed-up. The roof is drawn in."""

import io

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402 (the backend has to be chosen first)
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator  # noqa: E402

from . import results as r  # noqa: E402
from .text import title  # noqa: E402

INK = "#1c2530"
ROOF = "#b3202a"
GRID = "#d5dae0"
# One colour a row in every plot: the best row first, then the denominator, the reference, and the others in turn.
BEST, DENOMINATOR, REFERENCE = "#1f5fa8", "#d9730d", "#6f7782"
OTHERS = ("#1b8a6b", "#8a4fb0", "#a6761d", "#3a9fbf", "#c2528b")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

plt.rcParams.update({
    "font.family": "DejaVu Sans", "font.size": 10, "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": INK,
    "xtick.color": INK, "ytick.color": INK, "axes.grid": True, "grid.color": GRID, "grid.linewidth": 0.6,
    "axes.axisbelow": True, "axes.spines.top": False, "axes.spines.right": False, "axes.titleweight": "bold",
    "axes.titlesize": 11, "legend.frameon": False, "svg.hashsalt": "heed", "figure.facecolor": "white",
})


def length_text(n):
    n = int(n)
    return f"{n // 1024}k" if n >= 1024 else str(n)


def style(results):
    """Colour and marker of each row."""
    colours = {results["best"]: BEST, results["denominator"]: DENOMINATOR, "reference": REFERENCE}
    others = iter(OTHERS * 3)
    for row in results["rows"]:
        if row not in colours:
            colours[row] = next(others)
    return {row: (colours[row], MARKERS[i % len(MARKERS)]) for i, row in enumerate(results["rows"])}


def svg(figure):
    out = io.StringIO()
    figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    text = out.getvalue()
    return text[text.index("<svg"):]


def length_axis(axes, lengths):
    axes.set_xscale("log", base=2)
    lengths = sorted(lengths)
    ticks = lengths if len(lengths) <= 7 else [n for n in lengths if (n.bit_length() - lengths[0].bit_length()) % 2 == 0]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda n, _: length_text(n)))
    margin = 2 ** 0.45
    axes.set_xlim(lengths[0] / margin, lengths[-1] * margin)


def plain_log(axes):
    """A logarithmic axis whose labels are plain numbers."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    if high / low < 30:
        axes.yaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))


def draw_rows(axes, points, rows, styles, value):
    """A line per row through the medians; a thin bar from minimum to maximum."""
    for row in rows:
        measured = [p for p in points if p["row"] == row and p["status"] == "measured" and value(p) is not None]
        if not measured:
            continue
        colour, marker = styles[row]
        x = [p["L"] for p in measured]
        middle, low, high = zip(*(value(p) for p in measured))
        axes.vlines(x, low, high, color=colour, linewidth=1.0, alpha=0.7)
        axes.plot(x, middle, color=colour, marker=marker, markersize=4.5, linewidth=1.7, label=row)


def mark_levels(axes, points, row):
    """Where the data of the best row live, along the top edge."""
    measured = sorted((p for p in points if p["row"] == row and p["status"] == "measured"), key=lambda p: p["L"])
    at = 0
    while at < len(measured):
        end = at
        while end + 1 < len(measured) and measured[end + 1]["level"] == measured[at]["level"]:
            end += 1
        middle = (measured[at]["L"] * measured[end]["L"]) ** 0.5
        axes.annotate(measured[at]["level"], (middle, 1.0), xycoords=("data", "axes fraction"), ha="center", va="bottom",
                      fontsize=8, color=INK)
        if end + 1 < len(measured):
            axes.axvline((measured[end]["L"] * measured[end + 1]["L"]) ** 0.5, color=INK, linewidth=0.8, linestyle=":")
        at = end + 1


def mark_missing(axes, points, rows, styles):
    """Above the plot: a cross for a point that was skipped, a ring for one without enough quiet samples."""
    for i, row in enumerate(rows):
        aside = 2 ** (0.16 * (i - (len(rows) - 1) / 2))
        for status, marker in (("skipped", "x"), ("busy", "o"), ("wrong", "*")):
            x = [p["L"] * aside for p in points if p["row"] == row and p["status"] == status]
            axes.plot(x, [1.035] * len(x), marker, transform=axes.get_xaxis_transform(), markersize=4.5, clip_on=False,
                      markeredgecolor=styles[row][0], markerfacecolor="none")


def per_unit(p, scale=1e9):
    return tuple(p["seconds"][k] * scale / r.count(p) for k in ("median", "min", "max"))


def spread(p, key):
    return None if p[key] is None else tuple(p[key][k] for k in ("median", "min", "max"))


def draw_time(axes, results, points, rows, styles):
    draw_rows(axes, points, rows, styles, per_unit)
    best = [p for p in points if p["row"] == results["best"] and p["status"] == "measured"]
    axes.plot([p["L"] for p in best], [r.roofline_seconds(p) * 1e9 / r.count(p) for p in best], color=ROOF, linewidth=1.8,
              linestyle="--", label=f"roof of {results['best']}")
    plain_log(axes)
    axes.set_ylabel(f"ns per {r.unit(points[0]['op'])}")
    mark_missing(axes, points, rows, styles)


def draw_share(axes, results, points, rows, styles):
    draw_rows(axes, points, rows, styles, lambda p: tuple(100 * x for x in spread(p, "share")))
    axes.axhline(100, color=ROOF, linewidth=1.8, linestyle="--")
    axes.set_ylim(0, max(105, axes.get_ylim()[1]))
    axes.set_ylabel("share of the row's own roof, %")
    mark_levels(axes, points, results["best"])


def draw_speedup(axes, results, points, rows, styles):
    draw_rows(axes, points, [row for row in rows if row != results["denominator"]], styles, lambda p: spread(p, "speedup"))
    base = {p["L"]: p for p in points if p["row"] == results["denominator"] and p["status"] == "measured"}
    best = [p for p in points if p["row"] == results["best"] and p["status"] == "measured" and p["L"] in base]
    axes.plot([p["L"] for p in best], [base[p["L"]]["seconds"]["median"] / r.roofline_seconds(p) for p in best],
              color=ROOF, linewidth=1.8, linestyle="--")
    axes.axhline(1, color=DENOMINATOR, linewidth=1.7)
    plain_log(axes)
    axes.set_ylabel(f"times as fast as {results['denominator']}")


def operation(results, op):
    """One figure: a line of three plots per head dimension."""
    found = [(dim, points) for (name, dim), points in r.groups(results).items() if name == op]
    styles = style(results)
    figure, grid = plt.subplots(len(found), 3, figsize=(14, 3.7 * len(found)), squeeze=False)
    for line, (dim, points) in enumerate(found):
        rows = [row for row in results["rows"] if any(p["row"] == row for p in points)]
        for axes, draw in zip(grid[line], (draw_time, draw_share, draw_speedup)):
            draw(axes, results, points, rows, styles)
            length_axis(axes, {p["L"] for p in points})
            axes.set_xlabel("sequence length L")
        grid[line][0].set_title(title(op, dim), loc="left", pad=18)
    handles = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    height = figure.get_figheight()
    figure.subplots_adjust(left=0.05, right=0.995, bottom=0.55 / height, top=1 - 0.85 / height, hspace=0.42, wspace=0.2)
    figure.legend(handles.values(), handles.keys(), loc="upper center", ncol=len(handles), bbox_to_anchor=(0.5, 1.0))
    return svg(figure)

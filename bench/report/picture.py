"""The picture for the README: what a user gets, with the roof as the top of the plot."""

from . import plots
from . import results as r

PREFILL, DECODE = "attention_f32_full", "attention_f32_decode_g4"
DIM = 128


def rate(p, work):
    return tuple(p[work] / p["seconds"][k] * 1e-9 for k in ("median", "max", "min"))


def roof_rate(p, work):
    return p[work] / r.roofline_seconds(p) * 1e-9


def panel(axes, results, op, work, unit, words):
    points = r.groups(results).get((op, DIM), [])
    rows = [row for row in results["rows"] if row in (results["best"], results["denominator"], "reference")]
    best = [p for p in points if p["row"] == results["best"] and p["status"] == "measured"]
    if not best:
        raise SystemExit(f"--picture needs {op} at D = {DIM}: run without --filter")
    styles = plots.style(results)
    plots.draw_rows(axes, points, rows, styles, lambda p: rate(p, work))
    lengths, roof = [p["L"] for p in best], [roof_rate(p, work) for p in best]
    axes.plot(lengths, roof, color=plots.ROOF, linewidth=2.0, linestyle="--", label="roof, measured in the same run")
    axes.fill_between(lengths, roof, [max(roof) * 2] * len(roof), color=plots.ROOF, alpha=0.07, linewidth=0)
    plots.length_axis(axes, {p["L"] for p in points})
    axes.set_ylim(0, max(roof) * 1.08)
    axes.set_xlabel("sequence length")
    axes.set_ylabel(unit)
    axes.set_title(words, loc="left", pad=16)
    plots.mark_levels(axes, points, results["best"])


def draw(results):
    figure, (left, right) = plots.plt.subplots(1, 2, figsize=(11, 4.2))
    threads = results["method"]["threads"]
    panel(left, results, PREFILL, "operations", "useful GFLOP/s", f"Prefill, f32, D = {DIM}")
    panel(right, results, DECODE, "operations", "useful GFLOP/s", f"Decode, 4 query heads per key head, D = {DIM}")
    handles, labels = left.get_legend_handles_labels()
    names = {
        results["best"]: f"heed, {results['best']}",
        results["denominator"]: f"the same arithmetic as plain loops, vectorised by {results['build']['compiler']}",
        "reference": "textbook in double",
    }
    figure.tight_layout(w_pad=2.5, rect=(0, 0.05, 1, 0.92))
    figure.legend(handles, [names.get(label, label) for label in labels], loc="upper center", ncol=4,
                  bbox_to_anchor=(0.5, 1.0), fontsize=9)
    figure.text(0.5, 0.01, f"{results['machine']['cpu']}, {threads} thread{'s' if threads > 1 else ''}; medians of "
                f"{results['method']['samples']} samples, bars from minimum to maximum", ha="center", fontsize=8.5)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + plots.svg(figure)

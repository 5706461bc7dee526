"""Numbers as people read them, and the Markdown tables."""

from . import results as r


def engineering(value, unit, digits=3):
    """1.23 µs, 45.6 GB/s: three significant digits and a prefix."""
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")):
        if abs(value) >= factor * 0.9995 or factor == 1e-9:
            scaled = value / factor
            decimals = max(0, digits - len(str(int(abs(scaled)))))
            return f"{scaled:.{decimals}f} {prefix}{unit}"
    return f"{value} {unit}"


def mebibytes(count):
    return f"{count / 2**20:.0f} MiB" if count >= 2**20 else f"{count / 2**10:.0f} KiB"


def percent(value):
    return f"{100 * value:.0f} %" if value >= 0.095 else f"{100 * value:.1f} %"


def times(value):
    return f"{value:.1f} ×" if value >= 1.95 else f"{value:.2f} ×"


def spread(values, show):
    """Median, with minimum and maximum beside it."""
    if values is None:
        return "–"
    return f"{show(values['median'])} ({show(values['min'])} – {show(values['max'])})"


def title(op, dim):
    return f"{op}, D = {dim}" if dim is not None else op


def cells(results, p):
    """A row of the table of one (op, D)."""
    if p["status"] != "measured":
        return [str(p["L"]), p["row"], f"{p['status']}: {p['reason']}", "", "", "", ""]
    per_unit = p["seconds"]["median"] / r.count(p)
    mark = " **beats its roof**" if p["beats_its_roof"] else ""
    return [
        str(p["L"]),
        p["row"],
        spread(p["seconds"], lambda x: engineering(x, "s")),
        engineering(per_unit, "s"),
        spread(p["share"], percent) + mark,
        p["level"],
        spread(p["speedup"], times) if p["row"] != results["denominator"] else "1",
    ]


def headings(results, op):
    return ["L", "row", "time of a call", f"per {r.unit(op)}", "share of the roof", "data in",
            f"speed-up over {results['denominator']}"]


def table(rows, header):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def print_columns(rows, left=(0,)):
    """On the terminal. Columns are right-aligned but for those of `left`."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        cells = [cell.ljust(width) if i in left else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))]
        print("  ".join(cells).rstrip())


def headline(results):
    """The best row's points for the short table: a middle length of each (op, D), or all if they are few."""
    points = [p for p in results["points"] if p["op"] not in results["models"]]
    best = [p for p in points if p["row"] == results["best"]]
    chosen = best if len(best) <= 24 else [p for p in best if p["L"] == 1024]
    return chosen or points[:24]


MODEL_HEADINGS = ["layer", "of a model", "row", "time of a call", "share of the roof", "data in"]


def model_cells(results, p):
    """A row of the table of models."""
    known = [p["op"], results["models"][p["op"]], p["row"]]
    if p["status"] != "measured":
        return [*known, f"{p['status']}: {p['reason']}", "", ""]
    mark = " **beats its roof**" if p["beats_its_roof"] else ""
    return [*known, spread(p["seconds"], lambda x: engineering(x, "s")), spread(p["share"], percent) + mark, p["level"]]


def verdict(results):
    """Sentences that must be read before any figure."""
    said = []
    for name in results["wrong"]:
        reason = next(p["reason"] for p in results["points"] if p["name"] == name)
        said.append(f"WRONG RESULT, not timed: {name}: {reason}")
    if results["beat_their_roof"]:
        said.append("INVALID RUN: faster than the roof that was measured beside it, so that probe was too weak or the "
                    "machine changed during the run: " + ", ".join(results["beat_their_roof"]))
    busy = sum(p["status"] == "busy" for p in results["points"])
    if busy:
        said.append(f"Machine busy: {busy} of {len(results['points'])} series did not get enough samples during which the "
                    "core was undisturbed; they are no results and are not shown as such.")
    late = sum(p["status"] == "skipped" and "time is up" in p["reason"] for p in results["points"])
    if late:
        said.append(f"Time was up before {late} of {len(results['points'])} series began; --filter measures them.")
    if results["method"]["quick"]:
        said.append(f"Quick run: {results['method']['samples']} samples a series and few lengths. Quote a full run.")
    return said


def denominator_note(results):
    fmas = results["vector_fmas_in_denominator"]
    row, flags = results["denominator"], results["build"].get("row_flags", {}).get(results["denominator"], "")
    counted = "not counted (no objdump, or no objects)" if fmas is None else str(fmas)
    return (f"`{row}` is the readable scalar code, vectorised by {results['build'].get('compiler', 'the compiler')} with "
            f"{flags + ' ' if flags else ''}-O3; vector multiply-adds that it put there: {counted}.")


def markdown(results):
    parts = ["# heed benchmark", ""]
    parts += [f"**{line}**\n" for line in verdict(results)]
    m = results["machine"]
    parts.append(f"{m['cpu']}, {engineering(m['clock_hz'], 'Hz')}, {results['build'].get('compiler')}, commit "
                 f"{results['commit']}, {results['date']}, arithmetic {results['library']['arithmetic']}, "
                 f"{results['method']['threads']} thread(s). {denominator_note(results)}\n")
    if r.models(results):
        parts += ["## models", "", "Layers of bench/models, one call each.", ""]
        parts += [table([model_cells(results, p) for p in r.models(results)], MODEL_HEADINGS), ""]
    for (op, dim), points in r.groups(results).items():
        parts += [f"## {title(op, dim)}", "", f"`{r.repeat(results, op, dim=dim)}`", ""]
        parts += [table([cells(results, p) for p in points], headings(results, op)), ""]
    return "\n".join(parts)

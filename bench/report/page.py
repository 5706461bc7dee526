"""The HTML report: one file, nothing fetched."""

import html
import re

from . import plots
from . import results as r
from . import text as t

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1c2530; background: #fff; max-width: 1180px; margin: 2em auto;
       padding: 0 1em; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.2em; border-top: 1px solid #d5dae0; padding-top: .8em; }
table { border-collapse: collapse; font-size: 14px; margin: .8em 0; }
th, td { text-align: left; padding: .2em .8em .2em 0; border-bottom: 1px solid #e4e8ec; font-variant-numeric: tabular-nums;
         vertical-align: top; }
code { background: #f1f3f6; padding: .1em .3em; border-radius: 3px; font-size: 13px; }
.warn { background: #fdecec; border-left: 5px solid #b3202a; padding: .6em 1em; font-weight: 600; }
.note { background: #fff6e5; border-left: 5px solid #d9730d; padding: .6em 1em; }
svg { width: 100%; height: auto; } summary { cursor: pointer; }
"""

OPERATIONS = {
    "attention_f32_full": "Prefill: L queries against L keys, one head.",
    "attention_f32_causal": "Prefill: L queries, each against the keys up to its own.",
    "attention_f32_decode": "Decode: one query against L keys, one query head per key/value head.",
    "attention_f32_decode_g4": "Decode: one query token with four query heads that share one key/value head.",
    "scores_f32": "Scores of one query against L row-major keys.",
    "softmax_f32": "Softmax of a row of L scores. Its roof is the traffic alone: 12 bytes an element.",
    "weighted_sum_f32": "Sum of L rows of V, each times its weight.",
    "attend_f32": "Softmax and weighted sum fused: no weights are stored.",
    "dot_f32": "L single dot products: what scores costs without its kernel.",
}


def _inline(text):
    text = html.escape(text, quote=False)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)


def _table(rows, header):
    head = "".join(f"<th>{_inline(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{_inline(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _claims(results):
    rows = []
    for p in t.headline(results):
        if p["status"] != "measured":
            continue
        contestants = [p["row"]] + ([results["denominator"]] if p["row"] != results["denominator"] else [])
        rows.append([t.title(p["op"], p["D"]), str(p["L"]), t.engineering(p["seconds"]["median"], "s"),
                     t.spread(p["share"], t.percent), p["level"], t.spread(p["speedup"], t.times),
                     f"`{r.repeat(results, p['op'], contestants, p['D'], p['L'])}`"])
    header = [f"{results['best']}", "L", "time", "share of the roof", "data in",
              f"speed-up over {results['denominator']}", "to repeat it"]
    return _table(rows, header)


def _card(results):
    m, b, library = results["machine"], results["build"], results["library"]
    rows = [
        ["processor", f"{m['cpu']} ({m['architecture']}), {m['cpus_usable']} usable"
         + (", virtual machine" if m["virtual_machine"] else "")],
        ["clock", f"{t.engineering(m['clock_hz'], 'Hz')} (a chain of additions)"],
        ["caches", f"L1 {t.mebibytes(m['l1_bytes'])}, L2 {t.mebibytes(m['l2_bytes'])}, last {t.mebibytes(m['llc_bytes'])}"
         + ("" if m["caches_known"] else " (the system does not tell: assumed)")],
        ["memory", f"{m['memory_gib']} GiB, huge pages: {m['huge_pages']}"],
        ["frequency governor", str(m["frequency_governor"] or "not visible")],
        ["load when it began", ", ".join(f"{x:.2f}" for x in m["load_average"])],
        ["system", m["system"]],
        ["compiler", f"{b.get('compiler')}, {b.get('buildtype')} {b.get('user_flags')}"],
        ["flags of the rows", "; ".join(f"{row}: {flags or 'none'}" for row, flags in b.get("row_flags", {}).items())
         + f"; all: {b.get('row_common_flags')}"],
        ["heed", f"{library['version']}, arithmetic {library['arithmetic']}, commit {results['commit']}"],
        ["date", results["date"]],
        ["command", f"`{results['command']}`"],
    ]
    return _table(rows, ["", ""])


def _roofs(results):
    shown, rows = set(), []
    for row, roof in results["roofs"].items():
        if roof["vectors"] in shown:
            continue
        shown.add(roof["vectors"])
        rows.append([roof["vectors"], "peak", t.engineering(roof["operations_per_second"], "FLOP/s"), "12 independent chains"])
        rows += [["", level, t.engineering(x["bytes_per_second"], "B/s"), x["probe"]] for level, x in roof["levels"].items()]
    return _table(rows, ["vectors", "roof", "rate at the start", "fastest of its family"])


def _method(results):
    m, machine = results["method"], results["machine"]
    threads = "one thread" if m["threads"] == 1 else f"{m['threads']} threads (attention only; roofs likewise)"
    return "".join(f"<p>{_inline(line)}</p>" for line in (
        f"Each figure is the median of {m['samples']} samples ({threads}), minimum and maximum in brackets. The rows of a "
        "point are sampled in turn. Beside each sample, before and after it, the roofs are measured again; a sample counts "
        f"only if a 6×16 tile in L1 ran at {t.percent(m['least_tile'])} of the multiply-add peak or better meanwhile "
        "(a busy neighbour on the same core slows the tile, and the kernels, but hardly the peak), and if its thread was not "
        "interrupted for more than 3 % of the time.",
        "Share = roofline time / measured time. Roofline time is the larger of useful operations / peak and bytes / read "
        "bandwidth of the level that the data live in. Useful operations: only pairs that the mask allows, 2 per multiply-add; "
        "bytes: K and V once per key/value head. Packing and everything else that a call does is inside its time. A row is "
        "held against the roof of its own instructions, the double reference against the best row's.",
        f"Data that a core's own caches do not hold are streamed from {t.mebibytes(m['streamed_bytes'])} of memory "
        f"(the last cache has {t.mebibytes(machine['llc_bytes'])}; the rotation is twice that, at most 640 MiB and an eighth "
        "of the free memory), and are held against the DRAM probe, which reads the same memory in the same way. Softmax and "
        "prefill are not rotated: their data were just written or are used many times.",
        f"Peak of the best row: {machine['operations_per_clock']:.1f} operations a clock. "
        f"The tile reached {t.percent(machine['tile_of_peak'])} of it at the start. {t.denominator_note(results)} "
        "The row `scalar` is the portable fall-back; it is nobody's denominator.",
        "All results were checked against double precision, sampled rows with a worst-case bound, before they were timed.",
    ))


def page(results):
    parts = ["<!doctype html><html lang='en'><head><meta charset='utf-8'>",
             "<meta name='viewport' content='width=device-width, initial-scale=1'><title>heed benchmark</title>",
             f"<style>{STYLE}</style></head><body><h1>heed benchmark</h1>"]
    for line in t.verdict(results):
        loud = line.startswith(("WRONG", "INVALID"))
        parts.append(f"<p class='{'warn' if loud else 'note'}'>{_inline(line)}</p>")
    parts += [_claims(results), "<h2>Machine and build</h2>", _card(results), "<h2>Roofs</h2>", _roofs(results),
              "<h2>How it was measured</h2>", _method(results)]
    layers = r.models(results)
    if layers:
        rows = [[*t.model_cells(results, p), f"`{r.repeat(results, p['op'], [p['row']], p['D'], p['L'])}`"] for p in layers]
        parts += ["<h2 id='models'>models</h2><p>A layer of each model of bench/models, in one call.</p>",
                  _table(rows, [*t.MODEL_HEADINGS, "to repeat it"])]
    for op in dict.fromkeys(op for op, _ in r.groups(results)):
        parts.append(f"<h2 id='{op}'>{op}</h2><p>{_inline(OPERATIONS.get(op, ''))} Crosses above a plot: skipped; "
                     "rings: the machine was busy. Dotted: where the data move to the next level.</p>")
        parts.append(f"<p>To repeat it: <code>{html.escape(r.repeat(results, op, dim='[^/]+'))}</code></p>")
        parts.append(plots.operation(results, op))
        for (name, dim), points in r.groups(results).items():
            if name == op:
                rows = [t.cells(results, p) for p in points]
                parts.append(f"<details><summary>{t.title(op, dim)}: figures</summary>"
                             f"{_table(rows, t.headings(results, op))}</details>")
    return "\n".join(parts) + "</body></html>\n"

"""Results in the form that is kept: the suite's raw JSON with the facts around it."""

import datetime
import json
import re

SPREAD = ("seconds", "share", "speedup", "ratio", "tile", "peak", "bandwidth")
PREFIXES = {"skipped: ": "skipped", "machine busy: ": "busy", "WRONG: ": "wrong"}


def _name(entry):
    return re.sub(r"/iterations:\d+/manual_time$", "", entry["name"])


def _spread(entry, key):
    if key not in entry:
        return None
    return {"median": entry[key], "min": entry[key + "_min"], "max": entry[key + "_max"]}


def point(entry):
    """One benchmark of the raw file."""
    name = _name(entry)
    op, row, dim, length = name.split("/")
    result = {"name": name, "op": op, "row": row, "D": None if dim == "-" else int(dim), "L": int(length)}
    if entry.get("error_occurred"):
        message = entry["error_message"]
        for prefix, status in PREFIXES.items():
            if message.startswith(prefix):
                return {**result, "status": status, "reason": message[len(prefix):]}
        raise ValueError(f"{name}: {message}")
    result.update(status="measured", level=entry["label"], samples=entry["iterations"])
    for key in ("operations", "bytes", "pairs", "copies", "rejected", "check"):
        result[key] = entry[key]
    result["beats_its_roof"] = bool(entry["invalid"])
    for key in SPREAD:
        result[key] = _spread(entry, key)
    return result


def _roofs(context, rows):
    roofs = {}
    for row in rows:
        prefix = f"roof/{row}/"
        found = {key[len(prefix):]: value for key, value in context.items() if key.startswith(prefix)}
        levels = {
            level: {"bytes_per_second": float(found[level]), "probe": found[level + "_probe"]}
            for level in ("L1", "L2", "L3", "DRAM")
        }
        roofs[row] = {"vectors": found["vector"], "operations_per_second": float(found["peak"]), "levels": levels}
    return roofs


def unordered_points(raw):
    """The points of the raw file as they ran, the cheapest first."""
    return [point(entry) for entry in raw["benchmarks"] if entry.get("run_type", "iteration") == "iteration"]


def points(raw):
    """The points, operations in the order of the list, lengths ascending."""
    context = raw["context"]
    rows, order = context["rows"].split(), context["operations"].split()
    return sorted(unordered_points(raw), key=lambda p: (order.index(p["op"]), p["D"] or 0, p["L"], rows.index(p["row"])))


def merge(raw, machine, build, commit, fmas, command):
    """The whole result: what was measured, on what, from which source, and whether it counts."""
    context = raw["context"]
    rows = context["rows"].split()
    found = points(raw)
    beaten = [p["name"] for p in found if p.get("beats_its_roof")]
    wrong = [p["name"] for p in found if p["status"] == "wrong"]
    return {
        "format": 1,
        "valid": not beaten and not wrong,
        "beat_their_roof": beaten,
        "wrong": wrong,
        "date": context.get("date") or datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": command,
        "commit": commit,
        "library": {
            "version": context["heed_version"],
            "arithmetic": int(context["heed_arithmetic"]),
            "isa": context["heed_isa"],
        },
        "build": {key: value for key, value in build.items() if key != "source"},
        "machine": {
            **machine,
            "clock_hz": float(context["clock_hz"]),
            "operations_per_clock": float(context["operations_per_clock"]),
            "tile_of_peak": float(context["tile_of_peak"]),
            "l1_bytes": int(context["l1_bytes"]),
            "l2_bytes": int(context["l2_bytes"]),
            "llc_bytes": int(context["llc_bytes"]),
            "caches_known": context["caches_known"] == "1",
        },
        "method": {
            "quick": context["quick"] == "1",
            "threads": int(context["threads"]),
            "samples": int(context["samples"]),
            "least_tile": float(context["least_tile"]),
            "most_share": float(context["most_share"]),
            "streamed_bytes": int(context["streamed_bytes"]),
        },
        "rows": rows,
        "best": rows[0],
        "denominator": context["denominator"],
        "vector_fmas_in_denominator": fmas,
        "models": {op: context["model/" + op] for op in context["models"].split()},
        "roofs": _roofs(context, rows),
        "points": found,
    }


def write(results, path):
    path.write_text(json.dumps(results, indent=1) + "\n")


# ---- Ways to look at them ---------------------------------------------------------------------------------------


def groups(results):
    """(op, D) in the order of the list, each with its points; layers of models stand apart."""
    found = {}
    for p in results["points"]:
        if p["op"] not in results["models"]:
            found.setdefault((p["op"], p["D"]), []).append(p)
    return found


def models(results):
    """The layers of models, each a single point of the best row (of others too, where a filter asked)."""
    return [p for p in results["points"] if p["op"] in results["models"]]


def is_prefill(op):
    return op.startswith(("attention_", "three_steps_")) and not ("_decode" in op or "_tokens" in op)


def unit(op):
    """What a time is divided by: keys, or for prefill the pairs that the mask allows."""
    return "attended pair" if is_prefill(op) else "element" if op.startswith("softmax") else "key"


def count(p):
    """How many of these units a call has."""
    return p["pairs"] if is_prefill(p["op"]) else p["L"]


def roofline_seconds(p):
    """Of a call, at the medians of the roofs that stood beside its samples."""
    return max(p["operations"] / p["peak"]["median"], p["bytes"] / p["bandwidth"]["median"])


def repeat(results, op, rows=None, dim=None, length=None):
    """The one command that measures this again."""
    row = "[^/]+" if rows is None else rows[0] if len(rows) == 1 else "(" + "|".join(rows) + ")"
    words = f"^{op}/{row}/{'-' if dim is None else dim}/" + (f"{length}$" if length is not None else "")
    threads = results["method"]["threads"]
    return f"scripts/bench --filter '{words}'" + (f" --threads {threads}" if threads > 1 else "")

"""Two builds of heed, measured in turn: which of them is faster where."""

import math

BEFORE, NOW = "before", "now"


def verdict(before, now):
    """Of two spreads of times. They differ if their ranges are disjoint, and not otherwise."""
    if now["min"] > before["max"]:
        return "slower"
    return "faster" if now["max"] < before["min"] else "same"


def compare(points):
    """The points of both (results.point) side by side. The verdict on one that either has no times of says why."""
    pairs = {}
    for p in points:
        pairs.setdefault((p["op"], p["D"], p["L"]), {})[p["row"]] = p
    compared = []
    for (op, dim, length), pair in pairs.items():
        name = f"{op}/{'-' if dim is None else dim}/{length}"
        line = {"name": name, BEFORE: None, NOW: None, "ratio": None}
        unmeasured = [(side, pair[side]) for side in (NOW, BEFORE) if pair[side]["status"] != "measured"]
        for side, p in pair.items():
            if p["status"] == "measured":
                line[side] = p["seconds"]
        if unmeasured:
            side, p = unmeasured[0]
            line["verdict"], line["reason"] = p["status"], f"{side}: {p['reason']}"
        else:
            line["verdict"] = verdict(line[BEFORE], line[NOW])
            line["ratio"] = line[BEFORE]["median"] / line[NOW]["median"]
        compared.append(line)
    return compared


def to_confirm(compared):
    """A filter for heed-bench that finds the points that differ; None if there are none."""
    names = ["/[^/]+/".join(line["name"].split("/", 1)) for line in compared if line["verdict"] in ("slower", "faster")]
    return f"^({'|'.join(names)})$" if names else None


def confirm(compared, again):
    """What was measured again, elsewhere in memory, counts with what was measured first: ranges become wider."""
    second = {line["name"]: line for line in again}
    for line in compared:
        other = second.get(line["name"])
        if line["ratio"] is None or other is None:
            continue
        if other["ratio"] is None:
            line.update(verdict=other["verdict"], ratio=None, reason=other["reason"])
            continue
        for side in (BEFORE, NOW):
            a, b = line[side], other[side]
            line[side] = {"median": (a["median"] + b["median"]) / 2, "min": min(a["min"], b["min"]),
                          "max": max(a["max"], b["max"])}
        line["verdict"] = verdict(line[BEFORE], line[NOW])
        line["ratio"] = line[BEFORE]["median"] / line[NOW]["median"]


def count(compared):
    """How many points have each verdict."""
    verdicts = [line["verdict"] for line in compared]
    return {word: verdicts.count(word) for word in dict.fromkeys(["faster", "slower", "same", *verdicts])}


def mean_ratio(compared):
    """Geometric mean of before / now; None if nothing was measured."""
    ratios = [line["ratio"] for line in compared if line["ratio"] is not None]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def exit_status(compared):
    """0: nothing has become slower or wrong. 2: nothing was measured, so that nobody can tell."""
    if any(line["verdict"] in ("slower", "wrong") for line in compared):
        return 1
    return 0 if any(line["ratio"] is not None for line in compared) else 2

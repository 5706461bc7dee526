"""The report as Markdown, and the plain list of the points where a peer is faster."""

import verdict
from report import text

COMMAND = "scripts/bench --peers"
FEW = 5  # a median of fewer samples says how many


def repeat(name, threads):
    """The command that measures a point again."""
    return f"{COMMAND} --threads={threads} --filter='^{name}$'"


def judged(results):
    return [verdict.judge(point) for point in results["points"]]


def faster(results):
    """A line for each point and peer: by how much, and the command that repeats it."""
    lines = []
    for point, found in zip(results["points"], judged(results)):
        for name in found["faster"]:
            ratio = verdict.spread(verdict.ratios(point, name))
            lines.append(f"{found['name']} threads={found['threads']}: {name} is {1 / ratio['median']:.2f} times as fast as "
                         f"heed ({1 / ratio['max']:.2f} - {1 / ratio['min']:.2f}): "
                         f"{repeat(found['name'], found['threads'])}")
    return lines


def summary(results):
    """The few lines that a terminal shows at the end."""
    found = judged(results)
    lines = [f"{title}, {_threads(threads)}: {mean:.2f} × the best peer (geometric mean of {count}; least {least:.2f})"
             for (title, threads), (mean, least, count) in verdict.group_means(found).items()]
    lines.append(f"points where a peer is faster: {sum(bool(each['faster']) for each in found)} of {len(found)}")
    lines += ["  " + each for each in faster(results)]
    return lines + warnings(results)


def warnings(results):
    """What must be read before any figure."""
    said = []
    for point, found in zip(results["points"], judged(results)):
        name = f"{found['name']}, {_threads(found['threads'])}"
        said += [f"WRONG RESULT, not timed: {name}: {heed}" for heed in (verdict.HEED, verdict.PANELS)
                 if point["peers"].get(heed, {}).get("status") in ("wrong", "failed")]
        if found["beats_roof"]:
            said.append(f"INVALID: {name}: faster than the roof that was measured beside it")
        if point["runs"] and not found["heed"]:
            said.append(f"machine busy: {name}: no sample was undisturbed")
    return said


def markdown(results):
    parts = ["# heed beside its peers", _heading(results), _missing(results), _how_to_read(), _means(results),
             "\n".join(f"- {line}" for line in warnings(results)),
             "## Where a peer is faster", _faster_list(results)]
    titles = list(dict.fromkeys((verdict.title_of(p), p["threads"]) for p in results["points"]))
    for title, threads in titles:
        chosen = [p for p in results["points"] if (verdict.title_of(p), p["threads"]) == (title, threads)]
        parts += [f"## {title}, {_threads(threads)}", _points_table(chosen), _peers_table(chosen)]
    parts += ["## Not measured, and why", _not_measured(results)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _threads(count):
    return f"{count} thread{'s' * (count > 1)}"


def _seconds(spread):
    return text.engineering(spread["median"], "s") if spread else "–"


def _counted(spread):
    return _seconds(spread) + (f" ({spread['count']} samples)" if spread and spread["count"] < FEW else "")


def _range(spread, show):
    return f"{show(spread['median'])} ({show(spread['min'])} – {show(spread['max'])})" if spread else "–"


def _heading(results):
    machine, lines = results["machine"], []
    lines.append(f"{results['date']}, commit {results['commit'] or 'unknown'}, `{results['command']}`"
                 + (" (quick: few points and samples; quote a full run)" if results["quick"] else ""))
    lines.append(f"{machine['cpu']}, {machine['cpus_usable']} processors usable, {machine['memory_gib']} GiB, "
                 f"huge pages {machine['huge_pages']}" + (", virtual machine" if machine["virtual_machine"] else ""))
    for c in results["contexts"]:
        levels = ", ".join(f"{level} {text.engineering(rate, 'B/s')}" for level, rate in c["bandwidth"].items())
        lines.append(f"{_threads(c['threads'])}: heed's row {c['heed_row']}, clock {text.engineering(c['clock_hz'], 'Hz')}, "
                     f"multiply-add peak of that row {text.engineering(c['peak'], 'FLOP/s')}, reads {levels}")
        lines.append(", ".join(f"{name} {version}" for name, version in c["versions"].items()))
    return "  \n".join(dict.fromkeys(lines))


def _missing(results):
    missing = {name: reason for c in results["contexts"] for name, reason in c["missing"].items()}
    if not missing:
        return "All peers could be had."
    return "Missing peers:\n\n" + "\n".join(f"- {name}: {reason}" for name, reason in missing.items())


def _how_to_read():
    return (
        "*Ratio*: the best peer's time over heed's in the same round, so above 1 heed is faster; median, minimum and maximum "
        "over the rounds. *Share*: the time that the roofs beside heed's samples allow, over heed's time. The roofs are those "
        "of the instructions of heed's row; a peer that uses wider vectors has a higher one. heed takes row-major keys and "
        "values; *panels* are the layout of heed's own cache. A point is *faster* for a peer only if every one of its samples "
        "is below every one of heed's, in seven rounds or more. Where the best peer was within 5 % of heed or ahead, the "
        "figures are of a second, longer run. What is wrong is not timed.")


def _means(results):
    rows = [[title, str(threads), f"{mean:.2f}", f"{least:.2f}", str(count)]
            for (title, threads), (mean, least, count) in verdict.group_means(judged(results)).items()]
    return text.table(rows, ["", "threads", "ratio, geometric mean", "least", "points"]) if rows else ""


def _faster_list(results):
    lines = faster(results)
    return "\n".join(f"- {line.replace(': scripts', ': `scripts')}`" for line in lines) if lines else "Nowhere."


def _points_table(chosen):
    rows = []
    for found in map(verdict.judge, chosen):
        rows.append([
            "/".join(found["name"].split("/")[1:]), _counted(found["heed"]), _range(found["share"], text.percent),
            found["bound"] or "–", found["best"] or "–", _counted(found["best_seconds"]),
            _range(found["ratio"], lambda x: f"{x:.2f}") + (" **slower**" if found["faster"] else ""),
            f"{_seconds(found['panels'])}, {text.percent(found['panels_share']['median'])}, "
            f"{found['panels_ratio']['median']:.2f}" if found["panels"] and found["panels_share"] and found["panels_ratio"] else "–"])
    header = ["point", "heed", "share of the roof", "roof", "best peer", "its time", "ratio", "panels: time, share, ratio"]
    if all(row[-1] == "–" for row in rows):
        header, rows = header[:-1], [row[:-1] for row in rows]
    return text.table(rows, header)


def _peers_table(chosen):
    """Every peer's median time; a mark instead of a time for what is wrong."""
    names = list(dict.fromkeys(name for p in chosen for name, said in p["peers"].items()
                               if said["status"] in ("measured", "wrong", "failed")))
    rows = []
    for point in chosen:
        seconds, cells = verdict.seconds_of(point), []
        for name in names:
            said = point["peers"].get(name, {"status": ""})
            cells.append(_seconds(verdict.spread(seconds.get(name, {}).values())) if said["status"] == "measured"
                         else f"wrong ({said['error']:.2g})" if said["status"] == "wrong"
                         else "failed" if said["status"] == "failed" else "–")
        rows.append(["/".join(point["name"].split("/")[1:])] + cells)
    return "Median times of all:\n\n" + text.table(rows, ["point"] + names)


def _not_measured(results):
    reasons = {}
    for point in results["points"]:
        for name, said in point["peers"].items():
            if said["status"] in ("unsupported", "failed"):
                reasons.setdefault((name, said["status"], said["reason"]), []).append(point["name"])
            elif said["status"] == "wrong":
                reasons.setdefault((name, "wrong", "differs from double precision"), []).append(
                    f"{point['name']} by {said['error']:.2g} of its largest number")
    return "\n".join(f"- {name}: {status}: {reason} ({len(where)} points; {where[0]})"
                     for (name, status, reason), where in reasons.items())

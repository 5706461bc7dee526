#!/usr/bin/env python3
"""Holds the working tree against another commit: both libraries in one process, sampled in turn on the same numbers.
A point has become slower or faster where the ranges of its times are disjoint, and still are with those of a second
process, where everything lies elsewhere in memory. scripts/bench --against calls it."""

import argparse
import json
import sys
from pathlib import Path

from report import comparison, facts, results, suite, text


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", type=Path, required=True, help="where the suite was built")
    parser.add_argument("--before", type=Path, required=True, metavar="FILE", help="the other commit's shared library")
    parser.add_argument("--now", type=Path, required=True, metavar="FILE", help="the working tree's")
    parser.add_argument("--against", required=True, metavar="COMMIT", help="what the other commit was called")
    parser.add_argument("--commit", required=True, metavar="HASH", help="which one that is")
    parser.add_argument("--quick", action="store_true", help="fewer lengths and samples")
    parser.add_argument("--filter", metavar="RE", help="only names <op>_<type>[_<variant>]/<row>/<D>/<L> that match")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="attention with N threads")
    parser.add_argument("--seconds", type=float, help="what has not begun by then is skipped")
    parser.add_argument("--out", type=Path, default=Path("bench-results"), metavar="DIR", help="where the results go")
    return parser.parse_args()


def print_table(compared):
    seconds = lambda x: text.engineering(x, "s")  # noqa: E731
    rows = [("", "before: median", "min", "now: median", "min", "before / now", "")]
    for line in compared:
        cells = [line["name"]]
        for side in (comparison.BEFORE, comparison.NOW):
            cells += [seconds(line[side][key]) if line[side] else "–" for key in ("median", "min")]
        ratio = f"{line['ratio']:.3f}" if line["ratio"] is not None else "–"
        rows.append((*cells, ratio, line.get("reason", line["verdict"])))
    text.print_columns(rows, left={0, len(rows[0]) - 1})


def measure(arguments, words):
    """The raw results of a run."""
    raw = arguments.out / "raw-against.json"
    libraries = [word for side, file in ((comparison.BEFORE, arguments.before), (comparison.NOW, arguments.now))
                 for word in ("--library", f"{side}={file.resolve()}")]
    print(words, flush=True)
    status = suite.run(arguments, "--out", raw, *libraries)
    if status not in (0, 1):
        sys.exit(status)
    measured = json.loads(raw.read_text())
    raw.unlink()
    return measured


def main():
    arguments = parse_arguments()
    arguments.out.mkdir(parents=True, exist_ok=True)
    machine = facts.machine()
    measured = measure(arguments, "measuring the roofs, then both libraries in turn")
    compared = comparison.compare(results.points(measured))
    differing = comparison.to_confirm(compared)
    if differing:
        once_more = argparse.Namespace(**{**vars(arguments), "filter": differing})
        again = measure(once_more, "once more what differs, in a process of its own")
        comparison.confirm(compared, comparison.compare(results.points(again)))
    context = measured["context"]
    build = json.loads((arguments.build_dir / "bench/build.json").read_text())
    found = {
        "format": 1,
        "date": context["date"],
        "machine": machine,
        "build": {key: build[key] for key in ("compiler", "user_flags")},
        "threads": arguments.threads,
        "samples": int(context["samples"]),
        "before": {"commit": arguments.commit, "isa": context["isa/" + comparison.BEFORE]},
        "now": {"commit": facts.commit(build["source"]), "isa": context["isa/" + comparison.NOW]},
        "verdicts": comparison.count(compared),
        "mean_ratio": comparison.mean_ratio(compared),
        "points": compared,
    }
    results.write(found, arguments.out / "against.json")
    print()
    print_table(compared)
    mean = found["mean_ratio"]
    print(f"\nbefore: {arguments.against}, {arguments.commit[:12]} ({found['before']['isa']}); "
          f"now: {found['now']['commit']} ({found['now']['isa']}); {found['samples']} samples each, in turn\n"
          + ", ".join(f"{number} {word}" for word, number in found["verdicts"].items())
          + (f"; geometric mean of before / now {mean:.3f}" if mean else ""))
    return comparison.exit_status(compared)


if __name__ == "__main__":
    sys.exit(main())

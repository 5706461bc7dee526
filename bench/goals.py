#!/usr/bin/env python3
"""Measures the goals of speed (report/goals.py) and says which are met. scripts/bench --goals calls it."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from report import facts, goals, results, suite, text


def regular_expression(words):
    try:
        re.compile(words)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"'{words}': {error}") from error
    return words


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build-dir", type=Path, required=True, help="where the project was built")
    parser.add_argument("--goals", action="store_true", help="as scripts/bench has it")
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    parser.add_argument("--filter", metavar="RE", type=regular_expression,
                        help="only points <op>/<D>/<L>[:<partner>] that match")
    parser.add_argument("--seconds", type=float, default=600.0, help="what has not begun by then is skipped")
    parser.add_argument("--out", type=Path, default=Path("bench-results"), metavar="DIR", help="where the results go")
    return parser.parse_args()


def measure(arguments, points, threads):
    """The raw results of these points."""
    raw = arguments.out / "raw-goals.json"
    asked = argparse.Namespace(build_dir=arguments.build_dir, threads=threads, quick=arguments.quick, filter=None,
                               seconds=arguments.seconds)
    print(f"measuring {len(points)} points with {'one thread' if threads == 1 else f'{threads} threads'}", flush=True)
    status = suite.run(asked, "--out", raw, *(word for point in points for word in ("--point", point)))
    if status not in (0, 1):
        sys.exit(status)
    measured = json.loads(raw.read_text())
    raw.unlink()
    return measured


def stripped_bytes(build_dir):
    """Of the shared library that is installed; None if there is none."""
    libraries = [path for path in (build_dir / "src/libheed.so", build_dir / "src/libheed.dylib") if path.exists()]
    if not libraries or shutil.which("strip") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, libraries[0].name)
        shutil.copyfile(libraries[0], copy)
        return copy.stat().st_size if subprocess.run(["strip", copy], check=False).returncode == 0 else None


def usable_processors():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def markdown(found, lines):
    machine = found["machine"]
    return "\n".join([
        "# Goals", "",
        f"{machine['cpu']}, {found['build']['compiler']}, commit {found['commit']}, {found['date']}; row {found['isa']}, "
        f"{found['samples']} samples a point. A share is of the roof measured beside each sample; a point with a partner "
        "was sampled in turn with it.", "",
        text.table(goals.summary(lines), goals.SUMMARY_HEADINGS), "",
        "## Every point", "",
        text.table(goals.table(lines), goals.HEADINGS), ""])


def main():
    arguments = parse_arguments()
    wanted = goals.chosen(arguments.filter)
    if not wanted:
        sys.exit(f"goals: no point matches '{arguments.filter}'")
    arguments.out.mkdir(parents=True, exist_ok=True)
    machine = facts.machine()
    runs, context = {}, None
    for threads in (1, 2):
        points = goals.points_of(wanted, threads)
        if points and threads <= usable_processors():
            measured = measure(arguments, points, threads)
            context = context or measured["context"]
            runs[threads] = {goals.name_of(p): p for p in results.unordered_points(measured)}
    lines = goals.judge(wanted, runs, stripped_bytes(arguments.build_dir))
    build = json.loads((arguments.build_dir / "bench/build.json").read_text())
    found = {
        "format": 1, "date": context["date"], "machine": machine, "commit": facts.commit(build["source"]),
        "build": {key: build[key] for key in ("compiler", "user_flags")}, "isa": context["heed_isa"],
        "samples": int(context["samples"]),
        "goals": [{"figure": line["goal"].figure, "measure": line["goal"].measure, "bound": line["goal"].bound,
                   "point": line["point"], "measured": line["figure"], "met": line["met"], "reason": line["reason"]}
                  for line in lines],
    }
    results.write(found, arguments.out / "goals.json")
    (arguments.out / "goals.md").write_text(markdown(found, lines))
    print()
    text.print_columns([goals.SUMMARY_HEADINGS, *goals.summary(lines)], left=(0, 1, 2, 3))
    met = sum(line["met"] is True for line in lines)
    print(f"\n{met} of {len(lines)} met; every point: {(arguments.out / 'goals.md').resolve()}")
    return 0 if met == len(lines) else 1


if __name__ == "__main__":
    sys.exit(main())

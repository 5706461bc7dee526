#!/usr/bin/env python3
"""Runs the benchmark suite and writes its report: results.json, results.md, report.html. scripts/bench calls it."""

import argparse
import json
import shlex
import sys
from pathlib import Path

from report import facts, page, picture, results, suite, text

BUILD = "bench/build.json"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build-dir", type=Path, required=True, help="where the project was built")
    parser.add_argument("--quick", action="store_true", help="under a minute: fewer lengths and samples")
    parser.add_argument("--filter", metavar="RE", help="only names <op>_<type>[_<variant>]/<row>/<D>/<L> that match")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="attention with N threads")
    parser.add_argument("--seconds", type=float, help="what has not begun by then is skipped")
    parser.add_argument("--out", type=Path, default=Path("bench-results"), metavar="DIR", help="where the report goes")
    parser.add_argument("--picture", type=Path, metavar="FILE.svg", help="also draw the README's picture")
    return parser.parse_args()


def user_command(arguments):
    words = ["scripts/bench"]
    words += ["--quick"] if arguments.quick else []
    words += ["--filter", arguments.filter] if arguments.filter else []
    words += ["--threads", str(arguments.threads)] if arguments.threads > 1 else []
    return shlex.join(words)


def print_tables(found):
    rows = [("", "L", "time", "share", "data in", f"over {found['denominator']}")]
    for p in text.headline(found):
        if p["status"] == "measured":
            speedup = text.times(p["speedup"]["median"]) if p["speedup"] else "–"
            rows.append((f"{text.title(p['op'], p['D'])} [{p['row']}]", str(p["L"]),
                         text.engineering(p["seconds"]["median"], "s"), text.percent(p["share"]["median"]), p["level"],
                         speedup))
        else:
            rows.append((f"{text.title(p['op'], p['D'])} [{p['row']}]", str(p["L"]), p["status"], "", "", ""))
    if len(rows) > 1:
        text.print_columns(rows)
    layers = [text.model_cells(found, p) for p in results.models(found)]
    if layers:
        print()
        text.print_columns([text.MODEL_HEADINGS, *layers], left=(0, 1, 2))


def main():
    arguments = parse_arguments()
    machine = facts.machine()
    build = json.loads((arguments.build_dir / BUILD).read_text())
    arguments.out.mkdir(parents=True, exist_ok=True)
    raw = arguments.out / "raw.json"
    print("measuring the roofs, then every kernel beside them", flush=True)
    status = suite.run(arguments, "--out", raw)
    if status not in (0, 1):
        return status
    measured = json.loads(raw.read_text())
    raw.unlink()
    fmas = facts.vector_fmas(arguments.build_dir, measured["context"]["denominator"])
    found = results.merge(measured, machine, build, facts.commit(build["source"]), fmas, user_command(arguments))
    results.write(found, arguments.out / "results.json")
    (arguments.out / "results.md").write_text(text.markdown(found))
    report = arguments.out / "report.html"
    report.write_text(page.page(found))
    if arguments.picture:
        arguments.picture.write_text(picture.draw(found))
    print()
    print_tables(found)
    for line in text.verdict(found):
        print("\n" + line)
    print(f"\n{text.denominator_note(found)}\nreport: {report.resolve()}")
    return 0 if found["valid"] else 1 if found["wrong"] else 3


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Runs the measurement of heed beside its peers and writes its report. scripts/bench --peers calls it."""

import argparse
import datetime
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import points  # noqa: E402 (the folder above has to be known first)
import verdict  # noqa: E402
from report import facts  # noqa: E402

COMMAND = "scripts/bench --peers"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build-dir", type=Path, required=True, help="where heed was built")
    parser.add_argument("--place", type=Path, required=True, help="where setup has made the peers' Debian")
    parser.add_argument("--peers", action="store_true", help=argparse.SUPPRESS)  # what scripts/bench chose this by
    parser.add_argument("--quick", action="store_true", help="a coarse part of the grid")
    parser.add_argument("--filter", metavar="RE", help="only points whose name matches")
    parser.add_argument("--threads", type=int, metavar="N", help="with N threads only (default: one, then two)")
    parser.add_argument("--out", type=Path, default=Path("bench-results"), metavar="DIR", help="where the report goes")
    return parser.parse_args()


def user_command(arguments):
    words = ["--quick"] if arguments.quick else []
    words += [f"--filter={arguments.filter}"] if arguments.filter else []
    words += [f"--threads={arguments.threads}"] if arguments.threads else []
    return shlex.join(COMMAND.split() + words)


def measure(arguments, threads):
    """Yields the objects that measure.py prints, from inside the peers' Debian."""
    root = HERE.parent.parent
    inside = Path("/heed") / arguments.build_dir.resolve().relative_to(root)
    # OpenBLAS: one thread, since who calls it here has the others. Threads wait asleep: the next peer has its own.
    settings = [f"OMP_NUM_THREADS={threads}", "OPENBLAS_NUM_THREADS=1"]
    command = [HERE / "setup", arguments.place, "run", *settings, "python3", "/heed/bench/peers/measure.py",
               "--threads", threads, "--heed-build", inside, "--shims", "/opt/heed-peers"]
    command += ["--quick"] if arguments.quick else []
    command += ["--filter", arguments.filter] if arguments.filter else []
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            yield json.loads(line)
    if process.returncode != 0:
        sys.exit(f"peers: the measurement ended with status {process.returncode}")


def run(arguments, threads):
    """One process' context and points, with a line of progress for each."""
    context, found = None, []
    for item in measure(arguments, threads):
        kind = item.pop("kind")
        if kind == "context":
            context = item
            print(f"{threads} thread{'s' * (threads > 1)}: {item['points']} points, heed's row {item['heed_row']}", flush=True)
            for peer, reason in item["missing"].items():
                print(f"missing: {peer}: {reason}", flush=True)
        elif kind == "point":
            found.append(item)
            print(f"[{len(found)}/{context['points']}] {verdict.line(item)}", flush=True)
        elif kind == "end":
            context["seconds"] = item["seconds"]
    return context, found


def main():
    arguments = parse_arguments()
    chosen = points.read(arguments.filter, arguments.quick)
    if not chosen:
        sys.exit(f"peers: no point of the grid matches {arguments.filter}")
    allowed = len(os.sched_getaffinity(0))
    counts = [arguments.threads] if arguments.threads else [1, 2][:allowed]
    contexts, found = [], []
    for threads in counts:
        if threads > 1 and all(point.kernel for point in chosen):
            continue
        context, measured = run(arguments, threads)
        contexts.append(context)
        found += measured
    results = {"format": 1, "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
               "command": user_command(arguments), "quick": arguments.quick, "commit": facts.commit(HERE.parent.parent),
               "machine": facts.machine(), "contexts": contexts, "points": found}
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "peers.json").write_text(json.dumps(results, indent=1) + "\n")
    return write_report(results, arguments.out)


def write_report(results, out):
    import plots
    import tables
    (out / "peers.md").write_text(tables.markdown(results))
    (out / "peers-faster.txt").write_text("".join(line + "\n" for line in tables.faster(results)))
    for family, picture in plots.families(results):
        (out / f"peers-{family}.svg").write_text(picture)
    print()
    for line in tables.summary(results):
        print(line)
    print(f"report: {(out / 'peers.md').resolve()}")
    return 1 if any(verdict.heed_is_wrong(point) for point in results["points"]) else 0


if __name__ == "__main__":
    sys.exit(main())

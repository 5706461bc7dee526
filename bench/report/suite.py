"""Runs heed-bench and shows how far it is."""

import subprocess
import sys
from pathlib import Path

MODELS = Path(__file__).resolve().parent.parent / "models"


def _show_progress(lines):
    """One line that changes on a terminal; elsewhere a line for each twentieth."""
    shown = -1
    for line in lines:
        line = line.rstrip()
        if not line.startswith("["):
            print(line, flush=True)
            continue
        done, total = map(int, line[1:line.index("]")].split("/"))
        if sys.stdout.isatty():
            print(f"\r\033[K{line[:118]}", end="\n" if done == total else "", flush=True)
        elif done * 20 // total != shown or "WRONG" in line:
            shown = done * 20 // total
            print(line, flush=True)


def run(arguments, *words):
    """heed-bench of arguments.build_dir with the options that every way of running it has; its exit status."""
    command = [arguments.build_dir / "bench/heed-bench", "--models", MODELS, "--threads", arguments.threads, *words]
    command += ["--quick"] if arguments.quick else []
    command += ["--filter", arguments.filter] if arguments.filter else []
    command += ["--seconds", arguments.seconds] if arguments.seconds else []
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) as suite:
        _show_progress(suite.stdout)
    return suite.returncode

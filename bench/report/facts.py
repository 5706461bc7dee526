"""Facts about the machine, the build and the checkout that a figure belongs to."""

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path


def _output(*command, cwd=None):
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _field(path, pattern):
    try:
        match = re.search(pattern, Path(path).read_text(), re.MULTILINE)
    except OSError:
        return None
    return match.group(1).strip() if match else None


def machine():
    """The machine card."""
    memory = _field("/proc/meminfo", r"^MemTotal:\s+(\d+) kB")
    governor = _field("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", r"(\S+)")
    flags = _field("/proc/cpuinfo", r"^flags\s*:(.*)$") or ""
    return {
        "cpu": _field("/proc/cpuinfo", r"^model name\s*:(.*)$") or platform.processor() or platform.machine(),
        "family_model_stepping": [
            _field("/proc/cpuinfo", rf"^{key}\s*:(.*)$") for key in ("cpu family", "model", "stepping")
        ],
        "architecture": platform.machine(),
        "cpus_usable": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "virtual_machine": "hypervisor" in flags.split(),
        "memory_gib": round(int(memory) / 2**20, 1) if memory else None,
        "huge_pages": _field("/sys/kernel/mm/transparent_hugepage/enabled", r"\[(\w+)\]"),
        "frequency_governor": governor,
        "system": platform.platform(),
        "load_average": list(os.getloadavg()),
    }


def commit(source):
    """The commit that was built, with a mark if files differ from it."""
    name = _output("git", "rev-parse", "HEAD", cwd=source)
    if name is None:
        return None
    changed = _output("git", "status", "--porcelain", "--untracked-files=no", cwd=source)
    return name + ("-modified" if changed else "")


def vector_fmas(build_dir, row):
    """How many 256-bit (or NEON) multiply-adds the compiler put into a row's objects; None if that can't be told."""
    objects = sorted(Path(build_dir).glob(f"**/libheed_{row}.a.p/*.o"))
    if not objects or shutil.which("objdump") is None:
        return None
    text = _output("objdump", "-d", "--no-show-raw-insn", *map(str, objects))
    if text is None:
        return None
    return len(re.findall(r"\bvfn?madd\w*ps\s.*%[yz]mm|\bfmla\s+v\d+\.4s", text))

"""Generated inputs: every distribution and a few shapes agree, and a seed gives the same numbers again."""
import json
import sys

from safetensors import run

program = sys.argv[1]
failures = []


def compare(*arguments):
    status, text = run(program, "--json", "--time", "0", *arguments)
    if status not in (0, 77):
        failures.append(f"{' '.join(map(str, arguments))}: status {status}\n{text}")
    return json.loads(text)["cases"][0] if status in (0, 77) else {}


def errors(case):
    return [[row["max_absolute_error"] for row in c["rows"]] for c in case.get("computations", [])]


for seed, distribution in enumerate(["normal", "uniform", "wide", "integers"]):
    compare("--seed", seed, "--distribution", distribution)
compare("--seed", 5, "--len-kv", 0)
compare("--seed", 6, "--len-q", 0)
compare("--seed", 6, "--batch", 0)
compare("--seed", 6, "--heads-q", 0)
compare("--seed", 6, "--heads-q", 0, "--heads-kv", 0)
compare("--seed", 7, "--batch", 2, "--heads-q", 6, "--heads-kv", 3, "--len-q", 17, "--len-kv", 33, "--dim", 7)
compare("--seed", 8, "--len-q", 1, "--len-kv", 1025, "--dim", 1, "--dim-v", 257)
compare("--seed", 9, "--len-q", 33, "--len-kv", 33, "--causal", "--scale", -0.3)
compare("--seed", 10, "--softcap", 3, "--alibi", "--sinks", "--window-left", 20)

first, again, other = (compare("--seed", seed) for seed in (11, 11, 12))
if first.get("name") != "generated, normal, seed 11" or errors(first) != errors(again) or errors(first) == errors(other):
    failures.append("the seed does not decide the numbers")
kernels = [computation["kernel"] for computation in first.get("computations", [])]
if kernels != ["dot", "scores", "softmax", "weighted_sum", "attend", "attention"]:
    failures.append(f"kernels compared: {kernels}")

for arguments in (["--heads-q", 3], ["--len-q", -1], ["--dim", 0], ["--len-q", 2**40], ["--distribution", "cauchy"],
                  ["--scale", "nan"], ["--scale", "inf"], ["--softcap", -1], ["--softcap", "nan"], ["--window-left", -2],
                  ["--heads-q", 0, "--heads-kv", -1], ["--dim-v", -1], ["--heads-q", 0, "--heads-kv", 2**40]):
    status, text = run(program, *arguments)
    if status != 2:
        failures.append(f"{arguments}: status {status}, expected 2\n{text}")

print("\n".join(failures) or "generated inputs agree")
sys.exit(bool(failures))

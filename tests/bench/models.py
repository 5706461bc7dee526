"""How heed-bench reads a file of layers of models: what it understands, and what it refuses, with the line's number."""
import pathlib
import subprocess
import sys
import tempfile

program, models = sys.argv[1], pathlib.Path(sys.argv[2])
failures = []


def run(file):
    """Exit status, and {operation: (row, D, L, shape)} or what was said instead."""
    done = subprocess.run([program, "--models", file, "--list", "--filter", "_(prefill|decode)/[^/]*/[0-9]*/[0-9]*$"],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        return done.returncode, done.stderr
    layers = {}
    for line in done.stdout.splitlines():
        name, _, shape = line.partition(": ")
        if shape:
            operation, _, dim, length = name.split("/")
            layers[operation] = (int(dim), int(length), shape)
    return 0, layers


def expect(what, got, wanted):
    if got != wanted:
        failures.append(f"{what}: {got}, expected {wanted}")


def refused(folder, text, *words):
    file = folder / "models"
    file.write_text("# a comment\n\n" + text + "\n", encoding="utf-8")
    status, said = run(file)
    if status != 2 or any(word not in said for word in (f"{file}:3: ", *words)):
        failures.append(f"'{text}': status {status}, expected 2 and {words}\n{said}")


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    good = folder / "good"
    good.write_text("""
# a comment, and nothing else
plain      3  3 40 40 f32  -                              7  9  quick  # and one at the end
every_one  8  2 64 48 bf16 causal,window=100,softcap=50   10 200 -
\tlatent_1\t4 1 576 512 int8 latent - 33 -
""", encoding="utf-8")
    expect("a good file", run(good), (0, {
        "plain_f32_prefill": (40, 7, "3 heads, D 40, 7 queries × 7 keys, f32"),
        "plain_f32_decode": (40, 9, "3 heads, D 40, 1 query × 9 keys, f32"),
        "every_one_bf16_prefill":
            (64, 10, "8 heads on 2, D 64 / 48, 10 queries × 10 keys, bf16, causal, window 100, soft-cap 50"),
        "every_one_bf16_decode": (64, 200, "8 heads on 2, D 64 / 48, 1 query × 200 keys, bf16, window 100, soft-cap 50"),
        "latent_1_int8_decode": (576, 33, "4 heads on 1, D 576 / 512, 1 query × 33 keys, int8, V within K"),
    }))

    refused(folder, "a 2 2 64 64 f32 - 16 -", "9 columns")
    refused(folder, "a 2 2 64 64 f32 - 16 - - more", "11 columns")
    refused(folder, "A 2 2 64 64 f32 - 16 - -", "name 'A'")
    refused(folder, "a/b 2 2 64 64 f32 - 16 - -", "name 'a/b'")
    refused(folder, "a 0 2 64 64 f32 - 16 - -", "Hq is '0'")
    refused(folder, "a 2 -1 64 64 f32 - 16 - -", "Hkv is '-1'")
    refused(folder, "a 2 2 6x 64 f32 - 16 - -", "D is '6x'")
    refused(folder, "a 2 2 64 1048577 f32 - 16 - -", "Dv is '1048577'")
    refused(folder, "a 2 2 64 64 f32 - 99999999999999999999 - -", "prefill is")
    refused(folder, "a 6 4 64 64 f32 - 16 - -", "not a multiple")
    refused(folder, "a 2 2 64 64 f64 - 16 - -", "type 'f64'")
    refused(folder, "a 2 2 64 64 f32 casual 16 - -", "option 'casual'")
    refused(folder, "a 2 2 64 64 f32 causal=1 16 - -", "option 'causal=1'")
    refused(folder, "a 2 2 64 64 f32 window 16 - -", "option 'window'")
    refused(folder, "a 2 2 64 64 f32 window=0 16 - -", "window is '0'")
    refused(folder, "a 2 2 64 64 f32 window=8 16 - -", "needs causal")
    refused(folder, "a 2 2 64 64 f32 softcap= 16 - -", "softcap is ''")
    refused(folder, "a 2 2 64 65 f32 latent - 16 -", "latent")
    refused(folder, "a 2 2 64 64 f32 - - - -", "neither a prefill nor a decode")
    refused(folder, "a 2 2 64 64 f32 - 16 - fast", "'fast'")
    twice = folder / "twice"
    twice.write_text("a 2 2 64 64 f32 - 16 8 -\na 4 4 64 64 f32 - - 32 -\n", encoding="utf-8")
    status, said = run(twice)
    expect("the same layer twice", (status, f"{twice}:2: there is a a_f32_decode already" in said), (2, True))
    status, said = run(folder / "missing")
    expect("no file", (status, "cannot be read" in said), (2, True))

# The file that scripts/bench measures.
status, layers = run(models)
expect("bench/models", status, 0)
for layer, shape in {
        "gpt_2_f32_prefill": (64, 1024, "12 heads, D 64, 1024 queries × 1024 keys, f32, causal"),
        "gemma_2_9b_window_bf16_decode":
            (256, 8192, "16 heads on 8, D 256, 1 query × 8192 keys, bf16, window 4096, soft-cap 50"),
        "deepseek_v3_bf16_decode": (576, 4096, "128 heads on 1, D 576 / 512, 1 query × 4096 keys, bf16, V within K"),
}.items():
    expect(layer, layers.get(layer), shape)

print("\n".join(failures) or "every line is understood or refused")
sys.exit(bool(failures))

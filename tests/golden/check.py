"""The golden program and scripts/golden do what they say, each way that a golden file can be wrong or out of date.

usage: check.py PROGRAM SCRIPT FILE
"""
import os
import pathlib
import subprocess
import sys
import tempfile

program, script, file = sys.argv[1:]
number, *lines = pathlib.Path(file).read_text().splitlines()
failed = 0


def text(first, rest):
    return '\n'.join([str(first), *rest]) + '\n'


def report(what, right, said):
    global failed
    print(f'{"ok" if right else "WRONG"}: {what}')
    if not right:
        failed += 1
        print(said)


def flip(line):
    return line[:-1] + ('0' if line[-1] != '0' else '1')


# The fastest row is enough: which one that is depends on the processor.
row = subprocess.run([program, '--row', 'avx2'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
ROW = 'avx2' if row.returncode == 0 else 'scalar'
NAME = lines[7].rsplit(' ', 1)[0]
# what, golden file, status of the check, what it says
CHECKS = [
    ('as it stands', text(number, lines), 0, f'{len(lines)} problems, the expected bits'),
    ('other order', text(number, lines[::-1]), 0, 'the expected bits'),
    ('another hash', text(number, lines[:7] + [flip(lines[7])] + lines[8:]), 1, f'{ROW}: {NAME}: is '),
    ('a problem less', text(number, lines[:7] + lines[8:]), 1, f'{ROW}: {NAME}: is not in the golden file'),
    ('a problem more', text(number, [*lines, 'new 0123456789abcdef']), 1, 'new: is in the golden file, but was not'),
    ('a name twice', text(number, [*lines, lines[7]]), 1, f'{NAME}: stands twice'),
    ('another number', text(int(number) + 1, lines), 1, f'is for arithmetic {int(number) + 1}, the library has'),
    ('no golden file', 'arithmetic\n', 2, 'is not a golden file'),
    ('a line cut short', text(number, lines)[:-2], 2, 'is not a golden file'),
    ('nothing', '', 2, 'is not a golden file'),
]
for what, golden, status, said in CHECKS:
    run = subprocess.run([program, '--check', '-', '--row', ROW], input=golden, text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, check=False)
    report(f'check, {what}', run.returncode == status and said in run.stdout, run.stdout)
for arguments in ['--check'], ['--row', 'avx9000'], ['--what', '1'], ['--check', '/nowhere']:
    run = subprocess.run([program, *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         check=False)
    report(f'usage {arguments}', run.returncode == 2, run.stdout)

OLD = ['a b 0000000000000001', 'c 0000000000000002']
MORE = ['b 0000000000000003', *OLD]
# what, file before, what the library prints, status, file after (None: as before)
WRITES = [
    ('no file yet', None, text(1, OLD), 0, text(1, OLD)),
    ('nothing new', text(1, OLD), text(1, OLD), 0, None),
    ('a larger number', text(1, OLD), text(2, [flip(OLD[0]), 'd 0000000000000004']), 0,
     text(2, [flip(OLD[0]), 'd 0000000000000004'])),
    ('a smaller number', text(2, OLD), text(1, OLD), 1, None),
    ('new names', text(1, OLD), text(1, MORE), 0, text(1, OLD + MORE[:1])),
    ('other bits', text(1, OLD), text(1, [OLD[0], flip(OLD[1])]), 1, None),
    ('other bits beside new names', text(1, OLD), text(1, [flip(OLD[0]), OLD[1], MORE[0]]), 1, None),
    ('a problem is gone', text(1, OLD), text(1, [OLD[0], MORE[0]]), 1, None),
    ('rows that differ', text(1, OLD), None, 1, None),
]
with tempfile.TemporaryDirectory() as folder:
    for what, before, printed, status, after in WRITES:
        golden, fake = pathlib.Path(folder) / 'golden', pathlib.Path(folder) / 'program'
        golden.unlink(missing_ok=True)
        if before is not None:
            golden.write_text(before)
        fake.write_text('#!/bin/sh\nexit 1\n' if printed is None else f"#!/bin/sh\ncat <<'END'\n{printed}END\n")
        os.chmod(fake, 0o700)
        run = subprocess.run([sys.executable, script, '--program', fake, '--file', golden], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        right = run.returncode == status and golden.read_text() == (before if after is None else after)
        report(f'write, {what}', right, run.stdout)
sys.exit(1 if failed else 0)

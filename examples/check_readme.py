"""Holds the README against what it shows: the example's source, the textbook's output, the files that it names.

usage: check_readme.py README MINIMAL_CPP TEXTBOOK_PROGRAM
"""
import os
import pathlib
import re
import subprocess
import sys

from check import check

readme, minimal, textbook = map(pathlib.Path, sys.argv[1:])
text = readme.read_text(encoding='utf-8')


def blocks(language):
    return re.findall(rf'^```{language}\n(.*?)^```$', text, re.MULTILINE | re.DOTALL)


check(blocks('cpp') == [minimal.read_text(encoding='utf-8')], 'the C++ example is not examples/minimal.cpp')

names = re.findall(r'\]\(([^):#]+)\)', text) + re.findall(r'^([\w./]+/) {2,}', ''.join(blocks('')), re.MULTILINE)
check(len(names) > 15, 'the links or the tree were not found')
for name in names:
    check((readme.parent / name).exists(), f'{name} does not exist')

run = subprocess.run([textbook], capture_output=True, text=True, env={**os.environ, 'HEED_ISA': 'avx2'}, check=False)
if "'avx2' is not a row" in run.stderr:  # the README was written on a machine that has it
    sys.exit(77)
shown = blocks('text')
check(len(shown) == 3, 'the output of the textbook problem was not found')
for block in shown:
    check(block in run.stdout, f'the textbook program does not print:\n{block}')

"""Every public header compiles alone, without a warning, as each language that it promises, and leads to no header of a
dependency.

usage: headers.py INCLUDE_FOLDER COMPILER...  (others are tried where they are installed)
"""
import pathlib
import shutil
import subprocess
import sys

include, *given = sys.argv[1:]
found = {}
for name in [*given, 'g++', 'clang++', 'clang++-14']:
    path = shutil.which(name)
    if path:
        found.setdefault(pathlib.Path(path).resolve(), path)

headers = sorted(pathlib.Path(include).rglob('*.h*'))
failed = 0 if headers else 1
for compiler in found.values():
    for header in headers:
        languages = ['c++17', 'c++20'] + (['c99', 'c11'] if header.suffix == '.h' else [])
        for standard in languages:
            language = 'c' if standard in ('c99', 'c11') else 'c++'
            command = [compiler, '-x', language, '-std=' + standard, '-Wall', '-Wextra', '-Wpedantic', '-Wshadow',
                       '-Wconversion', '-Werror', '-I', include, '-fsyntax-only', '-H', '-']
            command += ['-fopenmp'] if header.name == 'openmp.h' else []
            run = subprocess.run(command, input=f'#include "{header.relative_to(include)}"\n', text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            reached = [line for line in run.stdout.splitlines() if line.startswith('.') and 'xsimd' in line]
            if run.returncode != 0 or reached:
                failed += 1
                print(f'{compiler} -std={standard} {header.name}:\n{run.stdout}')
    print(f'{compiler}: {len(headers)} headers')
sys.exit(1 if failed else 0)

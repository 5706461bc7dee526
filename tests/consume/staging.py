"""Installs this build into a folder of its own, and runs what others build against it."""
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Werror']
SUBNORMAL = 'subnormal 00000400'


class Staged:
    """What `meson install` of the build folder puts below `root`."""

    def __init__(self, meson, build, prefix, libdir, includedir, root):
        run([meson, 'install', '-C', build, '--no-rebuild', '--quiet', '--destdir', root])
        self.root = pathlib.Path(root)
        self.prefix = self.root / prefix.lstrip('/')
        self.lib, self.include = ((self.root / folder.lstrip('/')) if folder.startswith('/') else self.prefix / folder
                                  for folder in (libdir, includedir))


def run(command, **options):
    result = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, check=False, **options)
    if result.returncode != 0:
        sys.exit(f'{" ".join(map(str, command))}\nexit status {result.returncode}\n{result.stdout}')
    return result.stdout


def compilers(cc, cxx):
    """The given pair, and one GCC and one Clang where they are installed."""
    pairs = [(cc, cxx), ('gcc', 'g++')]
    pairs += [next((pair for pair in [('clang' + version, 'clang++' + version)
                                      for version in [''] + [f'-{n}' for n in range(20, 13, -1)]]
                    if all(map(shutil.which, pair))), ('no clang', 'no clang++'))]
    found = {}
    for pair in pairs:
        if all(map(shutil.which, pair)):
            found.setdefault(pathlib.Path(shutil.which(pair[1])).resolve(), pair)
    return list(found.values())


class Outputs:
    """Every program prints the same, and what is known beforehand."""

    def __init__(self):
        self.first, self.count = None, 0

    def hold(self, name, program, libraries=None, fast_math=False):
        environment = {key: value for key, value in os.environ.items() if key != 'LD_LIBRARY_PATH'}
        if libraries:
            environment['LD_LIBRARY_PATH'] = str(libraries)
        lines = run([program], env=environment).splitlines()
        # -ffast-math makes the program flush subnormal numbers to zero, and heed leaves that as it is.
        subnormals = [SUBNORMAL, 'subnormal 00000000'] if fast_math else [SUBNORMAL]
        right = len(lines) == 5 and lines[0] == 'dot 169' and lines[1] in subnormals
        if right:
            attention, plan, cache = (line.split(' ', 1) for line in lines[2:])
            # The first token sees itself alone.
            right = (attention[1] == plan[1] == cache[1] and attention[1].startswith('c0800000 c0200000 bf800000 ')
                     and self.first in (None, attention[1]))
            self.first = attention[1]
        if not right:
            sys.exit(f'{name} printed\n' + '\n'.join(lines) + f'\nbut others found\n{self.first}')
        print('ok:', name)
        self.count += 1
        return lines[1]

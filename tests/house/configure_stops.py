"""Configuring stops at flags that would change results or put instructions into code that runs everywhere, and names
them; a debug build by the user's flags goes through, and its kernels are optimised all the same.

usage: configure_stops.py MESON SOURCE_FOLDER PKG_CONFIG_PATH C_COMPILER CXX_COMPILER...
"""
import json
import os
import shlex
import subprocess
import sys
import tempfile

meson, source, pkg_config_path, c_compiler, *cxx_compiler = sys.argv[1:]
COMMAND = [*shlex.split(meson), 'setup', '-Dtests=disabled', '-Dbenchmarks=disabled', '-Dtools=disabled',
           '-Dexamples=disabled', '-Dpkg_config_path=' + pkg_config_path]


def configure(folder, **variables):
    clean = {name: value for name, value in os.environ.items() if not name.endswith('FLAGS')}
    environment = {**clean, 'CC': c_compiler, 'CXX': shlex.join(cxx_compiler), **variables}
    return subprocess.run([*COMMAND, folder, source], env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)


failed = 0


def report(name, right, output):
    global failed
    print(f'{"ok" if right else "WRONG"}: {name}')
    if not right:
        failed += 1
        print(output)


for variables in [{'CXXFLAGS': '-ffast-math'}, {'CXXFLAGS': '-O2 -Ofast'}, {'CXXFLAGS': '-g -march=native'},
                  {'CXXFLAGS': '-ffp-contract=fast'}, {'CXXFLAGS': '-fno-signed-zeros'}, {'CXXFLAGS': '-mavx2'},
                  {'LDFLAGS': '-ffast-math'}, {'CXX': shlex.join(cxx_compiler) + ' -ffast-math'}]:
    with tempfile.TemporaryDirectory() as build:
        flag = list(variables.values())[0].split()[-1]
        run = configure(build, **variables)
        error = next((line for line in run.stdout.splitlines() if 'ERROR' in line), '')
        report(str(variables), run.returncode != 0 and flag in error, run.stdout)

with tempfile.TemporaryDirectory() as build:
    run = configure(build, CXXFLAGS='-O0 -g')
    right = run.returncode == 0
    if right:
        with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as file:
            commands = [entry['command'].split() for entry in json.load(file)]
        kernels = [words for words in commands if any(word.startswith('-DHEED_ROW=') for word in words)]
        last = {[word for word in words if word.startswith('-O')][-1] for words in kernels}
        right = last == {'-O3'} and all('-DNDEBUG' in words for words in kernels)
    report('-O0 -g', right, run.stdout)
sys.exit(1 if failed else 0)

"""Configuring stops at flags that would change results or put instructions into code that runs everywhere, and names
them, wherever they come from: every word of the lists in meson.build, and some that are seen only by the compiler's macros.
Flags that do neither go through; so does a debug build by the user's flags, and its kernels are optimised all the same.

usage: configure_stops.py MESON SOURCE_FOLDER PKG_CONFIG_PATH C_COMPILER CXX_COMPILER...
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

meson, source, pkg_config_path, c_compiler, *cxx_compiler = sys.argv[1:]
OPTIONS = ['-Dtests=disabled', '-Dbenchmarks=disabled', '-Dtools=disabled', '-Dexamples=disabled',
           '-Dpkg_config_path=' + pkg_config_path]
CLEAN = {name: value for name, value in os.environ.items() if not name.endswith('FLAGS')}
OTHER_HARMLESS = ['-mtune=native', '-fno-math-errno', '-fno-trapping-math', '-frounding-math', '-mno-avx', '-fno-fast-math']


def call(*command, **variables):
    environment = {**CLEAN, 'CC': c_compiler, 'CXX': shlex.join(cxx_compiler), **variables}
    return subprocess.run([*shlex.split(meson), *command], env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)


def configure(folder, **variables):
    return call('setup', *OPTIONS, folder, source, **variables)


failed = 0


def report(name, right, output):
    global failed
    print(f'{"ok" if right else "WRONG"}: {name}', flush=True)
    if not right:
        failed += 1
        print(output)


def must_stop(name, named, run):
    error = next((line for line in run.stdout.splitlines() if 'ERROR' in line), '')
    report(name, run.returncode != 0 and named in error and 'heed' in error, run.stdout)


def list_of(name):
    text = pathlib.Path(source, 'meson.build').read_text(encoding='utf-8')
    return re.findall(r"'(.+?)'", re.search(rf'^{name} = \[(.*?)\]', text, re.M | re.S).group(1))


def compiler_takes(flag):
    return subprocess.run([*cxx_compiler, '-Werror', flag, '-x', 'c++', '-fsyntax-only', '/dev/null'], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


for variable in ['CXXFLAGS', 'CFLAGS', 'CPPFLAGS', 'LDFLAGS', 'CXX', 'CC']:
    command = {'CXX': shlex.join(cxx_compiler) + ' ', 'CC': c_compiler + ' '}.get(variable, '-g ')
    with tempfile.TemporaryDirectory() as build:
        must_stop(variable, '-ffast-math', configure(build, **{variable: command + '-ffast-math'}))

with tempfile.TemporaryDirectory() as build, tempfile.TemporaryDirectory() as files:
    # The compilers are looked at once, so that here every compiler has every flag.
    run = configure(build)
    report('no flags', run.returncode == 0, run.stdout)

    def configure_again(flags):
        call('configure', build, '-Dcpp_args=' + flags)
        return call('setup', '--reconfigure', build, source)

    for flag in list_of('changes_results'):
        must_stop(flag, flag, configure_again('-O2 ' + flag))
    for start in list_of('changes_results_by_value') + list_of('changes_instructions'):
        must_stop(start + '…', start, configure_again('-O2 ' + start + 'any'))
    must_stop('two dashes', '--fp-contract=fast', configure_again('-mllvm --fp-contract=fast'))
    for flag, macro in [('-ffast-math', '__FAST_MATH__'), ('-Ofast', '__FAST_MATH__'), ('-ffinite-math-only',
                        '__FINITE_MATH_ONLY__'), ('-mpopcnt', '__POPCNT__'), ('-mbmi2', '__BMI2__'), ('-mavx', '__SSE3__')]:
        hidden = pathlib.Path(files, 'flags')
        hidden.write_text(flag, encoding='utf-8')
        must_stop(f'a file with {flag}', macro, configure_again(f'-O2 @{hidden}'))

    harmless = list(filter(compiler_takes, list_of('harmless') + OTHER_HARMLESS))
    run = configure_again(' '.join(harmless))
    report(' '.join(harmless), run.returncode == 0, run.stdout)

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

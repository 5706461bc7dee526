"""Programs in C99, C++17 and C++20, built by GCC and Clang against the installed library alone, run and give the same
bits, in each way that a build system has to find it. Skipped (77) where the build system is not installed.

usage: consume.py (pkg-config | cmake | subproject) MESON BUILD PREFIX LIBDIR INCLUDEDIR SOURCE PKG_CONFIG_PATH CC CXX
"""
import os
import pathlib
import platform
import re
import shutil
import sys
import tempfile

from staging import HERE, SUBNORMAL, WARNINGS, Outputs, Staged, compilers, run


def check(right, why=''):
    """Unlike `assert`, whatever Python is told to leave out."""
    if not right:
        raise SystemExit(f'{pathlib.Path(__file__).name}: {why}')


way, meson, build, prefix, libdir, includedir, source, pkg_config_path, given_cc, given_cxx = sys.argv[1:]
LANGUAGES = [('c99', 'consumer.c'), ('c++17', 'consumer.cpp'), ('c++20', 'consumer.cpp')]
outputs = Outputs()


def staged_in(folder):
    return Staged(meson, build, prefix, libdir, includedir, folder / 'stage')


def flags_of(staged, *options, **variables):
    """What pkg-config says, of what is in the stage and nothing else."""
    environment = {**os.environ, 'PKG_CONFIG_LIBDIR': str(staged.lib / 'pkgconfig'), 'PKG_CONFIG_PATH': '',
                   'PKG_CONFIG_SYSROOT_DIR': str(staged.root), **variables}
    return run(['pkg-config', *options, 'heed'], env=environment).split()


def build_programs(folder, name, compile_flags, link_flags, libraries, pairs, languages):
    said = set()
    for cc, cxx in pairs:
        for standard, file in languages:
            program = folder / 'program'
            run([cc if file.endswith('.c') else cxx, '-std=' + standard, *WARNINGS, *compile_flags, HERE / file,
                 *link_flags, '-o', program])
            said.add(outputs.hold(f'{cc} {standard} {name}', program, libraries, '-ffast-math' in compile_flags))
    return said


def absolute_folders(folder, staged, pairs):
    """A libdir and an includedir outside the prefix: configured only, and the files laid where they would be."""
    lib, include, other = folder / 'elsewhere/lib', folder / 'elsewhere/include', folder / 'other'
    run([meson, 'setup', other, source, '--prefix', folder / 'prefix', '--libdir', lib, '--includedir', include,
         '-Dpkg_config_path=' + pkg_config_path]
        + [f'-D{part}=disabled' for part in ('tests', 'benchmarks', 'tools', 'examples')],
        env={**os.environ, 'CC': given_cc, 'CXX': given_cxx})
    shutil.copytree(staged.include, include)
    shutil.copytree(staged.lib, lib, symlinks=True)
    shutil.copy(other / 'meson-private/heed.pc', lib / 'pkgconfig')
    for file in (lib / 'cmake/heed').iterdir():
        shutil.copy(other / 'src/package' / file.name, file)
    moved = {'PKG_CONFIG_LIBDIR': str(lib / 'pkgconfig'), 'PKG_CONFIG_SYSROOT_DIR': ''}
    compile_flags, link_flags = (flags_of(staged, option, **moved) for option in ('--cflags', '--libs'))
    check(compile_flags == [f'-I{include}'] and link_flags == [f'-L{lib}', '-lheed'], (compile_flags, link_flags))
    build_programs(folder, 'absolute folders', compile_flags, link_flags, lib, pairs[:1], LANGUAGES[:1])
    config = (lib / 'cmake/heed/heedConfig.cmake').read_text(encoding='utf-8')
    check(f'"{include}"' in config, config)


def with_pkg_config(folder):
    shutil.which('pkg-config') or skip('no pkg-config')
    staged, pairs = staged_in(folder), compilers(given_cc, given_cxx)
    compile_flags, link_flags = flags_of(staged, '--cflags'), flags_of(staged, '--libs')
    build_programs(folder, 'shared', compile_flags, link_flags, staged.lib, pairs, LANGUAGES)
    said = build_programs(folder, 'shared -ffast-math', [*compile_flags, '-O2', '-ffast-math'], link_flags, staged.lib,
                          pairs, LANGUAGES[:2])
    # Otherwise this would not be a program that flushes to zero, and nothing was tested.
    check(platform.machine() != 'x86_64' or said != {SUBNORMAL})
    absolute_folders(folder, staged, pairs)

    for path in staged.lib.glob('*.so*'):  # now -lheed is the static library
        path.unlink()
    build_programs(folder, 'static', flags_of(staged, '--static', '--cflags'), flags_of(staged, '--static', '--libs'),
                   None, pairs, LANGUAGES)


def with_cmake(folder):
    shutil.which('cmake') or skip('no CMake')
    staged = staged_in(folder)
    for number, (cc, cxx) in enumerate(compilers(given_cc, given_cxx)):
        for languages in ('C', 'C;CXX'):
            built = folder / f'cmake-{number}-{len(languages)}'
            run(['cmake', '-G', 'Ninja', '-S', HERE, '-B', built,
                 f'-DCMAKE_C_COMPILER={cc}', f'-DCMAKE_CXX_COMPILER={cxx}',
                 f'-DLANGUAGES={languages}', f'-DHEED_FOLDER={staged.lib}/cmake/heed'])
            run(['cmake', '--build', built, '--parallel', '2'])
            programs = sorted(built.glob('*_shared')) + sorted(built.glob('*_static'))
            check(len(programs) == (2 if languages == 'C' else 6), programs)
            for program in programs:
                outputs.hold(f'{cc} CMake {languages} {program.name}', program)


def as_subproject(folder):
    project = folder / 'project'
    (project / 'subprojects').mkdir(parents=True)
    shutil.copy(HERE / 'subproject.build', project / 'meson.build')
    for file in ('consumer.c', 'consumer.cpp'):
        shutil.copy(HERE / file, project)
    (project / 'subprojects/heed').symlink_to(source, target_is_directory=True)
    # A release build names no folder in its objects, so that a compiler cache finds them again next time.
    cached = 'ccache ' if shutil.which('ccache') else ''
    run([meson, 'setup', folder / 'built', project, '--buildtype=release', '--force-fallback-for=heed',
         '-Dpkg_config_path=' + pkg_config_path],
        env={**os.environ, 'CC': cached + given_cc, 'CXX': cached + given_cxx})
    run([meson, 'compile', '-C', folder / 'built'])
    programs = [path for path in (folder / 'built').iterdir() if re.fullmatch(r'c\w+_(shared|static)', path.name)]
    check(len(programs) == 6, programs)
    for program in sorted(programs):
        outputs.hold(f'{given_cc} Meson {program.name}', program)


def skip(why):
    print(why)
    sys.exit(77)


with tempfile.TemporaryDirectory() as temporary:
    {'pkg-config': with_pkg_config, 'cmake': with_cmake, 'subproject': as_subproject}[way](pathlib.Path(temporary))
print(f'{outputs.count} programs, the same results')

"""`meson install` puts out exactly the files of the list, with exactly the symbols of the list, and tells nobody to
compile or link with anything that changes code or results.

usage: install.py MESON BUILD PREFIX LIBDIR INCLUDEDIR NM READELF VERSION ROW_FOR_TESTS...
"""
import re
import sys
import tempfile

from staging import HERE, Staged, run

meson, build, prefix, libdir, includedir, nm, readelf, version, *helper_rows = sys.argv[1:]
failed = []


def hold(what, found, listed):
    for name in sorted(set(found) - set(listed)):
        failed.append(f'{what}: {name} is not in the list')
    for name in sorted(set(listed) - set(found)):
        failed.append(f'{what}: {name} is missing')


def read_list(name):
    return (HERE / name).read_text(encoding='utf-8').replace('VERSION', version).splitlines()


with tempfile.TemporaryDirectory() as folder:
    staged = Staged(meson, build, prefix, libdir, includedir, folder)
    files = []
    for path in staged.root.rglob('*'):
        if path.is_dir():
            continue
        for kind, base in (('lib', staged.lib), ('include', staged.include), ('?', staged.root)):
            if base in path.parents:
                target = f' -> {path.readlink()}' if path.is_symlink() else ''
                files.append(f'{kind}/{path.relative_to(base)}{target}')
                break
    hold('installed files', files, read_list('installed_files'))

    shared, static = staged.lib / 'libheed.so', staged.lib / 'libheed.a'
    symbols = run([nm, '-D', '--defined-only', '--format=posix', shared]).splitlines()
    hold('exported symbols', [line.split()[0] for line in symbols], read_list('exported_symbols'))
    if '[libheed.so.0]' not in run([readelf, '-d', shared]):
        failed.append('the soname is not libheed.so.0')
    if not static.read_bytes().startswith(b'!<arch>\n'):
        failed.append('the static library is a thin archive, which points into the build folder')
    for row in helper_rows:
        for library in (shared, static):
            if row.encode() in library.read_bytes():
                failed.append(f'{library.name} holds the row {row}, which serves the tests only')

    for path in [*staged.lib.rglob('*.pc'), *staged.lib.rglob('*.cmake')]:
        text = path.read_text(encoding='utf-8')
        flags = re.findall(r'(?<![\w}])-(?![LIl])[A-Za-z]\S*', re.sub('#.*', '', text))
        if flags or 'xsimd' in text:
            failed.append(f'{path.name}: {flags or "names xsimd"}')

print(f'{len(files)} files, {len(symbols)} symbols')
sys.exit('\n'.join(failed) or 0)

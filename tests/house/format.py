"""Every C and C++ file of the repository is as clang-format 14 would write it. Skipped (77) where that is not installed,
or where the files are not a git checkout.

usage: format.py SOURCE_FOLDER
"""
import shutil
import subprocess
import sys

source = sys.argv[1]


def version_14():
    for name in ['clang-format-14', 'clang-format']:
        path = shutil.which(name)
        if path and ' 14.' in subprocess.run([path, '--version'], text=True, stdout=subprocess.PIPE, check=True).stdout:
            return path
    return None


def skip(why):
    print(why)
    sys.exit(77)


clang_format = version_14() or skip('no clang-format 14')
shutil.which('git') or skip('no git')
listed = subprocess.run(['git', '-c', 'safe.directory=*', 'ls-files', '*.c', '*.h', '*.cpp', '*.hpp', '*.inc'],
                        cwd=source, text=True, stdout=subprocess.PIPE, check=False)
files = listed.stdout.split() or skip('not a git checkout')
run = subprocess.run([clang_format, '--dry-run', '--Werror', *files], cwd=source, check=False)
print(f'{len(files)} files')
sys.exit(run.returncode)

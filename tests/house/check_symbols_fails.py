"""scripts/check-symbols finds what it is for: objects made wrong on purpose, one way at a time.

usage: check_symbols_fails.py CHECK_SYMBOLS NM OBJDUMP COMPILER...
"""
import pathlib
import subprocess
import sys
import tempfile

script, nm, objdump, *compiler = sys.argv[1:]
KERNEL = 'namespace heed::bad { void kernel_f32() {} }\n'

# name, source, flags of the row, needs, what the report must say (None: nothing is wrong)
CASES = [
    ('clean', KERNEL, [], '', None),
    ('clean with features', KERNEL, ['-mavx2', '-mfma'], 'avx2,fma', None),
    ('inline function', 'inline __attribute__((noinline, used)) int leak(int x) { return x + 1; }\n' + KERNEL, [], '',
     'weak or unique symbol _Z4leaki'),
    ('unique symbol', 'template <class T> int* leak() { static int x; return &x; }\n'
     'namespace heed::bad { int* kernel_f32() { return leak<int>(); } }\n', [], '', 'weak or unique symbol'),
    ('global function', 'int leak() { return 1; }\n' + KERNEL, [], '', 'defines _Z4leakv'),
    ('another row', 'namespace heed::other { void kernel_f32() {} }\n' + KERNEL, [], '', 'defines _ZN4heed5other'),
    ('foreign function', 'extern "C" float sinf(float);\n'
     'namespace heed::bad { float kernel_f32(float x) { return sinf(x); } }\n', [], '', 'needs sinf'),
    ('missing kernel', 'namespace heed::bad { void kernel_f16() {} }\n', [], '', 'does not define kernel_f32'),
    ('feature without a test', KERNEL, ['-mavx2', '-mfma', '-mf16c'], 'avx2,fma', 'compiled with F16C'),
    ('larger feature', KERNEL, ['-mavx512f'], 'avx2,fma,f16c', 'compiled with AVX512F'),
    ('unknown need', KERNEL, [], 'avx9000', 'needs avx9000'),
    ('AVX instruction', 'namespace heed::bad { float kernel_f32(float a, float b) { return a + b; } }\n',
     ['-mavx'], '--no-avx', 'holds an AVX instruction'),
]

failed = 0
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder)
    (path / 'kernels.inc').write_text('HEED_KERNEL(kernel, f32)\n')
    for name, source, flags, needs, expected in CASES:
        (path / 'row.cpp').write_text(source)
        subprocess.run([*compiler, '-std=c++20', '-O1', '-fPIC', *flags, '-c', path / 'row.cpp', '-o', path / 'row.o'],
                       check=True)
        arguments = [needs] if needs.startswith('--') else ['--needs=' + needs]
        run = subprocess.run([sys.executable, script, '--row=bad', f'--library={path}/row.o', f'--nm={nm}',
                              f'--objdump={objdump}', f'--kernels={path}/kernels.inc', *arguments, '--', *compiler,
                              *flags], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        right = run.returncode == 0 if expected is None else run.returncode == 1 and expected in run.stdout
        print(f'{"ok" if right else "WRONG"}: {name}')
        if not right:
            print(run.stdout)
            failed += 1
sys.exit(1 if failed else 0)

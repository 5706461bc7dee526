"""The library takes no lock, starts no thread and does not write the floating-point environment: nothing that could do
so is imported, and no instruction that could is there.

usage: no_state.py NM OBJDUMP LIBRARY
"""
import re
import subprocess
import sys

nm, objdump, library = sys.argv[1:]
IMPORTS = re.compile(r'__cxa_guard_|pthread_|^mtx_|^thrd_|St6thread|futex|^fe(set|hold|update)|^__tls_get_addr|signal|sigaction')
INSTRUCTIONS = re.compile(r'\b(v?ldmxcsr|fldcw|fldenv|frstor|f?xrstor\w*)\b')


def lines(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


imports = [line.split()[-1].split('@')[0] for line in lines(nm, '-D', '--undefined-only', library)]
code = lines(objdump, '-d', '--no-show-raw-insn', library)
found = [name for name in imports if IMPORTS.search(name)]
found += [line.strip() for line in code if INSTRUCTIONS.search(line.split('\t')[-1])]
print(f'{len(imports)} imports, {len(code)} lines of code')
print('\n'.join(found))
sys.exit(1 if found or len(imports) < 5 or len(code) < 10000 else 0)

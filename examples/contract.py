"""The snippets of contract.md as a program, and what it prints against what the page says it prints.

usage: contract.py generate PAGE CPP_FILE     writes the program
       contract.py check PAGE HEADER PROGRAM  runs it; also looks for links that lead nowhere, and for fields of
                                              heed_attention_args (in HEADER) that the page does not mention

The first block of C++ is for the whole file, every other one becomes a function; the block of text behind it is what it
prints.
"""
import pathlib
import re
import subprocess
import sys

from check import check as demand


def read(page):
    """(the block for the whole file, [(line, code, printed)])."""
    text = page.read_text(encoding='utf-8')
    blocks = []
    for match in re.finditer(r'^```(\w+)\n(.*?)^```$', text, re.MULTILINE | re.DOTALL):
        blocks.append((match[1], text.count('\n', 0, match.start()) + 2, match[2]))
    demand(blocks[0][0] == 'cpp' and [block[0] for block in blocks[1:]] == ['cpp', 'text'] * (len(blocks) // 2),
           f'{page}: after the first, every block of C++ needs a block of text behind it')
    return blocks[0], [(code[1], code[2], printed[2]) for code, printed in zip(blocks[1::2], blocks[2::2])]


def generate(page, target):
    (_, line, common), snippets = read(page)
    parts = [f'#line {line} "{page.name}"\n{common}']
    for number, (line, code, _) in enumerate(snippets):
        parts.append(f'static void snippet{number}() {{\n#line {line} "{page.name}"\n{code}}}\n')
    calls = ''.join(f'  std::puts("== {number}"), snippet{number}();\n' for number in range(len(snippets)))
    target.write_text('\n'.join(parts) + f'int main() {{\n{calls}}}\n', encoding='utf-8')


def fields(header):
    """Names of the fields of heed_attention_args."""
    struct = re.search(r'^typedef struct heed_attention_args \{(.*?)^\} heed_attention_args;', header.read_text('utf-8'),
                       re.MULTILINE | re.DOTALL)[1]
    names = []
    for declaration in re.sub(r'/\*.*?\*/', '', struct, flags=re.DOTALL).split(';')[:-1]:
        function = re.search(r'\(\*(\w+)\)', declaration)
        names += [function[1]] if function else [part.split()[-1].lstrip('*') for part in declaration.split(',')]
    return names


def check(page, header, program):
    failed = []
    text = page.read_text(encoding='utf-8')
    links = re.findall(r'\]\(([^)#:]+)\)', re.sub(r'^```.*?^```$', '', text, flags=re.MULTILINE | re.DOTALL))
    names = fields(header)
    demand(links and len(names) > 40, 'the links or the fields were not found')
    failed += [f'{link} does not exist' for link in links if not (page.parent / link).exists()]
    failed += [f'the field {name} is not mentioned' for name in names if not re.search(rf'\b{name}\b', text)]

    _, snippets = read(page)
    run = subprocess.run([program], text=True, stdout=subprocess.PIPE, check=True)
    found = re.split(r'^== \d+\n', run.stdout, flags=re.MULTILINE)[1:]
    demand(len(found) == len(snippets), 'the program was made of another page')
    for (line, _, expected), printed in zip(snippets, found):
        if printed != expected:
            failed.append(f'the snippet at line {line} prints\n{printed}and not\n{expected}')
    for what in failed:
        print(f'{page.name}: {what}')
    print(f'{len(snippets)} snippets, {len(names)} fields')
    return 1 if failed else 0


if __name__ == '__main__':
    paths = [pathlib.Path(argument) for argument in sys.argv[2:]]
    sys.exit({'generate': generate, 'check': check}[sys.argv[1]](*paths))

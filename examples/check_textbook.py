"""Runs the textbook example and holds every number that it prints against the formula in double precision.

usage: check_textbook.py PROGRAM [FILE]
"""
import math
import re
import subprocess
import sys

from check import check

TOLERANCE = 1e-6  # relative for numbers above 1, else absolute

TEXTBOOK = {
    'q': [[1, 0], [0, 1], [1, 1]],
    'k': [[1, 1], [0, 1], [0, 0]],
    'v': [[0.5, 0.5], [1, 0], [0, 1]],
    'scale': 1,
}
# The answers as a book would print them, so that the formula below is held against something too.
TEXTBOOK_LOGITS = [[1, 0, 0], [1, 1, 0], [2, 1, 0]]
TEXTBOOK_WEIGHTS = [[0.57611688, 0.21194156, 0.21194156], [0.42231880, 0.42231880, 0.15536240],
                    [0.66524096, 0.24472847, 0.09003057]]
TEXTBOOK_OUTPUT = [[0.5, 0.5], [0.63347820, 0.36652180], [0.57734895, 0.42265105]]
TEXTBOOK_WORDS = [
    'Query 1 attends most to token 1, 57.6 %: its logit, 1, is the largest.',
    'Then tokens 2 and 3, 21.2 % each: tied logits, 1 lower',
    'Query 2 attends most to tokens 1 and 2, 42.2 % each: they tie for the largest logit, 1.',
    'Then token 3, 15.5 %: its logit is 1 lower, so the weight is e^-1 = 0.368 times as large.',
]

# Arguments that must be refused, and what the message must hold.
WRONG = [
    (['/nowhere'], 'cannot open'),
    (['q', '1', 'k', '1x', 'v', '2'], "line 2 (k 1x): '1x' is not a number"),
    (['q', 'nan', 'k', '1', 'v', '2'], "'nan' is not a finite number"),
    (['q', '1e39', 'k', '1', 'v', '2'], 'single precision'),
    (['q', 'k', '1', 'v', '2'], 'at least one number'),
    (['q', '1', 'k', '1', '2', 'v', '2'], 'differ in length'),
    (['q', '1', 'k', '1', 'v', '2', 'k', '3', 'v', '4', '5'], 'has 2 numbers'),
    (['q', '1', 'k', '1'], '1 keys, but 0 values'),
    (['k', '1', 'v', '1'], 'needs a query'),
    (['q', '1', 'k', '1', 'v', '1', 'scale', '1', '2'], 'one number'),
    (['q', '1', 'x', '1', 'v', '1'], "'x' is not a number"),
    (['key', '1', 'v', '1'], "'key' is none of"),
]


def read(text):
    problem = {'q': [], 'k': [], 'v': []}
    for line in text.splitlines():
        kind, *words = line.split('#')[0].split() or ['']
        if kind == 'scale':
            problem['scale'] = float(words[0])
        elif kind:
            problem[kind].append([float(word) for word in words])
    problem.setdefault('scale', 1 / math.sqrt(len(problem['k'][0])))
    return problem


def solve(problem):
    """Logits, weights and outputs of every query."""
    keys, values = problem['k'], problem['v']
    logits = [[problem['scale'] * sum(a * b for a, b in zip(q, k)) for k in keys] for q in problem['q']]
    weights = []
    for row in logits:
        exponentials = [math.exp(s - max(row)) for s in row]
        weights.append([e / sum(exponentials) for e in exponentials])
    output = [[sum(p * x for p, x in zip(row, column)) for column in zip(*values)] for row in weights]
    return logits, weights, output


def printed(text):
    """The same from the program's output: for each of its two columns of kernels."""
    columns = ([], [], []), ([], [], [])
    for line in text.splitlines():
        token = re.match(r'  token \d+ +(\S+) +(\S+) +(\S+) +(\S+)', line)
        output = re.match(r'  output, \S+ +\[(.*)\]$', line)
        if line.startswith('Query '):
            for logits, weights, _ in columns:
                logits.append([])
                weights.append([])
        elif token:
            numbers = [float(word) for word in token.groups()]
            for (logits, weights, _), s, p in zip(columns, numbers[:2], numbers[2:]):
                logits[-1].append(s)
                weights[-1].append(p)
        elif output:
            column = columns[len(columns[0][2]) > len(columns[1][2])]
            column[2].append([float(word) for word in output.group(1).split(',')])
    return columns


def check_equal(what, found, right):
    check([len(row) for row in found] == [len(row) for row in right], f'{what}: {found} has not the shape of {right}')
    for found_row, right_row in zip(found, right):
        for x, y in zip(found_row, right_row):
            check(abs(x - y) <= TOLERANCE * max(1, abs(y)), f'{what}: {found}, should be {right}')


def check_result(text, right):
    for kernels, found in zip(('scalar', 'simd'), printed(text)):
        for what, x, y in zip(('logits', 'weights', 'output'), found, right):
            check_equal(f'{what}, {kernels}', x, y)
    check(re.search(r'heed::attend and heed::attention +same bits', text))
    if 'no fused multiply-add' not in text:
        check(len(re.findall(r'scalar and \S+ +same bits', text)) == 5, 'the columns differ in bits')


def check_errors(program):
    for arguments, message in WRONG:
        run = subprocess.run([program, *arguments], capture_output=True, text=True)
        check(run.returncode == 1 and run.stdout == '', f'{arguments} is not refused')
        check(message in run.stderr, f'{arguments}: {run.stderr}')


def main(program, *files):
    text = subprocess.run([program, *files], check=True, capture_output=True, text=True).stdout
    print(text)
    if files:
        with open(files[0], encoding='utf-8') as file:
            problem = read(file.read())
        check_result(text, solve(problem))
        words = [f'scale {problem["scale"]}']
        words += [f'{kind} ' + ' '.join(map(str, vector)) for kind in 'qkv' for vector in problem[kind]]
        again = subprocess.run([program, *' '.join(words).split()], check=True, capture_output=True, text=True).stdout
        check(again == text, 'the command line gives another result than the file')
    else:
        for what, x, y in zip(('logits', 'weights', 'output'), solve(TEXTBOOK),
                              (TEXTBOOK_LOGITS, TEXTBOOK_WEIGHTS, TEXTBOOK_OUTPUT)):
            check_equal(what, x, y)
        check_result(text, solve(TEXTBOOK))
        for words in TEXTBOOK_WORDS:
            check(words in text, f'not said: {words}')
        check_errors(program)


main(*sys.argv[1:])

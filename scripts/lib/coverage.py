#!/usr/bin/env python3
"""Says how much of src/ ran, and names what did not: lines by ranges, and outcomes of branches that never came.

usage: coverage.py --profile FILE_OR_FOLDER… [OPTION…] PROGRAM…

PROGRAMs (or shared libraries, or objects) are built with Clang's -fprofile-instr-generate -fcoverage-mapping; profiles
are what their runs wrote, raw or merged; of a folder all of its *.profraw. A line counts as covered if any copy of it ran:
kernels are compiled once per row, templates once per type. What one row leaves out while another has it is listed by row.
The exit status is 1 when less than --lowest percent of the lines are covered.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDERS = ['api', 'plan', 'driver', 'cache', 'dispatch', 'kernels', 'simd', 'scalar', 'reference']
CODE, EXPANSION, SKIPPED, GAP = range(4)  # kinds of regions in the export of llvm-cov


def run_tool(name, *arguments):
    """The tools must be of the compiler's own version, since formats differ: scripts/setup has looked for them."""
    program = os.environ.get('HEED_' + name.upper().replace('-', '_')) or name
    try:
        return subprocess.run([program, *arguments], check=True, stdout=subprocess.PIPE).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f'coverage: {error}')


def export(args):
    profiles = []
    for profile in map(pathlib.Path, args.profile):
        profiles += sorted(profile.rglob('*.profraw')) if profile.is_dir() else [profile]
    if not profiles:
        sys.exit('coverage: no profiles; nothing ran')
    with tempfile.TemporaryDirectory() as folder:
        merged = pathlib.Path(folder, 'merged.profdata')
        names = pathlib.Path(folder, 'profiles')
        names.write_text('\n'.join(map(str, profiles)))
        run_tool('llvm-profdata', 'merge', '-sparse', f'-input-files={names}', '-o', merged)
        objects = [word for program in args.programs[1:] for word in ('-object', program)]
        text = run_tool('llvm-cov', 'export', '-format=text', f'-instr-profile={merged}', args.programs[0], *objects)
    return json.loads(text)['data'][0]['functions']


class Sources:
    """Regions and branches of the files that are asked for, each added up over its copies."""

    def __init__(self):
        self.regions = collections.defaultdict(lambda: collections.defaultdict(int))  # file -> (start, end, kind) -> count
        self.branches = collections.defaultdict(lambda: [0, 0])  # (file, line, column, where in a macro) -> true, false

    def add(self, function, wanted):
        names = [wanted.get(name) for name in function['filenames']]
        used_at = {}  # a macro's text is a file of its own, which an expansion region stands for
        for l0, c0, l1, c1, count, file, expanded, kind in function['regions']:
            if kind == EXPANSION:
                used_at[expanded] = (file, l0, c0)
            if names[file]:
                self.regions[names[file]][(l0, c0), (l1, c1), CODE if kind == EXPANSION else kind] += count
        for l0, c0, _, _, yes, no, file, _, _ in function['branches']:
            inner = ()
            while file in used_at:
                inner += (l0, c0)
                file, l0, c0 = used_at[file]
            if names[file]:
                outcomes = self.branches[names[file], l0, c0, inner]
                outcomes[0] += yes
                outcomes[1] += no

    def segments(self, name):
        """(position, count or None, whether code starts here), in order: what holds from there on."""
        found, open_regions = [], []

        def close(position):
            while open_regions and open_regions[-1][0] <= position:
                end = open_regions.pop()[0]
                found.append((end, open_regions[-1][1] if open_regions else None, False))

        for (start, end, kind), count in sorted(self.regions[name].items(), key=lambda r: (r[0][0], [-x for x in r[0][1]])):
            close(start)
            count = None if kind == SKIPPED else count
            open_regions.append((end, count))
            found.append((start, count, kind == CODE))
        close((sys.maxsize, 0))
        return found

    def lines(self, name):
        """Line -> whether it ran, by the rule of llvm-cov: what goes on from above, or anything that starts in the line."""
        ran, before, rest = {}, None, collections.deque(self.segments(name))
        while rest:
            line = rest[0][0][0]
            here = []
            while rest and rest[0][0][0] == line:
                here.append(rest.popleft())
            counts = [count for _, count, starts in here if starts] + [before]
            counts = [count for count in counts if count is not None]
            if counts:
                ran[line] = max(counts) > 0
            before = here[-1][1]
            if rest and before is not None:
                ran.update((between, before > 0) for between in range(line + 1, rest[0][0][0]))
        return ran

    def outcomes(self, name):
        """Outcomes by (line, column, where in a macro); a condition that is a constant has none."""
        segments = self.segments(name)
        for (file, line, column, inner), counts in sorted(self.branches.items()):
            if file != name:
                continue
            around = [count for position, count, _ in segments if position <= (line, column)]
            if counts != [0, 0] or not around or not around[-1]:
                yield line, column, counts


def ranges(lines):
    """Pairs of first and last of neighbours."""
    found = []
    for line in sorted(lines):
        if found and line == found[-1][1] + 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    return found


def words(first, last):
    return str(first) if first == last else f'{first}-{last}'


def percent(covered, total):
    return f'{covered:6} of {total:5} {100.0 * covered / total:6.2f} %' if total else f'{"none":>24}'


def rows_of(functions):
    """Kernels say their row in their namespace, which is the first one within heed."""
    built = (ROOT / 'src/isa/meson.build').read_text(encoding='utf-8')
    names = re.findall(r"^ +'name': '(\w+)'", built, re.M)
    for function in functions:
        space = re.search(r'N\w?4heed(\d+)(\w+)', function['name'])
        name = space.group(2)[:int(space.group(1))] if space else None
        yield name if name in names else None, function


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--profile', action='append', required=True, metavar='FILE_OR_FOLDER')
    parser.add_argument('--folders', default=','.join(FOLDERS), help='of src, with commas between (default: all)')
    parser.add_argument('--lowest', type=float, default=0.0, metavar='PERCENT', help='of lines, over these folders')
    parser.add_argument('programs', nargs='+', metavar='PROGRAM')
    args = parser.parse_args()

    files = {folder: sorted(path for path in (ROOT / 'src' / folder).rglob('*') if path.suffix in ('.cpp', '.hpp', '.inc'))
             for folder in args.folders.split(',')}
    functions = export(args)
    wanted = {}
    for function in functions:
        for name in function['filenames']:
            path = pathlib.Path(os.path.realpath(name))
            if name not in wanted and any(path in paths for paths in files.values()):
                wanted[name] = str(path.relative_to(ROOT))
    every, by_row = Sources(), collections.defaultdict(Sources)
    for row, function in rows_of(functions):
        every.add(function, wanted)
        if row:
            by_row[row].add(function, wanted)

    total = [0, 0, 0, 0]
    missing_lines, missing_outcomes = [], []
    print(f'{"":10} {"lines":>24} {"outcomes of branches":>26}')
    for folder, paths in files.items():
        sums = [0, 0, 0, 0]
        for path in paths:
            name = str(path.relative_to(ROOT))
            lines = every.lines(name)
            text = path.read_text(encoding='utf-8').splitlines()
            outcomes = list(every.outcomes(name))
            sums[0] += sum(lines.values())
            sums[1] += len(lines)
            sums[2] += sum((yes > 0) + (no > 0) for _, _, (yes, no) in outcomes)
            sums[3] += 2 * len(outcomes)
            for first, last in ranges(line for line, ran in lines.items() if not ran):
                missing_lines.append(f'{name}:{words(first, last)}  {text[first - 1].strip()}')
            never = [f'{line}:{column} {"never true" if no else "never false" if yes else "never met"}'
                     for line, column, (yes, no) in outcomes if not (yes and no)]
            if never:
                missing_outcomes.append(f'{name}: ' + ', '.join(never))
        print(f'{folder:10} {percent(*sums[:2])}   {percent(*sums[2:])}')
        total = [a + b for a, b in zip(total, sums)]
    print(f'{"total":10} {percent(*total[:2])}   {percent(*total[2:])}')

    print('\nlines that did not run:', *(missing_lines or ['none']), sep='\n  ')
    print('\noutcomes (line:column) that never came:', *(missing_outcomes or ['none']), sep='\n  ')
    for row, sources in sorted(by_row.items()):
        left = []
        for name in sorted(sources.regions):
            ran = every.lines(name)
            gone = [words(*pair) for pair in ranges(l for l, here in sources.lines(name).items() if not here and ran[l])]
            left += [f'{name}:{",".join(gone)}'] if gone else []
        if left:
            print(f'\nof the row {row} did not run, but of another did:', *left, sep='\n  ')

    if not total[1] or 100.0 * total[0] / total[1] < args.lowest:
        print(f'\ncoverage: below {args.lowest:g} % of the lines')
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())

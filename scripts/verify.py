#!/usr/bin/env python3
"""Holds heed's C interface against the same formulas in NumPy: the textbook problem, then random ones, on every row.

A result agrees when each element is within its tolerance: the first-order bound of the rounding errors that the
arithmetic can make on the way to that element, computed in double precision beside it (see bounds below). Nothing in it
is tuned to results. The exit status is 0 only if everything agrees; 1: something disagrees; 2: there is no library;
77: there is no NumPy.
"""
import argparse
import ctypes
import importlib.util
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def start_with_numpy():
    """Starts this script again under a Python that has NumPy: the one on PATH need not be the one that has it."""
    environment = ROOT / '.deps' / 'env'
    lines = environment.read_text().splitlines() if environment.exists() else []
    remembered = [line.split('=', 1)[1].strip("'") for line in lines if line.startswith('HEED_PYTHON=')]
    for python in filter(os.path.exists, [*remembered, '/usr/bin/python3']):
        if subprocess.run([python, '-c', 'import numpy'], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            os.execv(python, [python, *sys.argv])
    print('verify: no Python with NumPy here. On Debian and Ubuntu: apt install python3-numpy; elsewhere:\n'
          '        python3 -m pip install numpy', file=sys.stderr)
    sys.exit(77)


if importlib.util.find_spec('numpy') is None:
    start_with_numpy()

import numpy as np  # noqa: E402

from lib.heed_c import Heed, find_library  # noqa: E402

CALLS = ('dot', 'softmax', 'scores', 'weighted_sum', 'attend', 'attention')
ULP = 2.0**-24  # relative error of one rounding

TEXTBOOK_Q = [[1, 0], [0, 1], [1, 1]]
TEXTBOOK_K = [[1, 1], [0, 1], [0, 0]]
TEXTBOOK_V = [[0.5, 0.5], [1, 0], [0, 1]]

#            B Hq Hkv Lq  Lkv  D   Dv  causal
ATTENTION = (
    (1, 1, 1, 1, 1, 1, 1, False),
    (2, 4, 2, 5, 7, 3, 5, True),
    (2, 3, 3, 9, 4, 16, 16, True),  # more queries than keys: the first rows attend to nothing
    (1, 8, 2, 1, 300, 64, 64, False),
    (1, 2, 1, 33, 33, 17, 20, True),
    (1, 6, 3, 4, 600, 40, 8, True),
    (1, 4, 1, 130, 130, 64, 64, True),
    (1, 2, 1, 3, 1100, 8, 33, False),
)


# ---- The formulas, each with the bound of its rounding errors. `r` is the number of roundings of one multiply-add.

def dot(a, b, r):
    terms = a * b
    return terms.sum(-1), r * (a.shape[-1] / 16 + 5) * ULP * abs(terms).sum(-1)


def scores(q, k, scale, r):
    s = scale * np.einsum('...id,...jd->...ij', q, k)
    return s, (r * q.shape[-1] + 1) * ULP * abs(scale) * np.einsum('...id,...jd->...ij', abs(q), abs(k))


def softmax(s, s_error=0.0):
    """Weights, lse, and the relative error of each exponential: of its argument, of e^d itself, of rescaling it."""
    m = s.max(-1, keepdims=True, initial=-np.inf)
    d = s - np.where(np.isneginf(m), 0.0, m)
    p = np.exp(d)
    total = p.sum(-1, keepdims=True)
    weights = p / np.where(total > 0, total, 1.0)
    error = s_error + (4 + 1.25 * np.where(p > 0, -d, 0.0) + 4 * s.shape[-1] / 128) * ULP
    with np.errstate(divide='ignore'):
        lse = (m + np.log(total))[..., 0]
    return weights, lse, error


def row_error(weights, error):
    """Relative error of a row's sum, and absolute error of its logarithm."""
    return (weights * error).sum(-1, keepdims=True) + (weights.shape[-1] / 16 + 8) * ULP


def weights_bound(weights, error):
    smallest = 2.0**-126  # what would be subnormal is zero
    return weights * (error + row_error(weights, error) + 2 * ULP) + smallest


def lse_bound(weights, lse, error):
    size = np.where(np.isfinite(lse), abs(lse), 0.0)
    return np.where(np.isfinite(lse), row_error(weights, error)[..., 0] + 4 * ULP * np.maximum(1.0, size), 0.0)


def weighted_sum(weights, v, r, start=None):
    n = weights.shape[-1]
    start = np.zeros(weights.shape[:-1] + v.shape[-1:]) if start is None else start
    out, size = start + weights @ v, abs(start) + abs(weights) @ abs(v)
    return out, r * (min(n, 128) + n / 128 + 2) * ULP * size


def attend(s, v, r, s_error=0.0):
    weights, lse, error = softmax(s, s_error)
    out, bound = weighted_sum(weights, v, r)
    relative = weights * (error + row_error(weights, error) + 2 * ULP)
    return out, bound + relative @ abs(v), lse, lse_bound(weights, lse, error)


def attention(q, k, v, scale, causal, r):
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    s, error = scores(q, k, scale, r)
    if causal:
        Lq, Lkv = s.shape[-2:]
        s = np.where(np.arange(Lkv) <= np.arange(Lq)[:, None] + Lkv - Lq, s, -np.inf)
    return attend(s, v, r, error)


# ---- Comparing

class Comparison:
    """Collects, per call, the largest error as a share of its tolerance. `perturb` names a call whose first result is
    changed by three tolerances before it is looked at."""

    def __init__(self, perturb=None):
        self.worst = dict.fromkeys(CALLS, 0.0)
        self.failures = []
        self.bits = {}
        self.perturb = perturb

    def check(self, call, case, found, right, tolerance):
        found, right, tolerance = (np.atleast_1d(np.asarray(x)) for x in (found, right, tolerance))
        self.bits[call, case] = found.tobytes()
        found = found.astype(np.float64)
        if call == self.perturb and tolerance.any():
            self.perturb = None
            at = np.unravel_index(np.argmax(tolerance), tolerance.shape)
            found[at] = right[at] + 3 * tolerance[at]
        with np.errstate(invalid='ignore', divide='ignore'):
            share = np.where(found == right, 0.0, abs(found - right) / tolerance)
        share = np.where(np.isnan(share), np.inf, share)
        self.worst[call] = max(self.worst[call], share.max(initial=0.0))
        if not (share <= 1.0).all():
            at = np.unravel_index(np.argmax(share), share.shape)
            self.failures.append((call, f'{case}: element {tuple(map(int, at))} is {found[at]:.9g}, should be '
                                        f'{right[at]:.9g} within {tolerance[at]:.2g}'))


def compare_row(heed, row, compare, seed):
    r = 1 if row.fma else 2
    random = np.random.default_rng(seed)

    def normal(*shape):
        return random.standard_normal(shape, dtype=np.float32)

    def double(*arrays):
        return [np.asarray(a, dtype=np.float64) for a in arrays]

    heed.force_isa(row.name)
    for n in (0, 1, 2, 15, 16, 17, 64, 257, 1000):
        a, b = normal(n), normal(n)
        compare.check('dot', f'n={n}', heed.dot(a, b), *dot(*double(a, b), r))
    for n in (1, 3, 16, 47, 128, 129, 512, 513, 2000):
        x = 4 * normal(n)
        found, lse = heed.softmax(x)
        weights, right_lse, error = softmax(*double(x))
        compare.check('softmax', f'n={n}', found, weights, weights_bound(weights, error))
        compare.check('softmax', f'n={n}, lse', lse, right_lse, lse_bound(weights, right_lse, error))
    for rows, n, D, Dv in ((1, 1, 1, 1), (2, 17, 3, 5), (7, 40, 64, 33), (3, 513, 20, 64)):
        case = f'rows={rows} n={n} D={D} Dv={Dv}'
        q, k, v, start = normal(rows, D), normal(n, D), normal(n, Dv), normal(rows, Dv)
        found = heed.scores(q, k, 0.3)
        compare.check('scores', case, found, *scores(*double(q, k), float(np.float32(0.3)), r))
        s, w = 3 * normal(rows, n), abs(normal(rows, n))
        compare.check('weighted_sum', case, heed.weighted_sum(w, v), *weighted_sum(*double(w, v), r))
        compare.check('weighted_sum', case + ', accumulator', heed.weighted_sum(w, v, start),
                      *weighted_sum(*double(w, v), r, *double(start)))
        found, lse = heed.attend(s, v)
        right, bound, right_lse, right_lse_bound = attend(*double(s, v), r)
        compare.check('attend', case, found, right, bound)
        compare.check('attend', case + ', lse', lse, right_lse, right_lse_bound)

    textbook = [np.array(x, dtype=np.float32)[None, None] for x in (TEXTBOOK_Q, TEXTBOOK_K, TEXTBOOK_V)]
    problems = [('textbook', *textbook, 1.0, False)]
    for B, Hq, Hkv, Lq, Lkv, D, Dv, causal in ATTENTION:
        # Laid out as [B][L][H][D]: the views below have the strides of a cache that keeps its tokens together.
        q, k, v = (normal(B, L, H, n).swapaxes(1, 2) for L, H, n in ((Lq, Hq, D), (Lkv, Hkv, D), (Lkv, Hkv, Dv)))
        case = f'B={B} Hq={Hq} Hkv={Hkv} Lq={Lq} Lkv={Lkv} D={D} Dv={Dv}' + ' causal' * causal
        problems.append((case, q, k, v, None, causal))
    for case, q, k, v, scale, causal in problems:
        found, lse = heed.attention(q, k, v, scale, causal)
        used = float(np.float32(1 / np.sqrt(q.shape[-1]))) if scale is None else scale
        right, bound, right_lse, right_lse_bound = attention(*double(q, k, v), used, causal, r)
        compare.check('attention', case, found, right, bound)
        compare.check('attention', case + ', lse', lse, right_lse, right_lse_bound)


def print_textbook(heed):
    q, k, v = (np.array(x, dtype=np.float32) for x in (TEXTBOOK_Q, TEXTBOOK_K, TEXTBOOK_V))
    weights, _, _ = softmax((q @ k.T).astype(np.float64))
    out, _ = heed.attention(q[None, None], k[None, None], v[None, None], 1.0, False)
    print(f'textbook    {"weights, NumPy":30}{"output, NumPy":24}output, heed')
    for i in range(3):
        texts = (' '.join(f'{x:.6f}' for x in row) for row in (weights[i], weights[i] @ v, out[0, 0, i]))
        print('query {}     {:30}{:24}{}'.format(i + 1, *texts))


def run(heed, seed):
    rows = [row for row in heed.rows() if row.supported]
    print_textbook(heed)
    print('\nLargest error as a share of its tolerance (at most 1.000 agrees):\n')
    print(f'{"row":14}' + ''.join(f'{call:>14}' for call in CALLS))
    failures, fused = [], []
    for row in rows:
        compare = Comparison()
        compare_row(heed, row, compare, seed)
        print(f'{row.name:14}' + ''.join(f'{compare.worst[call]:14.3f}' for call in CALLS))
        failures += [f'{row.name}: {call}, {text}' for call, text in compare.failures]
        if row.fma:
            fused.append((row.name, compare.bits))
    if not fused:
        failures.append('no row was examined')
    for name, bits in fused[1:]:
        failures += [f'{name}: {call}, {case}: not the bits of {fused[0][0]}'
                     for (call, case), found in bits.items() if found != fused[0][1][call, case]]
    print()
    for failure in failures:
        print(f'DISAGREES  {failure}')
    if not failures:
        print(f'All agree; the same bits on every row with fused multiply-add: {", ".join(n for n, _ in fused)}.')
    return not failures


def prove(heed, seed):
    """That a wrong value is found: in each call in turn one element is moved by three tolerances."""
    found_all = True
    for call in CALLS:
        compare = Comparison(perturb=call)
        compare_row(heed, heed.rows()[0], compare, seed)
        found = [failed for failed, _ in compare.failures] == [call]
        print(f'{call:14}', 'a moved element is found' if found else f'NOT FOUND: {compare.failures}')
        found_all = found_all and found
    return found_all


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--library', help='libheed.so; default: the one built last in build/')
    parser.add_argument('--seed', type=int, default=1, help='of the random problems (default 1)')
    parser.add_argument('--prove', action='store_true', help='show that a wrong value in each of the calls is found')
    options = parser.parse_args()
    path = options.library or find_library(ROOT)
    if path is None:
        print('verify: no built library in build/; scripts/test builds one, or name it with --library', file=sys.stderr)
        return 2
    try:
        heed = Heed(path)
    except (OSError, RuntimeError) as error:
        print(f'verify: {error}', file=sys.stderr)
        return 2
    print(f'heed {heed.version()}, arithmetic {heed.arithmetic()}, {path}, seed {options.seed}\n')
    return 0 if (prove if options.prove else run)(heed, options.seed) else 1


sys.exit(main())

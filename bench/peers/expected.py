"""What results must be, in double precision, at sampled rows: the formula and nothing else."""

import numpy as np

import memory

# Largest error of a right result, as a share of the largest expected number: far above f32's rounding, far below a mistake.
# Of narrower types as much as they need who round queries, weights or results to the keys' type on the way, or sum in it, as
# ggml does with f16 values: what is inexact by their standards is to be timed, and its error is in peers.json.
TOLERANCE = {"f32": 2e-4, "f16": 4e-2, "bf16": 4e-2, "int8": 4e-2}
SAMPLES = 4


def _softmax(s):
    p = np.exp(s - s.max())
    return p / p.sum()


def _sampled(point):
    """(sequence, head, row) of the rows that are looked at: the ends and some between."""
    def spread(n):
        return np.linspace(0, n - 1, SAMPLES).astype(int)
    # The last row first: of a causal problem it has the most keys.
    return sorted(set(zip(spread(point.batch), spread(point.Hq), spread(point.Lq)[::-1])))


def error(point, call):
    """Error of what a call has left for operand set 0, as a share of the largest expected number."""
    expected, found = zip(*(_kernel_rows if point.kernel else _attention_rows)(point, call))
    expected, found = np.concatenate(expected), np.concatenate(found)
    most = np.abs(expected).max()
    worst = np.abs(found - expected).max() / most
    return float(worst) if np.isfinite(worst) else float("inf")


def _attention_rows(point, call):
    q = call.query.reshape(point.batch, point.Hq, point.Lq, point.D)
    out = call.result()
    for b, head, i in _sampled(point):
        k, v = (memory.rows_of(x, scales, call.storage, layout, point, b, head // point.group)
                for x, scales, layout in call.operands())
        end = len(k) - point.Lq + i + 1 if point.causal else len(k)
        s = k[:end] @ q[b, head, i].astype(float) / np.sqrt(point.D)
        yield _softmax(s) @ v[:end], out[b, head, i]


def _kernel_rows(point, call):
    x, q, out = call.sets.k[0].view(np.float32).astype(float), call.query.astype(float), call.result()
    if point.family == "dot":
        yield np.array([q @ x]), out
    elif point.family == "softmax":
        for row in (0, point.Lq - 1):
            yield _softmax(x.reshape(point.Lq, -1)[row]), out.reshape(point.Lq, -1)[row]
    elif point.family == "scores":
        yield x.reshape(point.Lkv, point.D) @ q, out
    else:
        yield q @ x.reshape(point.Lkv, point.D), out

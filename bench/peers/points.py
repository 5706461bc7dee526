"""The points of the grid file, and what each amounts to: operations, bytes, the level of memory that they live in."""

import itertools
import re
from dataclasses import dataclass, field
from pathlib import Path

GRID = Path(__file__).with_name("grid")
FAMILIES = ("decode", "chunk", "prefill", "call", "dot", "softmax", "scores", "weighted_sum")
KERNELS = FAMILIES[4:]
KEYS = {"heads", "D", "keys", "queries", "rows", "batch", "ragged", "type", "mask", "memory"}
CHOICES = {"type": ("f32", "f16", "bf16", "int8"), "mask": ("full", "causal"), "memory": ("hot", "stream"),
           "ragged": ("no", "yes")}
ELEMENT_BYTES = {"f32": 4, "f16": 2, "bf16": 2, "int8": 1}
# A set that fills more than this of a cache is not served by that cache alone.
USABLE = 0.75


@dataclass(frozen=True)
class Point:
    name: str
    family: str
    type: str
    causal: bool
    streams: bool
    batch: int
    Hq: int
    Hkv: int
    Lq: int
    Lkv: int
    D: int
    lengths: tuple = field(repr=False)  # keys of each sequence
    quick: bool = False

    @property
    def group(self):
        return self.Hq // self.Hkv

    @property
    def kernel(self):
        return self.family in KERNELS

    def pairs(self):
        """(query row, key) pairs of one head that the mask allows, over all sequences."""
        if not self.causal:
            return self.Lq * sum(self.lengths)
        return sum(self.Lq * n - self.Lq * (self.Lq - 1) // 2 for n in self.lengths)

    def operations(self):
        """Floating-point operations; 0 for softmax, which has no agreed number: its roof is its memory traffic."""
        if self.family == "softmax":
            return 0
        if self.family == "dot":
            return 2 * self.D
        return (2 if self.kernel else 4) * self.D * self.pairs() * self.Hq

    def bytes(self):
        """Bytes that must be read: K and V once per kv head. Softmax: read for the maximum, read again, written."""
        if self.family == "softmax":
            return 12 * self.Lq * self.Lkv
        if self.family == "dot":
            return 8 * self.D
        tokens = sum(self.lengths) * self.Hkv
        if self.kernel:
            return 4 * tokens * self.D
        return 2 * tokens * (self.D * ELEMENT_BYTES[self.type] + (4 if self.type == "int8" else 0))

    def level(self, caches, threads):
        """Where the operands are when a call begins. caches: bytes of L1, L2 and of the last level."""
        if self.streams:
            return "DRAM"
        operands = self.bytes() * 2 // 3 if self.family == "softmax" else self.bytes()
        if not self.kernel:
            operands += 8 * self.batch * self.Hq * self.Lq * self.D
        for level, size in zip(("L1", "L2"), caches):
            if operands <= USABLE * size * (1 if self.kernel else threads):
                return level
        return "L3" if operands <= USABLE * caches[2] else "DRAM"


def parse(text):
    """The points of a grid's text, in its order. A mistake is a ValueError that names its line."""
    points = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        try:
            for point in _line(words):
                if points.setdefault(point.name, point) is not point:
                    raise ValueError(f"{point.name} is there already")
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    return list(points.values())


def read(filter=None, quick=False):
    """The points of the grid file. A filter chooses from the whole grid, quick or not."""
    points = parse(GRID.read_text())
    if filter is not None:
        return [p for p in points if re.search(filter, p.name)]
    return [p for p in points if p.quick or not quick]


def _line(words):
    family, lists = words[0], {}
    if family not in FAMILIES:
        raise ValueError(f"no family {family}")
    for word in words[1:]:
        key, _, values = word.partition("=")
        if key not in KEYS or not values or key in lists:
            raise ValueError(f"{word}: not KEY=VALUE,… of a new key")
        lists[key] = values.split(",")
    for missing in {"type", "memory"} - lists.keys():
        raise ValueError(f"no {missing}=")
    for combination in itertools.product(*lists.values()):
        quick = all(value.endswith("*") or len(values) == 1 for value, values in zip(combination, lists.values()))
        yield _point(family, {key: value.rstrip("*") for key, value in zip(lists, combination)}, quick)


def _point(family, values, quick):
    for key, allowed in CHOICES.items():
        if values.get(key, allowed[0]) not in allowed:
            raise ValueError(f"{key}={values[key]}: one of {', '.join(allowed)}")
    numbers = {key: _count(key, values[key]) for key in ("D", "keys", "queries", "rows", "batch") if key in values}
    Hq, Hkv = _heads(values.get("heads", "1:1"))
    keys, batch = numbers.get("keys", 1), numbers.get("batch", 1)
    Lq = numbers.get("queries", keys if family == "prefill" else numbers.get("rows", 1))
    causal, ragged = values.get("mask") == "causal", values.get("ragged") == "yes"
    if causal and Lq > keys:
        raise ValueError("causal rows without a key")
    # Spread evenly, in an order that mixes short and long ones.
    lengths = tuple(keys // 4 + (b * 5 % batch * keys * 3) // (2 * (batch - 1)) for b in range(batch)) if ragged \
        else (keys,) * batch
    title = "_".join([family, values["type"]] + (["causal"] if causal else []))
    parts = [f"{key}={value}" for key, value in values.items() if key not in ("type", "mask", "memory")]
    return Point("/".join([title] + parts + [values["memory"]]), family, values["type"], causal,
                 values["memory"] == "stream", batch, Hq, Hkv, Lq, max(lengths), numbers.get("D", 1), lengths, quick)


def _count(key, text):
    if not text.isdigit() or int(text) == 0:
        raise ValueError(f"{key}={text}: not a positive number")
    return int(text)


def _heads(text):
    match = re.fullmatch(r"(\d+):(\d+)", text)
    if not match or int(match[2]) == 0 or int(match[1]) == 0 or int(match[1]) % int(match[2]):
        raise ValueError(f"heads={text}: not QUERY:KEY heads, the first a multiple of the second")
    return int(match[1]), int(match[2])

"""Corpora of the fuzz targets: one file per target that holds, for each input, its size in two bytes (the lower one
first) and the input itself.

usage: corpus.py unpack FILE FOLDER    writes each input into FOLDER as a file of its own, named by its content
       corpus.py pack FOLDER FILE      the other way round, shortest first"""

import hashlib
import pathlib
import struct
import sys


def unpack(data):
    at = 0
    while at < len(data):
        (size,) = struct.unpack_from("<H", data, at)
        if at + 2 + size > len(data):
            raise ValueError("ends inside an input")
        yield data[at + 2 : at + 2 + size]
        at += 2 + size


def main(action, source, target):
    source, target = pathlib.Path(source), pathlib.Path(target)
    if action == "unpack":
        target.mkdir(parents=True, exist_ok=True)
        for unit in unpack(source.read_bytes()):
            (target / hashlib.sha1(unit).hexdigest()).write_bytes(unit)
    elif action == "pack":
        units = sorted({f.read_bytes() for f in source.iterdir()}, key=lambda unit: (len(unit), unit))
        target.write_bytes(b"".join(struct.pack("<H", len(unit)) + unit for unit in units))
        print(f"{target}: {len(units)} inputs, {target.stat().st_size} bytes")


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("pack", "unpack"):
        sys.exit(__doc__)
    main(*sys.argv[1:])

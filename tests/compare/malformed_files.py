"""Files that are cut, contradict themselves or lie: each is refused with status 2 and a reason, none crashes."""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

from safetensors import pack, read, run

program, data = sys.argv[1], pathlib.Path(sys.argv[2])
source = data / "textbook/textbook_scale_1.safetensors"
header, values = read(source)
whole = source.read_bytes()


def edited(tensor, **fields):
    copy = json.loads(json.dumps(header))
    copy[tensor].update(fields)
    return pack(copy, values)


first = header["q"]["data_offsets"]
(length,) = struct.unpack_from("<Q", whole)
twice = json.dumps(header).encode()[:-1] + b', "q": ' + json.dumps(header["q"]).encode() + b"}"
deep = b'{"q":' + b"[" * 100000 + b"]" * 100000 + b"}"
far = 2**63 - 1


def empty(kind, **shapes):
    """A file of tensors without elements, whose other axes could keep a loop busy for ever."""
    entries = {name: {"dtype": dtype, "shape": shape, "data_offsets": [0, 0]} for name, (dtype, shape) in shapes.items()}
    return pack({"__metadata__": {"kind": kind}, **entries}, b"")


files = {
    "empty": b"",
    "seven bytes": whole[:7],
    "length only": whole[:8],
    "header cut": whole[: 8 + length // 2],
    "data cut": whole[:-1],
    "no data": whole[: 8 + length],
    "bytes after the data": whole + b"\0",
    "header past the end": struct.pack("<Q", len(whole)) + whole[8:],
    "header of 2^64 - 1 bytes": struct.pack("<Q", 2**64 - 1) + whole[8:],
    "header of 2^63 bytes": struct.pack("<Q", 2**63) + whole[8:],
    "not JSON": pack(b"{nonsense", values),
    "an array": pack(b"[]", values),
    "a string": pack(b'"q"', values),
    "invalid UTF-8": pack(b'{"\xff\xfe": 1}', values),
    "a name twice": pack(twice, values),
    "deeply nested": pack(deep, values),
    "metadata of numbers": pack({"__metadata__": {"scale": 1}}, b""),
    "metadata as an array": pack({"__metadata__": []}, b""),
    "a tensor as a number": pack({"q": 3}, b""),
    "no dtype": pack({"q": {"shape": [1], "data_offsets": [0, 4]}}, b"\0" * 4),
    "no shape": pack({"q": {"dtype": "F32", "data_offsets": [0, 4]}}, b"\0" * 4),
    "one offset": pack({"q": {"dtype": "F32", "shape": [1], "data_offsets": [0]}}, b"\0" * 4),
    "unknown dtype": edited("q", dtype="F33"),
    "negative size": edited("q", shape=[1, 1, -3, -2]),
    "size with a fraction": edited("q", shape=[1, 1, 1.5, 4]),
    "size as text": edited("q", shape=["1", 1, 3, 2]),
    "overflowing shape": edited("q", shape=[2**32, 2**32, 3, 2]),
    "overflow behind a zero": edited("q", shape=[0, far, far, far]),
    "size past 64 bits": edited("q", shape=[2**64, 1, 3, 2]),
    "20000 tensors": pack(b"{" + b",".join(b'"t%d":{}' % n for n in range(20000)) + b"}", b""),
    "nested objects": pack(b'{"q":' + b'{"q":' * 100000 + b"1" + b"}" * 100001, b""),
    "a thousand axes": edited("q", shape=[1] * 1000),
    "shape and offsets differ": edited("q", shape=[1, 1, 3, 3]),
    "offsets backwards": edited("q", data_offsets=first[::-1]),
    "negative offset": edited("q", data_offsets=[-24, 0]),
    "offsets past the end": edited("q", data_offsets=[len(values), len(values) + 24]),
    "offsets that overflow": edited("q", data_offsets=[far - 23, far]),
    "overlap": edited("q", data_offsets=header["k"]["data_offsets"]),
    "v missing": pack({k: v for k, v in header.items() if k != "v"}, values[:-24]),
    "wrong rank": edited("q", shape=[3, 2]),
    "keys that do not fit": edited("k", shape=[1, 1, 2, 3]),
    "no elements in a head": edited("q", shape=[1, 1, 6, 0], data_offsets=[first[0], first[0]]),
    "out of another shape": edited("out", shape=[1, 1, 2, 3]),
    "attribute is no number": pack({**header, "__metadata__": {**header["__metadata__"], "scale": "one"}}, values),
    "rows of nothing, joined": empty("attention", q=("F16", [1, 1, 1, 0]), k=("F8_E4M3", [1, 1, 2**60, 0]),
                                     v=("F8_E4M3", [1, 1, 2**60, 0]), past_k=("F8_E4M3", [1, 1, 0, 0]),
                                     past_v=("F8_E4M3", [1, 1, 0, 0])),
    "sequences of nothing": empty("attention", **{name: ("F32", [2**40, 1, 0, 4]) for name in ("q", "k", "v")}),
    "results of nothing, merged": empty("merge", o1=("F32", [2**40, 0]), o2=("F32", [2**40, 0]), lse1=("F32", [0]),
                                        lse2=("F32", [0]), out=("F64", [0]), lse=("F64", [0])),
    "scale NaN": pack({**header, "__metadata__": {**header["__metadata__"], "scale": "nan"}}, values),
    "scale beyond floats": pack({**header, "__metadata__": {**header["__metadata__"], "scale": "1e39"}}, values),
    "soft-cap below 0": pack({**header, "__metadata__": {**header["__metadata__"], "softcap": "-1"}}, values),
    "window below -1": pack({**header, "__metadata__": {**header["__metadata__"], "window_left": "-2"}}, values),
    "attribute past 64 bits": pack({**header, "__metadata__": {**header["__metadata__"], "causal": str(2**64)}}, values),
}

failures = []
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "file.safetensors"
    for name, content in files.items():
        path.write_bytes(content)
        status, text = run(program, path)
        if status != 2 or "cannot be read: " not in text:
            failures.append(f"{name}: status {status}\n{text}")
    empty_folder = pathlib.Path(folder) / "empty"
    empty_folder.mkdir()
    os.mkfifo(empty_folder / "fifo")
    good = str(source)
    for arguments in ([good, empty_folder], [empty_folder / "fifo", good], [good, "/dev/null"]):
        status, text = run(program, *arguments)
        if status != 2 or "cannot be read: " not in text:
            failures.append(f"{arguments}: status {status}\n{text}")
    with open("/dev/full", "w", encoding="utf-8") as full:
        status = subprocess.run([program, good], stdout=full, stderr=subprocess.DEVNULL, check=False).returncode
    if status != 2:
        failures.append(f"a report that cannot be written: status {status}")
    status, text = run(program, folder + "/nothing")
    if status != 2:
        failures.append(f"a file that is not there: status {status}\n{text}")

print("\n".join(failures) or f"{len(files)} malformed files, each refused with a reason")
sys.exit(bool(failures))

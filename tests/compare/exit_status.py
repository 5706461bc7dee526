"""What heed-compare says of files: agrees 0, disagrees 1, cannot be read 2, refused 77, and the worst of several."""
import pathlib
import struct
import sys
import tempfile

from safetensors import read, run, write

program, data = sys.argv[1], pathlib.Path(sys.argv[2])
failures = []


def expect(status, *arguments, words=()):
    got, text = run(program, *arguments)
    if got != status or any(word not in text for word in words):
        failures.append(f"{' '.join(map(str, arguments))}: status {got}, expected {status} and {words}\n{text}")


def changed(source, target, tensor, index, tolerances):
    """A copy in which one expected value is further off by so many of the file's tolerances."""
    header, bytes_ = read(source)
    begin = header[tensor]["data_offsets"][0] + 8 * index
    (value,) = struct.unpack_from("<d", bytes_, begin)
    step = tolerances * float(header["__metadata__"]["atol_" + tensor])
    struct.pack_into("<d", bytes_, begin, value + step)
    write(target, header, bytes_)


def compact(target, header, data):
    """A file of the tensors that the header names, wherever they lie in the data."""
    packed = bytearray()
    entries = {"__metadata__": header["__metadata__"]}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            entries[name] = dict(entry, data_offsets=[len(packed), len(packed) + end - begin])
            packed += data[begin:end]
    write(target, entries, packed)


def with_attributes(source, target, **attributes):
    header, bytes_ = read(source)
    header["__metadata__"].update(attributes)
    write(target, header, bytes_)


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    textbook = data / "textbook/textbook_scale_1.safetensors"
    plain = data / "onnx/test_attention_4d.safetensors"
    wrong, missing = folder / "wrong.safetensors", folder / "missing.safetensors"
    refused, same = folder / "refused.safetensors", folder / "same.safetensors"

    expect(0, textbook, plain)

    # One element of a result, three tolerances away; a tenth of one changes nothing.
    for source in (textbook, plain):
        for tensor in ("out", "lse"):
            for index in (0, 3 if source is plain else 2):
                changed(source, wrong, tensor, index, 3)
                expect(1, wrong, words=[f"{tensor}[{index}]", "DISAGREES"])
                changed(source, same, tensor, index, 0.1)
                expect(0, same)

    # Options and types that there are not, by name.
    with_attributes(plain, refused, prob_scale="0.5")
    expect(77, refused, words=["prob_scale"])
    with_attributes(plain, refused, dropout="0.1")
    expect(77, refused, words=["dropout"])
    with_attributes(plain, refused, kind="backward")
    expect(77, refused, words=["backward"])

    # Of single kernels too: a tensor or an attribute that means nothing there might be an option.
    for kernel in ("dot_f32", "softmax_rows", "weighted_sum_n1_d1_f32", "merge_d1"):
        source = data / f"micro/{kernel}.safetensors"
        expect(0, source)
        with_attributes(source, refused, negate="1")
        expect(77, refused, words=["negate"])
        header, bytes_ = read(source)
        write(refused, {**header, "bias": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}}, bytes_)
        expect(77, refused, words=["tensor 'bias'"])

    # What is expected to be refused, and for what.
    with_attributes(plain, refused, prob_scale="0.5")
    expect(0, "--refusal", "prob_scale", refused, words=["agrees", "prob_scale"])
    expect(1, "--refusal", "type F64", refused, words=["not refused for its type F64"])
    expect(1, "--refusal", "prob_scale", plain, words=["not refused for its prob_scale"])
    expect(1, "--refusal", "", refused, words=["DISAGREES: refused"])
    expect(0, "--refusal", "", plain)
    with_attributes(plain, wrong, len_q="5")
    expect(2, "--refusal", "prob_scale", wrong)

    # Keys and values in fp8, of numbers that it holds: agrees. Queries in fp8 are refused.
    for dtype, one in (("F8_E4M3", 0x38), ("F8_E5M2", 0x3C)):
        fp8 = folder / "fp8.safetensors"
        header, data = read(textbook)
        for tensor in ("k", "v"):
            begin, end = header[tensor]["data_offsets"]
            numbers = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
            half = one - (8 if dtype == "F8_E4M3" else 4)
            codes = bytes({0.0: 0, 0.5: half, 1.0: one}[number] for number in numbers)
            header[tensor].update(dtype=dtype, data_offsets=[len(data), len(data) + len(codes)])
            data += codes
        compact(fp8, header, data)
        expect(0, "--refusal", "", fp8)
        header["q"] = dict(header["k"])
        compact(fp8, header, data)
        expect(77, fp8, words=[f"type {dtype} of 'q'"])

    # A file that contradicts its own tensors, and one that is not there.
    with_attributes(plain, wrong, len_q="5")
    expect(2, wrong, words=["len_q"])
    expect(2, missing)
    expect(2, "--isa", "no_such_row", plain, words=["no_such_row"])
    expect(2, "--no-such-option")
    expect(0, "--help", words=["77"])

    # The worst of several: 1 before 2 before 77 before 0. A refused file in between does not stop the others.
    changed(plain, wrong, "out", 0, 3)
    with_attributes(plain, refused, prob_scale="0.5")
    expect(77, plain, refused, textbook, words=["2 agree", "1 refused"])
    expect(2, plain, refused, missing)
    expect(1, missing, wrong, refused, plain, words=["1 agree", "1 disagree", "1 refused", "1 cannot be read"])
    expect(1, "--json", wrong, words=['"agrees": false'])
    expect(0, "--isa", "scalar", plain)

print("\n".join(failures) or "every status is right")
sys.exit(bool(failures))

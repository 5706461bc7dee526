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

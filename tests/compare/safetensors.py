"""Just enough of safetensors to take files apart and put them together again, with the standard library."""
import json
import struct
import subprocess


def read(path):
    """Header as a dictionary, and the bytes of the data."""
    with open(path, "rb") as file:
        whole = file.read()
    (length,) = struct.unpack_from("<Q", whole)
    return json.loads(whole[8 : 8 + length]), bytearray(whole[8 + length :])


def pack(header, data):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + bytes(data)


def write(path, header, data):
    with open(path, "wb") as file:
        file.write(pack(header, data))


def run(program, *arguments):
    """Exit status and output; a crash is a negative status."""
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr

"""Models of one node, written as the bytes of ONNX's protocol buffers: a package for that would be one more to install,
and Debian's prints a line for each operator when it is loaded beside PyTorch."""

import struct

FLOAT, INT32, BOOL, FLOAT16 = 1, 6, 9, 10
IR_VERSION = 10


def _varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes(out + bytes([n]))


def _integer(field, n):
    return _varint(field << 3) + _varint(n)


def _bytes(field, content):
    content = content.encode() if isinstance(content, str) else content
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _float(field, x):
    return _varint(field << 3 | 5) + struct.pack("<f", x)


def _attribute(name, value):
    kind = _float(2, value) + _integer(20, 1) if isinstance(value, float) else _integer(3, value) + _integer(20, 2)
    return _bytes(5, _bytes(1, name) + kind)


def _value(field, name, type, shape):
    dimensions = b"".join(_bytes(1, _integer(1, n)) for n in shape)
    return _bytes(field, _bytes(1, name) + _bytes(2, _bytes(1, _integer(1, type) + _bytes(2, dimensions))))


def model(operator, domain, inputs, outputs, attributes, opset):
    """inputs and outputs: {name: (type, shape)}, in the operator's order; an input of None is left out."""
    node = b"".join(_bytes(1, name if value else "") for name, value in inputs.items())
    node += b"".join(_bytes(2, name) for name in outputs) + _bytes(4, operator) + _bytes(7, domain)
    node += b"".join(_attribute(name, value) for name, value in attributes.items())
    graph = _bytes(1, node) + _bytes(2, "one")
    graph += b"".join(_value(11, name, *value) for name, value in inputs.items() if value)
    graph += b"".join(_value(12, name, *value) for name, value in outputs.items())
    sets = _bytes(8, _bytes(1, "") + _integer(2, opset)) + _bytes(8, _bytes(1, "com.microsoft") + _integer(2, 1))
    return _integer(1, IR_VERSION) + _bytes(7, graph) + sets

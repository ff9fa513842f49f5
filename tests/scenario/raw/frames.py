"""frames - HTTP/2 frames written and read by hand, good ones and bad ones."""
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
(DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY,
 WINDOW_UPDATE, CONTINUATION) = range(10)
END_STREAM, ACK, END_HEADERS, PADDED = 1, 1, 4, 8


def frame(kind, flags, stream, payload=b"", length=None):
    length = len(payload) if length is None else length
    return (struct.pack(">I", length)[1:] + bytes([kind, flags]) +
            struct.pack(">I", stream) + payload)


def string(text):
    """Not Huffman coded (RFC 7541 section 5.2)."""
    if len(text) < 127:
        return bytes([len(text)]) + text
    rest, out = len(text) - 127, b"\x7f"
    while rest >= 128:
        out += bytes([rest % 128 + 128])
        rest //= 128
    return out + bytes([rest]) + text


def block(*fields):
    """Literals that are not indexed (section 6.2.2)."""
    return b"".join(b"\0" + string(name) + string(value)
                    for name, value in fields)


def head(authority, *more, method=b"GET", path=b"/", scheme=b"http"):
    return block((b":method", method), (b":scheme", scheme),
                 (b":authority", authority), (b":path", path), *more)


def parse(data):
    """The frames in data: (kind, flags, stream, payload)."""
    while len(data) >= 9:
        length = int.from_bytes(data[:3], "big")
        yield (data[3], data[4], int.from_bytes(data[5:9], "big"),
               data[9:9 + length])
        data = data[9 + length:]


def verdict(data):
    """How a connection was ended: ("goaway" or "rst", code); or None."""
    met = None
    for kind, _, _, payload in parse(data):
        if kind == GOAWAY and int.from_bytes(payload[4:8], "big") != 0:
            return ("goaway", int.from_bytes(payload[4:8], "big"))
        if kind == RST_STREAM:
            met = ("rst", int.from_bytes(payload[:4], "big"))
    return met

"""Frames, checksums, CBOR and zstd, by the words of format/SPEC.md."""

import collections
import io
import os

import cbor2

from packed import need

try:
    import zstandard
except ImportError:
    zstandard = None

MAGIC = bytes.fromhex("d9d9f7 88 48 504d520d0a1a0a")
MAJOR = 1


# ---- CRC-32C: polynomial 0x1EDC6F41, reflected, start and end inverted ----

def crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


CRC_TABLE = crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def dictionary():
    with open(os.path.join(os.path.dirname(__file__), "../../format/dictionary.bin"), "rb") as f:
        return zstandard.ZstdCompressionDict(f.read(), dict_type=zstandard.DICT_TYPE_RAWCONTENT)


def zstd(data, raw_size, known=False):
    need(zstandard, "python3-zstandard is missing")
    out = zstandard.ZstdDecompressor(**({"dict_data": dictionary()} if known else {})).decompress(data, max_output_size=raw_size)
    need(zstandard.get_frame_parameters(data).content_size == raw_size == len(out), "size after decompression")
    return out


def cbor_all(data, strict=True):
    """All items of a CBOR sequence. Writers are bound to deterministic encoding, so no key is there twice either."""
    f, items = io.BytesIO(data), []
    while f.tell() < len(data):
        items.append(cbor2.load(f))
    if not strict:
        return items
    again = b"".join(cbor2.dumps(i, canonical=True) for i in items)
    need(again == data, "not in deterministic encoding")
    return items


def cbor_one(data, strict=True):
    items = cbor_all(data, strict)
    need(len(items) == 1, "one item expected")
    return items[0]


# ---- frames ----

Frame = collections.namedtuple("Frame", "offset length type sequence id meta crc payload")
Damage = collections.namedtuple("Damage", "kind offset length")


class Cut(Exception):
    """The bytes end inside a frame."""


class Broken(Exception):
    """The bytes here are no frame, or one whose checksum fails."""


class NewerMajor(Exception):
    pass


class Bytes:
    """A cursor over the shell of a frame."""

    def __init__(self, data, at):
        self.data, self.at = data, at

    def take(self, n):
        if self.at + n > len(self.data):
            raise Cut
        self.at += n
        return self.data[self.at - n:self.at]

    def head(self, major):
        first = self.take(1)[0]
        if first >> 5 != major or first & 31 > 27:
            raise Broken
        short = first & 31
        if short < 24:
            return short
        value = int.from_bytes(self.take(1 << (short - 24)), "big")
        if value < (24 if short == 24 else 1 << (8 << (short - 25))):
            raise Broken
        return value

    def checksum(self):
        if self.take(1) != b"\x44":
            raise Broken
        return int.from_bytes(self.take(4), "big")


def read_frame(data, offset, strict=True):
    c = Bytes(data, offset)
    have = data[offset:offset + len(MAGIC)]
    if have != MAGIC[:len(have)]:
        raise Broken
    c.take(len(MAGIC))
    major = c.take(1)[0]
    kind = c.head(0)
    sequence = c.head(0)
    if c.take(1) != b"\x48":
        raise Broken
    recording = c.take(8)
    length = c.head(2)
    if length > 4 << 20:
        raise Broken
    meta = c.take(length)
    covered = c.at
    crc = c.checksum()
    if crc != crc32c(data[offset:covered]):
        raise Broken
    if major != MAJOR:
        raise NewerMajor(major)
    meta = cbor_one(meta, strict)
    length = c.head(2)
    if length != meta.get(1, 0):
        raise Broken
    payload = c.take(length)
    if c.checksum() != crc32c(payload):
        raise Broken
    return Frame(offset, c.at - offset, kind, sequence, recording, meta, crc, payload)


def frames(data, strict=True):
    """Frames and Damage, in the order of the file."""
    at = 0
    while at < len(data):
        try:
            frame = read_frame(data, at, strict)
        except (Cut, Broken) as e:
            following = data.find(MAGIC, at + 1)
            end = following if following > 0 else len(data)
            yield Damage("cut" if isinstance(e, Cut) and following < 0 else "garbage", at, end - at)
            at = end
            continue
        yield frame
        at += frame.length

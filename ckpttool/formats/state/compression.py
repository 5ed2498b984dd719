"""The compressed streams that state files are: LZ4 blocks, a zstd frame, snappy blocks, or LZF chunks.

Writers: the classes of Spark's `CompressionCodec` (`LZ4BlockOutputStream`, `ZstdOutputStream`, `SnappyOutputStream`,
`LZFOutputStream`). Which one a query uses is pinned in its offset log; the first bytes tell as well. Contents come in
pieces of bounded size and in order, so that what lies before a damaged place is had before the damage is met: whoever
reads no further than it needs, as Spark does, does not meet it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from struct import Struct, unpack_from
from typing import Literal, NamedTuple

from ckpttool.errors import MalformedFile
from ckpttool.formats.limits import OverLimit, check, most
from ckpttool.formats.state.digests import xxh32
from ckpttool.formats.state.lz4_block import decompressed
from ckpttool.formats.state.native import unpack
from ckpttool.model import Position, SparkError

Codec = Literal["lz4", "zstd", "snappy", "lzf"]

MAGICS: dict[Codec, bytes] = {
    "lz4": b"LZ4Block",
    "zstd": b"\x28\xb5\x2f\xfd",
    "snappy": b"\x82SNAPPY\x00",
    "lzf": b"ZV",
}
_CODECS = {
    spelled.format(codec): codec for codec in MAGICS for spelled in ("{}", "org.apache.spark.io.{}compressioncodec")
}
EOF = SparkError("java.io.EOFException")
IO = SparkError("java.io.IOException")

_PIECE_BYTES = 2**20
SMALL_FILE_BYTES = 2**16  # of which several are unpacked at a time
_LARGEST_GROWTH = 32  # times; rows that are mostly zeros are compressed so
_SMALL_BYTES = 320  # stored ones, which Python has decompressed before another process could be asked
_FEW_BYTES = 8 * _SMALL_BYTES  # in all files, for which nobody is asked
_LZ4_HEADER = Struct("<8sBiiI")  # magic, token, compressed size, size, checksum
_LZ4_SEED = 0x9747B28C
_LZ4_STORED, _LZ4_COMPRESSED = 0x10, 0x20
_SNAPPY_HEADER_BYTES = 16
_ZSTD_BLOCK_BYTES = 2**17
_ZSTD_WIDE_WINDOW = 17 << 3  # 2^27 bytes, the largest that every decoder takes


def pinned_codec(conf: Mapping[str, str]) -> Codec | None:
    """The codec that state is written with under this configuration; None for a name that is none."""
    return _CODECS.get(conf.get("spark.sql.streaming.stateStore.compression.codec", "lz4").lower())


def sniff_compression(head: bytes) -> Codec | None:
    return next((codec for codec, magic in MAGICS.items() if head.startswith(magic)), None)


def decompress(data: bytes, codec: Codec) -> Iterator[bytes]:
    """The contents, in order; ends with the data, or in `MalformedFile` where it cannot go on, or where it is more than
    a file of so many bytes can honestly become."""
    total = 0
    for piece in _DECOMPRESSORS[codec](data):
        total += len(piece)
        check_growth(len(data), total)
        if len(piece) <= 2 * _PIECE_BYTES:
            yield piece
        else:
            yield from (piece[at : at + _PIECE_BYTES] for at in range(0, len(piece), _PIECE_BYTES))


def check_growth(stored: int, total: int) -> None:
    if total > stored * _LARGEST_GROWTH:
        check("unpacked", total)


def _ended(at: int, what: str, spark: SparkError = EOF) -> MalformedFile:
    return MalformedFile(
        f"the file ends inside {what}", expected="the rest of it", position=Position(byte=at), spark=spark
    )


def _corrupt(at: int, message: str, spark: SparkError | None = IO) -> MalformedFile:
    return MalformedFile(message, expected="a block as Spark writes it", position=Position(byte=at), spark=spark)


# -- LZ4 ---------------------------------------------------------------------------------------------------------------


def _lz4(data: bytes) -> Iterator[bytes]:
    """Blocks, gathered up to the size of a piece. What comes before a bad block is handed out first."""
    left = _lz4_headers(data)
    fault: MalformedFile | None = None
    while fault is None:
        blocks: list[Lz4Block] = []
        gathered = 0
        try:
            for block in left:  # Spark takes the end of the file for the end
                blocks.append(block)
                gathered += block.size
                if gathered >= _PIECE_BYTES:
                    break
        except MalformedFile as error:
            fault = error
        plain, damage = lz4_contents(data, blocks)
        yield b"".join(plain)
        fault = damage or fault
        if gathered < _PIECE_BYTES:
            break
    if fault:
        raise fault


class Lz4Block(NamedTuple):
    """Where the stored bytes of a block begin and end, and what they become. `is_plain`: they are the contents."""

    start: int
    end: int
    size: int
    checksum: int
    is_plain: bool


def lz4_blocks(data: bytes) -> list[Lz4Block]:
    """All of a file, without the empty ones that end streams; their contents are not looked at."""
    return list(_lz4_headers(data))


def _lz4_headers(data: bytes) -> Iterator[Lz4Block]:
    at = 0
    while len(data) - at >= _LZ4_HEADER.size:
        method, stored, size, checksum = _lz4_header(data, at)
        start, at = at + _LZ4_HEADER.size, at + _LZ4_HEADER.size + stored
        if at > len(data):
            raise _ended(start - _LZ4_HEADER.size, "a block")
        if size:
            yield Lz4Block(start, at, size, checksum, method == _LZ4_STORED)


def lz4_contents(
    data: bytes, blocks: Sequence[Lz4Block], place: memoryview | None = None
) -> tuple[list[memoryview], MalformedFile | None]:
    """The contents of these blocks, and what is wrong with the first one that has none. `place`: where they may be."""
    if sum(block.end - block.start for block in blocks) <= _SMALL_BYTES:
        small = [_small_contents(data, block) for block in blocks]
        if None not in small:
            return [memoryview(one) for one in small if one is not None], None
    view = memoryview(data)
    packed = [block for block in blocks if not block.is_plain]
    parts, sizes = [view[one.start : one.end] for one in packed], [one.size for one in packed]
    unpacked = iter(unpack("lz4", parts, sizes, place) if packed else ())
    contents: list[memoryview] = []
    for block in blocks:
        at = block.start - _LZ4_HEADER.size
        plain = view[block.start : block.end] if block.is_plain else next(unpacked, None)
        if plain is None:
            return contents, _corrupt(at, "a block cannot be decompressed", LZ4_ERROR)
        if len(plain) != block.size or not is_lz4_content(plain, block.checksum):
            return contents, _corrupt(at, "the checksum of a block is not that of its contents")
        contents.append(plain)
    return contents, None


def lz4_together(files: Sequence[bytes]) -> list[bytes | None]:
    """The contents of small files, by one question for all. None: of what is no stream of LZ4, large, or damaged, which
    is to be read by itself; and of those after a damaged one."""
    blocks = [_few_blocks(data) for data in files]
    packed = [
        (memoryview(data)[one.start : one.end], one.size)
        for data, of_file in zip(files, blocks, strict=True)
        for one in of_file
        if not one.is_plain
    ]
    if sum(len(part) for part, _ in packed) <= _FEW_BYTES:
        return [None] * len(files)
    unpacked = iter(unpack("lz4", [part for part, _ in packed], [size for _, size in packed]))
    contents: list[bytes | None] = []
    for data, of_file in zip(files, blocks, strict=True):
        plain = [memoryview(data)[one.start : one.end] if one.is_plain else next(unpacked, None) for one in of_file]
        found = [
            part
            for part, one in zip(plain, of_file, strict=True)
            if part is not None and len(part) == one.size and is_lz4_content(part, one.checksum)
        ]
        contents.append(b"".join(found) if found and len(found) == len(plain) else None)
    return contents


def _few_blocks(data: bytes) -> list[Lz4Block]:
    """None of what is not small, or damaged."""
    try:
        blocks = lz4_blocks(data) if sniff_compression(data) == "lz4" else []
    except MalformedFile:
        return []
    return blocks if sum(block.size for block in blocks) <= SMALL_FILE_BYTES else []


def _small_contents(data: bytes, block: Lz4Block) -> bytes | None:
    """None of what is damaged: how, the library shall say."""
    stored = data[block.start : block.end]
    plain = stored if block.is_plain else decompressed(stored, block.size)
    return plain if plain is not None and is_lz4_content(memoryview(plain), block.checksum) else None


def is_lz4_content(plain: memoryview, checksum: int) -> bool:
    return xxh32(plain, _LZ4_SEED) & 0x0FFFFFFF == checksum


LZ4_ERROR = SparkError("net.jpountz.lz4.LZ4Exception")


def _lz4_header(data: bytes, at: int) -> tuple[int, int, int, int]:
    """Method, stored size, size and checksum of the block at `at`, held against each other as Spark does."""
    magic, token, stored, size, checksum = _LZ4_HEADER.unpack_from(data, at)
    method, largest = token & 0xF0, 1 << 10 + (token & 0x0F)
    sound = (
        magic == MAGICS["lz4"]
        and method in (_LZ4_STORED, _LZ4_COMPRESSED)
        and 0 <= size <= largest
        and stored >= 0
        and (size == 0) == (stored == 0)
        and (method == _LZ4_COMPRESSED or size == stored)
        and (size > 0 or checksum == 0)
    )
    if not sound:
        raise _corrupt(at, "no header of an LZ4 block stands here")
    return method, stored, size, checksum


# -- zstd --------------------------------------------------------------------------------------------------------------


def _zstd(data: bytes) -> Iterator[bytes]:
    """One frame, as far as its blocks are there: a frame that is cut off is closed after its last whole block."""
    if not data:
        return
    blocks, whole = _zstd_blocks(data)
    largest = most("unpacked") + _ZSTD_BLOCK_BYTES  # of a frame, which cannot be taken apart
    for count in (len(blocks), len(blocks) - 1):  # the last one may be damaged, and not be needed
        if count <= 0:
            break
        room = min(count * _ZSTD_BLOCK_BYTES, largest)
        found = unpack("zstd", [_zstd_prefix(data, blocks, count)], [room])
        if not found:
            if count * _ZSTD_BLOCK_BYTES > largest:
                raise OverLimit("unpacked")
            whole = False
            continue
        plain = found[0]
        yield from (bytes(plain[at : at + _PIECE_BYTES]) for at in range(0, len(plain), _PIECE_BYTES))
        break
    if not whole:
        yield _zstd_cut_raw_block(data, blocks)
        raise _corrupt(blocks[-1] if blocks else 0, "the zstd frame is cut off or corrupt", ZSTD_ERROR)


ZSTD_ERROR = SparkError("com.github.luben.zstd.ZstdIOException")


def _zstd_blocks(data: bytes) -> tuple[list[int], bool]:
    """Where the blocks begin that are there completely, and whether the last of them closes the frame."""
    starts: list[int] = []
    at = _zstd_header_bytes(data)
    while len(data) - at >= 3:
        header = int.from_bytes(data[at : at + 3], "little")
        following = _zstd_block_end(data, at)
        if following > len(data):
            break
        starts.append(at)
        if header & 1:
            return starts, True
        at = following
    return starts, False


def _zstd_header_bytes(data: bytes) -> int:
    """More than there are bytes, where there is no header."""
    if len(data) < 6 or not data.startswith(MAGICS["zstd"]):
        return len(data) + 1
    descriptor = data[4]
    single_segment = descriptor >> 5 & 1
    return 5 + (1 - single_segment) + (0, 1, 2, 4)[descriptor & 3] + (single_segment, 2, 4, 8)[descriptor >> 6]


def _zstd_block_end(data: bytes, at: int) -> int:
    header = int.from_bytes(data[at : at + 3], "little")
    repeats_a_byte = header >> 1 & 3 == 1
    return at + 3 + (1 if repeats_a_byte else header >> 3)


def _zstd_prefix(data: bytes, blocks: list[int], count: int) -> bytes:
    """The frame up to its block number `count`, which then says that it is the last, under a header that does not say
    how much there must be."""
    last = blocks[count - 1]
    if data[last] & 1:
        return data
    single_segment = data[4] >> 5 & 1
    window = bytes([_ZSTD_WIDE_WINDOW]) if single_segment else data[5:6]
    end = _zstd_block_end(data, last)
    return b"".join((data[:4], b"\x00", window, data[blocks[0] : last], bytes([data[last] | 1]), data[last + 1 : end]))


def _zstd_cut_raw_block(data: bytes, blocks: list[int]) -> bytes:
    """What is there of an uncompressed block that the file ends in: Spark gets to see it."""
    at = _zstd_block_end(data, blocks[-1]) if blocks else _zstd_header_bytes(data)
    header = int.from_bytes(data[at : at + 3], "little")
    is_cut = len(data) - at >= 3 and _zstd_block_end(data, at) > len(data)
    return data[at + 3 :] if is_cut and header >> 1 & 3 == 0 and header >> 3 <= _ZSTD_BLOCK_BYTES else b""


# -- snappy ------------------------------------------------------------------------------------------------------------


def _snappy(data: bytes) -> Iterator[bytes]:
    """A header, then blocks. What has no whole header, Spark takes for a single block without one."""
    if not data:
        raise _ended(0, "the header", SNAPPY_ERROR)
    if len(data) < _SNAPPY_HEADER_BYTES or not data.startswith(MAGICS["snappy"]):
        yield _snappy_block(data, 0)
        return
    at = _SNAPPY_HEADER_BYTES
    while len(data) - at >= 4:  # Spark takes the end of the file for the end
        if data.startswith(MAGICS["snappy"], at):  # where streams were joined
            at += _SNAPPY_HEADER_BYTES
            continue
        start, size = at, unpack_from(">i", data, at)[0]
        at += 4 + size
        if size < 0:
            raise _corrupt(start, f"a block of {size} bytes", SparkError("org.xerial.snappy.SnappyError"))
        if at > len(data):
            raise _ended(start, "a block", IO)
        yield _snappy_block(data[start + 4 : at], start)


SNAPPY_ERROR = SparkError("org.xerial.snappy.SnappyIOException")


def _snappy_block(block: bytes, at: int) -> bytes:
    size = _snappy_size(block)
    check("unpacked", size)
    found = unpack("snappy", [block], [size])
    if not found or len(found[0]) != size:
        raise _corrupt(at, "a block cannot be decompressed")
    return bytes(found[0])


def _snappy_size(block: bytes) -> int:
    """How large a block says to become: seven bits in each of its first bytes, the last of which has no eighth."""
    size = 0
    for number, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << 7 * number
        if byte < 0x80:
            break
    return size


# -- LZF ---------------------------------------------------------------------------------------------------------------


def _lzf(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        if len(data) - at < 5 or not data.startswith(MAGICS["lzf"], at) or data[at + 2] > 1:
            raise _corrupt(at, "no whole head of an LZF chunk stands here", LZF_ERROR)
        compressed, stored = data[at + 2] == 1, unpack_from(">H", data, at + 3)[0]
        start = at + (7 if compressed else 5)
        if start + stored > len(data):
            raise _ended(at, "a chunk", LZF_ERROR)
        block = data[start : start + stored]
        yield _lzf_chunk(block, unpack_from(">H", data, at + 5)[0], at) if compressed else block
        at = start + stored


LZF_ERROR = SparkError("com.ning.compress.lzf.LZFException")


def _lzf_chunk(block: bytes, size: int, at: int) -> bytes:
    plain = bytearray()
    position = 0
    while position < len(block) and len(plain) < size:
        control = block[position]
        position += 1
        if control < 32:  # a run of literal bytes
            plain += block[position : position + control + 1]
            position += control + 1
            continue
        length = control >> 5
        if length == 7:
            length += block[position] if position < len(block) else 0
            position += 1
        back = ((control & 31) << 8) + (block[position] if position < len(block) else 0) + 1
        position += 1
        if back > len(plain):
            raise _corrupt(at, "a chunk refers to what is before it", LZF_ERROR)
        start = len(plain) - back
        for offset in range(length + 2):  # the copy may overlap what it writes
            plain.append(plain[start + offset])
    if len(plain) != size:
        raise _corrupt(at, f"a chunk of {size} bytes holds {len(plain)}", LZF_ERROR)
    return bytes(plain)


_DECOMPRESSORS: dict[Codec, Callable[[bytes], Iterator[bytes]]] = {
    "lz4": _lz4,
    "zstd": _zstd,
    "snappy": _snappy,
    "lzf": _lzf,
}

"""Java's `DataOutputStream` framing: big-endian integers and modified UTF-8 behind a length of two bytes.

Writers: `SchemaHelper` (state schema files) and `StateStoreChangelog` (headers). Nothing is allocated before the bytes
for it are known to be there.
"""

from __future__ import annotations

from ckpttool.errors import MalformedFile
from ckpttool.model import Position, SparkError

_EOF = SparkError("java.io.EOFException")
_BAD_UTF = SparkError("java.io.UTFDataFormatException")
_UTF_HEADER_BYTES = 2


class JavaReader:
    """Reads forward through `data`; every fault is a `MalformedFile` at the byte where it was met."""

    __slots__ = ("_data", "_position")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    @property
    def position(self) -> int:
        return self._position

    def int16(self) -> int:
        return int.from_bytes(self._take(2, "a 16-bit integer"), "big", signed=True)

    def int32(self) -> int:
        return int.from_bytes(self._take(4, "a 32-bit integer"), "big", signed=True)

    def peek_int32(self) -> int:
        value = self.int32()
        self._position -= 4
        return value

    def utf(self) -> str:
        """What `writeUTF` wrote."""
        start = self._position
        return self._pair_surrogates(self._piece(), start)

    def chunks(self) -> str:
        """A text of any length: a count, then that many `UTF` pieces; a character may lie across two of them."""
        start = self._position
        count = self.int32()
        if not 0 <= count * _UTF_HEADER_BYTES <= len(self._data) - self._position:
            raise MalformedFile(
                f"a text in {count} pieces, with {len(self._data) - self._position} bytes left",
                expected="the number of pieces that follow",
                position=Position(byte=start),
                spark=_EOF,
            )
        return self._pair_surrogates("".join([self._piece() for _ in range(count)]), start)

    def _piece(self) -> str:
        start = self._position
        size = int.from_bytes(self._take(_UTF_HEADER_BYTES, "the length of a text"), "big")
        raw = self._take(size, "a text")
        if raw.isascii():
            return raw.decode("ascii")
        if max(raw) >= 0xF0:  # four-byte forms, which Java writes as two surrogates of three bytes
            raise self._not_modified_utf8(start)
        try:
            return raw.replace(b"\xc0\x80", b"\x00").decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise self._not_modified_utf8(start) from None

    def _pair_surrogates(self, text: str, start: int) -> str:
        if text.isascii():
            return text
        try:
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError:
            raise self._not_modified_utf8(start) from None

    def _take(self, size: int, what: str) -> bytes:
        end = self._position + size
        if end > len(self._data):
            raise MalformedFile(
                f"the file ends inside {what}",
                expected=f"{size} bytes, {len(self._data) - self._position} are left",
                position=Position(byte=self._position),
                spark=_EOF,
            )
        taken = self._data[self._position : end]
        self._position = end
        return taken

    def _not_modified_utf8(self, start: int) -> MalformedFile:
        return MalformedFile(
            "a text is not modified UTF-8",
            expected="text as Java's `writeUTF` writes it",
            position=Position(byte=start),
            spark=_BAD_UTF,
        )

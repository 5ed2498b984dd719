"""The names of classes in jars, and of the methods with code in each: read from the class files, without a JVM."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ABSTRACT_OR_NATIVE = 0x400 | 0x100
# Sizes of the entries of a constant pool, by tag; strings (1) tell their own, longs and doubles take two places.
SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}


def classes_with_methods(jars: Iterable[Path], simple_names: set[str]) -> Iterator[tuple[str, set[str]]]:
    """Class (with dots) and its methods, of those classes that are asked for by the last part of their name."""
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if name.endswith(".class") and name.removesuffix(".class").rpartition("/")[2] in simple_names:
                    yield name.removesuffix(".class").replace("/", "."), methods_with_code(archive.read(name))


def methods_with_code(data: bytes) -> set[str]:
    names, at = _constants(data)
    at += 6  # access, this, super
    at += 2 + 2 * _short(data, at)  # interfaces
    found = set()
    for kind in ("fields", "methods"):
        count, at = _short(data, at), at + 2
        for _ in range(count):
            access, name = _short(data, at), names[_short(data, at + 2)]
            attributes, at = _short(data, at + 6), at + 8
            for _ in range(attributes):
                at += 6 + struct.unpack_from(">I", data, at + 2)[0]
            if kind == "methods" and not access & ABSTRACT_OR_NATIVE:
                found.add(name)
    return found


def _constants(data: bytes) -> tuple[dict[int, str], int]:
    assert data[:4] == b"\xca\xfe\xba\xbe"
    count, at, index = _short(data, 8), 10, 1
    names = {}
    while index < count:
        tag = data[at]
        if tag == 1:
            size = _short(data, at + 1)
            names[index] = data[at + 3 : at + 3 + size].decode("utf-8", "replace")
            at += 3 + size
        else:
            at += 1 + SIZES[tag]
        index += 2 if tag in (5, 6) else 1
    return names, at


def _short(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "big")

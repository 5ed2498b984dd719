"""File names in a log directory, and what Spark makes of each. Writer: `HDFSMetadataLog` and its file managers.

A batch file is a name that Java's `Long.parseLong` takes. Spark then opens the file by the plain decimal number, so
`+5` and `005` count as batch 5 and cannot be opened. Names with a leading dot are temporary files or
Hadoop's checksums.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise

from msgspec.structs import replace

from ckpttool.formats.envelope import LONG_MAX, LONG_MIN
from ckpttool.formats.layout import COMPACT_SUFFIX, hadoop_crc
from ckpttool.model import LogNames


def parse_log_names(names: Sequence[str]) -> LogNames:
    """Sort the names out. Written for 100,000 of them: the ordinary case takes a few passes in C and no sorting."""
    if dense := _dense_ids(names):
        return LogNames(ids=dense)
    decimal = [name for name in names if name.isdecimal()]
    ids, odd = (dense, []) if (dense := _dense_ids(decimal)) else _sort_decimals(decimal)
    beyond = set(decimal).difference(map(str, ids), odd) if len(decimal) > len(ids) + len(odd) else set()
    every = set(names)
    others = every.difference(decimal, map(".{}.crc".format, decimal))
    compact = {name for name in others if name.endswith(COMPACT_SUFFIX) and _is_canonical(_stem(name))}
    signed = {name for name in others if parse_long(name) is not None}
    temporary = {name for name in others if name.startswith(".") and name.endswith((".tmp", ".tmp.crc"))}
    hadoop_crcs = {name for name in others - temporary if name.startswith(".") and name.endswith(".crc")}
    sidecars = {name for name in others - temporary - hadoop_crcs if name.endswith(".crc")}
    crcs = len(every) - len(others) - len(decimal)  # of those that are whole numbers
    is_uneven = 0 < crcs < len(decimal) or bool(compact and (crcs or hadoop_crcs))
    return LogNames(
        ids=ids,
        compact_ids=tuple(sorted(int(_stem(name)) for name in compact)),
        non_canonical=tuple(sorted([*odd, *signed])),
        temporary=tuple(sorted(temporary)),
        orphan_crcs=tuple(sorted(hadoop_crcs - {f".{name}.crc" for name in others})),
        checksums=tuple(sorted(sidecars)),
        foreign=tuple(sorted(beyond | others - compact - signed - temporary - hadoop_crcs - sidecars)),
        without_crc=_without_crc([*map(str, ids), *compact], every) if is_uneven else (),
    )


def _without_crc(files: Sequence[str], names: Collection[str]) -> tuple[str, ...]:
    """Those that lack Hadoop's checksum, above the first that has it."""
    with_it = [int(_stem(name)) for name in files if hadoop_crc(name) in names]
    first = min(with_it, default=None)
    if first is None:
        return ()
    return tuple(name for name in files if int(_stem(name)) > first and hadoop_crc(name) not in names)


def parse_long(text: str) -> int | None:
    """`Long.parseLong`: an optional sign, decimal digits of any script, no blanks, within 64 bits."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits.isdecimal() or len(digits) > 400:
        return None
    number = int(text)
    return number if LONG_MIN <= number <= LONG_MAX else None


def holes(ids: Sequence[int]) -> list[range]:
    """The runs of missing numbers between the first and the last id."""
    if not ids or ids[-1] - ids[0] + 1 == len(ids):
        return []
    return [range(low + 1, high) for low, high in pairwise(ids) if high - low > 1]


def _sort_decimals(decimal: Sequence[str]) -> tuple[Sequence[int], list[str]]:
    """The canonical numbers, ascending, and the names that are numbers in another spelling."""
    odd = [name for name in decimal if not _is_canonical(name)]
    return sorted(map(int, set(decimal).difference(odd))), [name for name in odd if parse_long(name) is not None]


def _dense_ids(names: Sequence[str]) -> range | None:
    """The range that the names are, if they are one without holes and nothing else: a few passes in C decide that.

    JSON's grammar does the work: it takes plain decimal numbers and refuses leading zeros. So names that differ, as
    those of a directory do, are numbers that differ, and counting them is enough."""
    joined = "".join(names)
    if not joined.isascii() or not joined.encode().isdigit():
        return None
    try:
        numbers = json.loads(f"[{','.join(names)}]")
    except ValueError:
        return None
    low, high = min(numbers), max(numbers)
    return range(low, high + 1) if high - low + 1 == len(numbers) and high <= LONG_MAX else None


def _is_canonical(name: str) -> bool:
    number = parse_long(name)
    return number is not None and str(number) == name and number >= 0


def _stem(name: str) -> str:
    return name.removesuffix(COMPACT_SUFFIX)


def without_directories(names: LogNames, directory: str, is_directory: Callable[[str], bool]) -> LogNames:
    """Spark counts files only. Asked for the newest names, down to the first that is one."""
    ids, count = names.ids, len(names.ids)
    while count and is_directory(f"{directory}/{ids[count - 1]}"):
        count -= 1
    if count == len(ids):
        return names
    return replace(names, ids=ids[:count], directories=tuple(map(str, reversed(ids[count:]))))

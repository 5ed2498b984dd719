"""How Spark writes single values as text: dates, times, intervals and numbers, as in `to_json`.

Time stamps have milliseconds and, where they are instants, the zone of UTC. Years beyond those of Python's calendar are
reckoned by hand.
"""

from __future__ import annotations

import re
import struct
from datetime import date
from decimal import Decimal
from json import encoder
from math import copysign, isfinite, isnan

quoted = encoder.encode_basestring_ascii  # so that no text can reach a terminal raw

_DAY = 86_400_000_000
_HOUR, _MINUTE, _SECOND = 3_600_000_000, 60_000_000, 1_000_000
_EPOCH = date(1970, 1, 1).toordinal()
_LAST = date.max.toordinal()
_SURROGATE, _REPLACEMENT = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?"), "\ufffd".encode()
_SINGLE_BITS = 24
_WHOLE_SINGLES = 2**_SINGLE_BITS  # from here on every float is a whole number
_SMALLEST_NORMAL_SINGLE = 2**-126
_UNITS = ("day", "hour", "minute", "second")


def java_text(raw: bytes) -> str:
    """Decoded as Java decodes it: half of a surrogate pair written as UTF-8 is a single mistake there, and two or
    three in Python."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return _SURROGATE.sub(_REPLACEMENT, raw).decode("utf-8", "replace")


def date_text(days: int) -> str:
    ordinal = days + _EPOCH
    if 0 < ordinal <= _LAST:
        return date.fromordinal(ordinal).isoformat()
    return _far_date(days)


def _far_date(days: int) -> str:
    """In cycles of 400 years, whose years begin in March."""
    shifted = days + 719_468
    era, of_era = divmod(shifted, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month += 3 if month < 10 else -9
    year += era * 400 + (month <= 2)
    sign = "+" if year > 9999 else "-" if year < 0 else ""
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"


def timestamp_text(microseconds: int) -> str:
    """Without a zone, and to the millisecond: `2024-01-01T00:00:34.000`."""
    days, rest = divmod(microseconds, _DAY)
    minutes, rest = divmod(rest, _MINUTE)
    seconds, rest = divmod(rest, _SECOND)
    return f"{date_text(days)}T{minutes // 60:02}:{minutes % 60:02}:{seconds:02}.{rest // 1000:03}"


def nanos_text(microseconds: int, nanoseconds: int, digits: int) -> str:
    days, rest = divmod(microseconds, _DAY)
    minutes, rest = divmod(rest, _MINUTE)
    seconds, rest = divmod(rest, _SECOND)
    fraction = f"{rest * 1000 + nanoseconds:09}"[:digits]
    return f"{date_text(days)}T{minutes // 60:02}:{minutes % 60:02}:{seconds:02}.{fraction}"


def sql_timestamp(microseconds: int) -> str:
    """As it stands inside a variant: `2024-01-01 00:00:34`, with a fraction only if there is one."""
    days, rest = divmod(microseconds, _DAY)
    return f"{date_text(days)} {time_text(rest * 1000)}"


def time_text(nanoseconds: int) -> str:
    seconds, fraction = divmod(nanoseconds, 1_000_000_000)
    tail = f".{fraction:09}".rstrip("0") if fraction else ""
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{tail}"


def year_month_text(months: int, units: tuple[str, str]) -> str:
    sign, size = "-" if months < 0 else "", abs(months)
    if units == ("month", "month"):
        return f"INTERVAL '{months}' MONTH"
    if units == ("year", "year"):
        return f"INTERVAL '{sign}{size // 12}' YEAR"
    return f"INTERVAL '{sign}{size // 12}-{size % 12}' YEAR TO MONTH"


def day_time_text(microseconds: int, units: tuple[str, str]) -> str:
    """The first unit takes all that is left of it, each later one two digits; seconds have a fraction if they need."""
    first, last = _UNITS.index(units[0]), _UNITS.index(units[1])
    rest = abs(microseconds)
    text = "-" if microseconds < 0 else ""
    for at in range(first, last + 1):
        if at > first:
            text += " " if at == 1 else ":"
        if at == 3:
            text += _seconds(rest)
        else:
            amount, rest = divmod(rest, (_DAY, _HOUR, _MINUTE)[at])
            text += f"{amount:02}" if at else str(amount)
    name = units[0].upper() if first == last else f"{units[0].upper()} TO {units[1].upper()}"
    return f"INTERVAL '{text}' {name}"


def _seconds(microseconds: int) -> str:
    seconds, fraction = divmod(microseconds, _SECOND)
    return f"{seconds:02}" + (f".{fraction:06}".rstrip("0") if fraction else "")


def calendar_text(months: int, days: int, microseconds: int) -> str:
    """Parts that are zero are left out; division goes towards zero, as in Java."""
    sign = -1 if microseconds < 0 else 1
    rest = abs(microseconds)
    year_sign = -1 if months < 0 else 1
    parts = [
        (year_sign * (abs(months) // 12), "years"),
        (year_sign * (abs(months) % 12), "months"),
        (days, "days"),
        (sign * (rest // _HOUR), "hours"),
        (sign * (rest % _HOUR // _MINUTE), "minutes"),
    ]
    texts = [f"{amount} {unit}" for amount, unit in parts if amount]
    seconds = rest % _MINUTE
    if seconds:
        whole, fraction = divmod(seconds, _SECOND)
        tail = f".{fraction:06}".rstrip("0") if fraction else ""
        texts.append(f"{'-' if sign < 0 else ''}{whole}{tail} seconds")
    return " ".join(texts) or "0 seconds"


def java_number(value: float, single: bool = False) -> str:
    """A float or double as a number of JSON, or what is none as a text: `"NaN"`, `"-Infinity"`."""
    if not isfinite(value):
        return '"NaN"' if isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'
    return _single(value) if single else repr(value)


def _single(value: float) -> str:
    """A number that rounds to the same 32 bits, as Java up to 17 writes it: of large whole numbers with all digits but
    those that their last bit is worth, else the shortest."""
    size = abs(value)
    if _WHOLE_SINGLES <= size < 2**63:
        worth = int(size).bit_length() - _SINGLE_BITS - 2
        unit = 10 ** (len(str(1 << worth)) - 1) if worth > 1 else 1
        return repr(copysign((int(size) + unit // 2) // unit * unit, value))
    packed = struct.pack("<f", value)
    for digits in range(6 if size > _SMALLEST_NORMAL_SINGLE else 2, 9):
        text = f"{value:.{digits}g}"
        if struct.pack("<f", float(text)) == packed:
            break
    else:
        text = f"{value:.9g}"
    return repr(float(text))


def decimal_text(value: Decimal) -> str:
    """All digits, in Java's notation, which Python's is as well."""
    return str(value)

"""Conditions on columns: `key.user=ada`, `value.count>=10`. Pure.

A value is compared as it is printed: numbers as numbers, everything else as text, which for dates and times of the same
form is their order. Null is equal to `null` only, and neither less nor more than anything.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from ckpttool.errors import NotFound
from ckpttool.formats.state.spark_json import json_renderer
from ckpttool.formats.state.types import Field
from ckpttool.state.reader import Row
from ckpttool.state.tables import StateTable

_CONDITION = re.compile(r"([^=!<>]+)(!=|<=|>=|=|<|>)(.*)\Z", re.DOTALL)
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class BadCondition(NotFound):
    """Not a condition, or on a column that is not there."""

    exit_code = 2


def matching(table: StateTable, rows: Iterable[Row], conditions: Sequence[str]) -> Iterator[Row]:
    tests = [_test(table, text) for text in conditions]
    return (row for row in rows if all(test(row) for test in tests))


def _test(table: StateTable, text: str) -> Callable[[Row], bool]:
    found = _CONDITION.match(text)
    if not found:
        raise BadCondition(f"{text!r} is no condition", "write COLUMN=VALUE, or with != < <= > >=")
    path, compare, wanted = found[1].strip().split("."), _COMPARE[found[2]], _parsed(found[3].strip())
    get = _getter(table.columns, path)

    def test(row: Row) -> bool:
        value = get(row.values)
        if value is None or wanted is None:
            return (compare is operator.eq and value is wanted) or (compare is operator.ne and value is not wanted)
        if isinstance(value, str) != isinstance(wanted, str):
            return compare(str(value), str(wanted))
        return compare(value, wanted)

    return test


def _parsed(text: str) -> Any:
    try:
        value = json.loads(text, parse_float=Decimal)
    except ValueError:
        return text
    return value if isinstance(value, int | Decimal | str) or value is None else text


def _getter(columns: Sequence[Field], path: Sequence[str]) -> Callable[[Any], Any]:
    """From a tuple of values to the one at the end of the path, as it is printed."""
    places: list[int] = []
    fields = list(columns)
    for part in path:
        names = [field.name for field in fields]
        if part not in names:
            raise BadCondition(f"there is no column {'.'.join(path)!r}", f"there are: {', '.join(names) or 'none'}")
        places.append(names.index(part))
        kind = fields[places[-1]].type
        fields = list(kind.fields)
    render = json_renderer(kind)

    def get(values: Any) -> Any:
        for place in places:
            if values is None:
                return None
            values = values[place]
        return json.loads(render(values), parse_float=Decimal)

    return get

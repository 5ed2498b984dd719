"""What is no writer. Real ones are described in tests/differential/test_jobs_vs_spark.py."""

from __future__ import annotations

import json

import pytest

from ckpttool import Query, describe_query
from ckpttool.errors import Refused
from ckpttool.query.saved import parse_description


@pytest.mark.parametrize("given", [None, "a writer", object()])
def test_what_is_no_writer_is_refused_with_what_to_give(given: object) -> None:
    with pytest.raises(Refused, match="no writer") as error:
        describe_query(given)
    assert error.value.next_step


def test_a_query_as_json_is_a_description_that_is_read_back() -> None:
    query = Query("orders", "a.py:3", None, ("plan",), "update")
    text = query.to_json()
    assert parse_description(text.encode()).queries == (query,)
    assert json.loads(text)["from"]["place"] == "a.py:3"

"""What a second code asks of the Spark of the first, with a stand-in for the session that it gets: real ones share one
in tests/differential/test_rehearse_vs_spark.py."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ckpttool.spark.sharing import AnotherSpark, Sharing


class Conf:
    """Of a new session, which begins with what the first code asked for. What is named `static…` cannot be set."""

    def __init__(self, begun: Mapping[str, str]) -> None:
        self.settings = dict(begun)

    def isModifiable(self, key: str) -> bool:
        return not key.startswith("static")

    def set(self, key: str, value: str) -> None:
        self.settings[key] = value

    def unset(self, key: str) -> None:
        self.settings.pop(key, None)


class Context:
    """With a session where Spark's JVM has it."""

    def __init__(self, begun: Mapping[str, str]) -> None:
        self.settings = Conf(begun)
        self._jvm = self.SparkSession = self

    def itself(self) -> Any:
        return self

    getDefaultSession = get = newSession = itself

    def conf(self) -> Conf:
        return self.settings


class Asked:
    """A SparkConf."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self.settings = settings

    def getAll(self) -> list[tuple[str, str]]:
        return [*self.settings.items()]


def session_of(first: Mapping[str, str], second: Mapping[str, str]) -> Mapping[str, str]:
    sharing = Sharing({"asked": Sharing(None)._asks(Asked(first))})
    sharing._asked = sharing._asks(Asked(second))
    return dict(sharing._session(Context(first)).conf().settings)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"partitions": "2"}, {"partitions": "2"}),
        ({"partitions": "2"}, {"partitions": "5"}),
        ({"ansi": "false"}, {}),
        ({}, {"ansi": "false"}),
    ],
)
def test_a_session_has_the_settings_that_its_own_code_asks_for(first: Any, second: Any) -> None:
    assert session_of(first, second) == second


def test_the_name_of_an_application_tells_no_sparks_apart() -> None:
    assert session_of({"spark.app.name": "a", "static.jars": "x"}, {"spark.app.name": "b", "static.jars": "x"})


@pytest.mark.parametrize(
    ("first", "second"),
    [({"static.jars": "a"}, {"static.jars": "b"}), ({"static.jars": "a"}, {}), ({}, {"static.jars": "b"})],
)
def test_what_only_a_start_can_set_needs_another_spark(first: Any, second: Any) -> None:
    with pytest.raises(AnotherSpark):
        session_of(first, second)


@pytest.mark.parametrize("what", ["variable", "none", "folder"])
def test_what_a_spark_inherits_needs_another_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, what: str) -> None:
    monkeypatch.setenv("GIVEN", "1")
    sharing = Sharing({"asked": Sharing(None)._asks(None), "port": 1, "secret": "s"})
    if what == "folder":
        monkeypatch.chdir(tmp_path)
    elif what == "variable":
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--jars other.jar pyspark-shell")
    else:
        monkeypatch.delenv("GIVEN")
    sharing._asked = sharing._asks(None)
    with pytest.raises(AnotherSpark):
        sharing._refuse_others()
    assert sharing.is_refused
    assert "PYSPARK_GATEWAY_PORT" not in os.environ

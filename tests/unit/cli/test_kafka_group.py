"""Nothing is written to a consumer group before a person, or `--yes`, has said so."""

from __future__ import annotations

import io
import sys

import pytest

from ckpttool.cli.kafka_group import ask_person
from ckpttool.errors import Refused


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("typed", "refused"), [("y\n", False), ("n\n", True), ("\n", True)])
def test_a_person_is_asked(monkeypatch: pytest.MonkeyPatch, typed: str, refused: bool) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    if refused:
        with pytest.raises(Refused):
            ask_person()
    else:
        ask_person()


def test_without_a_terminal_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    with pytest.raises(Refused) as refused:
        ask_person()
    assert "--yes" in (refused.value.next_step or "")

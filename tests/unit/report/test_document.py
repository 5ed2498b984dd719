"""Documents that no command makes: which half is made, and what a refusal keeps."""

from __future__ import annotations

import json
from typing import NoReturn

from ckpttool.errors import NotACheckpoint
from ckpttool.report.document import Document, refusal_document
from tests.documents import shown


def not_asked() -> NoReturn:
    raise AssertionError("whoever is shown the other half must not pay for this one")


def test_only_the_half_that_is_shown_is_made() -> None:
    assert shown(Document("thing", None, not_asked, lambda: [["a line"]])) == "a line\n"
    assert json.loads(shown(Document("thing", None, dict, not_asked), "json"))["schema"] == "ckpt.thing/1"


def test_a_refusal_keeps_what_is_known() -> None:
    refused = refusal_document("thing", "/place", NotACheckpoint("no", "look there", ("/there",)), {"sinks": []})
    assert refused.fields() | {"ckpt_version": ""} == {
        "schema": "ckpt.thing/1",
        "ckpt_version": "",
        "checkpoint": "/place",
        "error": {"message": "no", "next_step": "look there", "exit_code": 4},
        "checkpoints": ["/there"],
        "findings": [],
        "sinks": [],
    }

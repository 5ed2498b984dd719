"""What is shown of a failure that was explained, or was not."""

from __future__ import annotations

import json

from ckpttool.laws.recognise import causes_of
from ckpttool.logs.driver_log import read_log
from ckpttool.report.document import Document
from ckpttool.report.views.explain import ExplainedFailure, explain_document
from tests.documents import shown

CONFLICT = "Concurrent update to the log. Multiple streaming jobs detected for 7"


def explained(text: str, *again: str, verbose: bool = False) -> Document:
    log = read_log([text.encode()])
    failure = log.failures[0] if log.failures else None
    causes = causes_of(failure.text if failure else log.text)
    return explain_document(ExplainedFailure(log, failure, causes), again, verbose=verbose)


def test_a_condition_stands_in_the_headline_once() -> None:
    named = shown(explained(f"org.apache.spark.SparkException: [CONCURRENT_STREAM_LOG_UPDATE] {CONFLICT}"))
    assert named.startswith("FAILED  [CONCURRENT_STREAM_LOG_UPDATE] Concurrent")
    bare = shown(explained("java.lang.IllegalStateException: batch 4 doesn't exist"))
    assert bare.startswith("FAILED  IllegalStateException: batch 4 doesn't exist")


def test_what_only_wraps_is_left_out_of_the_message() -> None:
    ids = "[id = 2abd3c3e-3179-4a6b-8c7d-9e0f1a2b3c4d, runId = 0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d]"
    text = f"StreamingQueryException: [STREAM_FAILED] Query {ids} terminated with exception: batch 4 doesn't exist"
    assert json.loads(shown(explained(text), "json"))["errors"][0]["message"] == "batch 4 doesn't exist"


def test_by_a_bare_class_no_cause_is_told() -> None:
    text = shown(explained("com.fasterxml.jackson.core.io.JsonEOFException: Unexpected end-of-input"))
    assert "cannot be told by this text alone" in text
    assert "newest-offsets-malformed" in text


def test_the_command_has_what_was_given_and_what_the_causes_need_besides() -> None:
    text = "java.lang.IllegalStateException: Partition t-0's offset was changed from 500 to 300"
    given = "--bootstrap-server kafka:9092"
    assert json.loads(shown(explained(text), "json"))["do"] == "ckpt doctor CHECKPOINT --bootstrap-server HOST:PORT"
    assert json.loads(shown(explained(text, given), "json"))["do"] == f"ckpt doctor CHECKPOINT {given}"


def test_a_place_that_a_text_names_is_one_word_of_the_command() -> None:
    text = "java.io.FileNotFoundException: File /c;rm${IFS}-r/offsets/4 does not exist"
    assert "ckpt doctor '/" in shown(explained(text)) or "CHECKPOINT" in shown(explained(text))
    assert "doctor /c;" not in shown(explained(text))


def test_many_causes_are_cut_short_unless_all_are_asked_for() -> None:
    text = "com.fasterxml.jackson.core.JsonParseException: Unexpected character"
    assert "more: --verbose" in shown(explained(text))
    assert "more: --verbose" not in shown(explained(text, verbose=True))


def test_where_nothing_failed_no_cause_is_missed() -> None:
    text = '{"id":"2abd3c3e-3179-4a6b-8c7d-9e0f1a2b3c4d","batchId":3,"sources":[]}'
    assert shown(explained(text)).startswith("NO ERROR  nothing in it says that a query failed")
    assert "Cause" not in shown(explained(text))

"""The option itself for people, and all that is known of it for scripts."""

from __future__ import annotations

import json

from ckpttool.kafka.starting import starts_beside
from ckpttool.laws.restart import predict_restart
from ckpttool.report.views.kafka_starting import starting_document
from tests.documents import shown
from tests.unit.kafka.scenes import broker, look, query


def test_text_is_what_the_option_is_set_to_and_json_says_why() -> None:
    scene = query({"t": {0: 100, 1: 5}})
    [view] = look(scene, broker({"t": {0: (130, 300), 1: (0, 9)}}))
    offsets = starts_beside(view, None, at_least_earliest=True)
    document = starting_document("/checkpoint", predict_restart(scene), offsets, None)
    assert json.loads(shown(document)) == {"t": {"0": 130, "1": 5}}
    fields = json.loads(shown(document, "json"))
    assert fields["option"] == shown(document).strip()
    assert fields["next_batch"] == {"outcome": "new_batch", "batch_id": 1}
    assert fields["partitions"][0] == {
        "topic": "t",
        "read_as": "t",
        "partition": 0,
        "next_offset": 100,
        "offset": 130,
        "earliest": 130,
        "latest": 300,
        "lost": 30,
        "repeated": None,
        "status": "behind_retention",
        "why": None,
    }

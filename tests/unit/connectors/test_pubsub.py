"""Pub/Sub: what tells its line from Auto Loader's."""

from __future__ import annotations

from ckpttool.connectors import recognise_offset


def test_the_fetch_epoch_tells_it_from_auto_loader() -> None:
    offset = recognise_offset('{"seqNum":12,"sourceVersion":1,"fetchEpoch":3}')
    assert (offset.kind, offset.certainty) == ("pubsub", "likely")
    assert recognise_offset('{"seqNum":12,"sourceVersion":1}').kind == "auto-loader"

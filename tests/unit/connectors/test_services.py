"""MongoDB, Cosmos, Pub/Sub, Pub/Sub Lite and Auto Loader."""

import pytest

from ckpttool.connectors import recognise_offset
from ckpttool.connectors.auto_loader import AutoLoaderOffset
from ckpttool.connectors.base import Offset, Order
from ckpttool.connectors.cosmos import CosmosOffset


def mongo(offset: str) -> Offset:
    found = recognise_offset(f'{{"version": 1, "offset": {offset}}}')
    assert found.kind == "mongodb"
    return found


class TestMongo:
    def test_time(self) -> None:
        offset = mongo('{"$timestamp": {"t": 5000, "i": 0}}')
        assert offset.summary() == "cluster time 5000 s"
        assert offset.order(mongo('{"$timestamp": {"t": 5000, "i": 1}}')) is Order.BEFORE
        assert mongo('{"$timestamp": {"t": 9, "i": 0}}').order(offset) is Order.BEFORE

    def test_events_are_not_countable(self) -> None:
        start, end = mongo('{"$timestamp": {"t": 5000, "i": 0}}'), mongo('{"$timestamp": {"t": 5060, "i": 0}}')
        assert end.step_from(start).amount is None
        assert end.step_from(end).amount == 0
        assert start.step_from(end).backwards

    def test_tokens(self) -> None:
        assert mongo('{"_data": "123"}').order(recognise_offset('{"_data": "123"}')) is Order.EQUAL
        assert mongo('{"_data": "123"}').order(mongo('{"_data": "124"}')) is Order.UNKNOWN

    def test_unknown_version(self) -> None:
        assert recognise_offset('{"version": 2, "offset": {"_data": "1"}}').problems()

    @pytest.mark.parametrize(
        "text",
        [
            '{"version":1,"offset":{"$timestamp":{"t":"5000","i":0}}}',
            '{"version":1,"offset":{"$timestamp":{"t":-5,"i":0}}}',
            '{"version":1,"offset":{"$timestamp":5000}}',
            '{"version":1,"offset":{}}',
            '{"_data":1}',
            '{"_data":"1","more":1}',
        ],
    )
    def test_other_shapes(self, text: str) -> None:
        assert recognise_offset(text).kind == "unknown"


def cosmos(partitions: str, name: str = "spark.cosmos.changeFeed.offset.v1", state: str = "e30=") -> CosmosOffset:
    offset = recognise_offset(f'{{"id":"{name}","state":"{state}"{partitions}}}')
    assert isinstance(offset, CosmosOffset)
    return offset


class TestCosmos:
    def test_the_line(self) -> None:
        offset = cosmos(',"partitions":[{"range":["","AA"],"endLsn":99},{"range":["AA","FF"]}]')
        assert offset.end_lsns == {"[, AA)": 99, "[AA, FF)": None}
        assert offset.summary() == "2 partition ranges"
        assert offset.problems() == []

    def test_the_relocated_class(self) -> None:
        cosmos("", "azure_cosmos_spark.com.azure.cosmos.spark.changeFeed.offset.v1")

    @pytest.mark.parametrize(
        "partitions", ["", ',"partitions":[]', ',"partitions":[{"range":["AA"]}]', ',"partitions":7']
    )
    def test_an_end_offset_without_partitions_stops_the_query(self, partitions: str) -> None:
        assert cosmos(partitions).problems()

    def test_order_by_log_sequence_numbers(self) -> None:
        one, two = (cosmos(f',"partitions":[{{"range":["","FF"],"endLsn":{lsn}}}]') for lsn in (99, 120))
        assert one.order(two) is Order.BEFORE
        assert one.step_from(two).backwards == ("[, FF)",)
        assert two.step_from(one).amount is None

    def test_other_ranges_or_missing_numbers_are_not_comparable(self) -> None:
        whole = cosmos(',"partitions":[{"range":["","FF"],"endLsn":9}]')
        assert whole.order(cosmos(',"partitions":[{"range":["","AA"],"endLsn":9}]')) is Order.UNKNOWN
        assert whole.order(cosmos(',"partitions":[{"range":["","FF"]}]')) is Order.UNKNOWN

    def test_another_id_is_another_system(self) -> None:
        assert recognise_offset('{"id":"x","state":"e30="}').kind == "unknown"


class TestPubSubLite:
    def test_numbers_are_inclusive_and_their_difference_bounds_the_rows(self) -> None:
        start, end = recognise_offset('{"1":5,"2":-1}'), recognise_offset('{"1":5,"2":8}')
        assert (end.kind, end.certainty) == ("pubsub-lite", "likely")
        step = end.step_from(start)
        assert (step.amount, step.exact, step.parts) == (9, False, {"1": 0, "2": 9})

    def test_below_none(self) -> None:
        assert recognise_offset('{"1":-1}').problems() == []
        assert recognise_offset('{"1":-2}').problems()


class TestAutoLoader:
    def test_the_line(self) -> None:
        offset = recognise_offset('{"seqNum":234,"sourceVersion":1,"lastBackfillStartTimeMs":1667453455118}')
        assert isinstance(offset, AutoLoaderOffset)
        assert (offset.kind, offset.certainty, offset.position) == ("auto-loader", "certain", 234)
        assert ("lastBackfillStartTimeMs", "1667453455118") in offset.details()

    def test_the_difference_bounds_the_files(self) -> None:
        start = recognise_offset('{"seqNum":234,"sourceVersion":1}')
        step = recognise_offset('{"seqNum":240,"sourceVersion":3,"lastInputPath":"abfss://c@a/x"}').step_from(start)
        assert (step.amount, step.unit, step.exact) == (6, "files", False)


class TestPubSub:
    def test_the_fetch_epoch_tells_it_from_auto_loader(self) -> None:
        offset = recognise_offset('{"seqNum":12,"sourceVersion":1,"fetchEpoch":3}')
        assert (offset.kind, offset.certainty) == ("pubsub", "likely")
        assert recognise_offset('{"seqNum":12,"sourceVersion":1}').kind == "auto-loader"

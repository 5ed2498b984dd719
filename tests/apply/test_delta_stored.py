"""A Delta table in a store of objects: there and back in one commit each, with the storage options of every command."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from ckpttool.apply.sinks import delta
from ckpttool.apply.sinks.options import for_delta_rs
from ckpttool.errors import Refused
from tests.apply.trials import as_delta_rs_wants
from tests.parts.stores import ObjectServer


@pytest.mark.parametrize("kind", ["s3", "generations"])
def test_rows_and_record_go_back_and_come_again(
    object_server: Callable[[str], ObjectServer], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ckpttool.apply.sinks.delta.for_delta_rs", as_delta_rs_wants)
    server, bucket = object_server(kind), f"b{uuid4().hex}"
    server.put_objects(bucket, [("beside", b"x")])
    table = f"{server.protocol}://{bucket}/table"
    url, options = as_delta_rs_wants(table, server.options)
    for batch in range(3):
        noted = CommitProperties(app_transactions=[Transaction("query", batch)])
        rows = pa.table({"batch": [batch]})
        write_deltalake(url, rows, mode="append", storage_options=options, commit_properties=noted)
    change = delta.TableChange((1,), "20261119T081500Z-4f2a91", table, 0, "query", 0, 2, 2, server.options)

    def there() -> tuple[list[int], int | None]:
        opened = DeltaTable(url, storage_options=options)
        return sorted(opened.to_pyarrow_table()["batch"].to_pylist()), opened.transaction_version("query")

    before, told = there(), delta.OpenTable(change)

    def state() -> str:
        """Of somebody who knows nothing of it."""
        assert told.state == delta.OpenTable(change).state
        return told.state

    assert state() == "old"
    assert told.make()
    assert (state(), there()) == ("new", ([0], 0))
    assert not told.make()
    assert told.take_back()
    assert (state(), there()) == ("old", before)


def test_options_are_those_of_delta_rs() -> None:
    given = {
        "key": "k",
        "s3:secret": "s",
        "client_kwargs": '{"region_name": "eu-central-1"}',
        "endpoint_url": "http://h",
    }
    assert for_delta_rs("s3a://b/t", given) == (
        "s3://b/t",
        {
            "aws_access_key_id": "k",
            "aws_secret_access_key": "s",
            "aws_endpoint_url": "http://h",
            "aws_region": "eu-central-1",
            "aws_allow_http": "true",
        },
    )
    url, options = for_delta_rs("abfss://c@account.dfs.core.windows.net/t", {"account_key": "k"})
    assert url == "abfs://c/t"
    assert options == {"azure_storage_account_name": "account", "azure_storage_account_key": "k"}
    assert for_delta_rs("gs://b/t", {"token": "anon"})[1] == {"google_skip_signature": "true"}
    assert for_delta_rs("gs://b/t", {"token": "/key.json", "endpoint_url": "http://h"})[1] == {
        "google_service_account": "/key.json",
        "google_base_url": "http://h",
        "allow_http": "true",
    }
    assert for_delta_rs("/data/t", given) == ("/data/t", {})


def test_what_delta_rs_cannot_reach_is_a_reason_and_no_traceback() -> None:
    with pytest.raises(Refused, match="does not write to hdfs"):
        for_delta_rs("hdfs://h/t", {})
    given = {"key": "k", "secret": "hunter2", "endpoint_url": "http://127.0.0.1:9"}
    for table in ("hdfs://h/t", "s3://nowhere/t"):
        change = delta.TableChange((1,), "20261119T081500Z-4f2a91", table, 0, "query", 0, 2, 2, given)
        (reason,) = delta.OpenTable(change).not_possible()
        assert reason.id == "sink-feature"
        assert "hunter2" not in repr(reason)

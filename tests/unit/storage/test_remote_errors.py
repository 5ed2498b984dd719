"""What an error of a backend becomes: no secret in it, and what to install or to set beside it."""

from __future__ import annotations

import sys

import pytest
from fsspec.registry import _registry

from ckpttool.errors import CkptError, NotFound, Refused, Unavailable
from ckpttool.storage.remote import Backend, FsspecStore
from ckpttool.storage.remote_errors import remote_error
from ckpttool.storage.store import open_store
from tests.conftest import run_ckpt
from tests.unit.storage.failing import Failing


def test_an_unknown_scheme_is_refused() -> None:
    outcome = run_ckpt("inspect", "ftps4://host/ck")
    assert outcome.code == 6
    assert "ftps4:// is not a file system that fsspec knows" in outcome.err
    assert "ftps4://" in run_ckpt("inspect", "ftps4://x::/tmp/y").err


def test_a_file_system_that_wants_options_names_them() -> None:
    pytest.importorskip("requests")
    outcome = run_ckpt("inspect", "dbfs:/ckpt/orders")
    assert outcome.code == 6
    assert "dbfs:// needs options that were not given: instance, token" in outcome.err


@pytest.fixture
def no_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("s3fs", "adlfs", "gcsfs"):
        monkeypatch.setitem(sys.modules, package, None)
    for protocol in ("s3", "abfs", "gs", "gcs"):
        monkeypatch.delitem(_registry, protocol, raising=False)


@pytest.mark.usefixtures("no_extras")
def test_a_missing_extra_is_refused_with_what_to_install() -> None:
    outcome = run_ckpt("inspect", "s3a://bucket/ck")
    assert outcome.code == 6
    assert "pip install 'ckpttool[s3]'" in outcome.err


@pytest.mark.usefixtures("no_extras")
@pytest.mark.parametrize(("url", "extra"), [("abfss://c@a.dfs.core.windows.net/p", "azure"), ("gs://b/p", "gcs")])
def test_every_object_store_names_its_own_extra(url: str, extra: str) -> None:
    with pytest.raises(Refused) as refused:
        open_store(url)
    assert refused.value.next_step == f"pip install 'ckpttool[{extra}]'"


@pytest.mark.parametrize(
    "text",
    ["https://b.s3.amazonaws.com/?X-Amz-Signature=hunter2", "bad secret hunter2", "https://u:hunter2@h/", "x" * 300],
)
def test_secrets_do_not_appear_in_the_errors_of_a_backend(text: str) -> None:
    error = remote_error(OSError(text), "offsets/1")
    assert "hunter2" not in error.message
    assert len(error.message) < 250


@pytest.mark.extras
@pytest.mark.parametrize(
    ("name", "word"), [("NoRegionError", "AWS_DEFAULT_REGION"), ("NoCredentialsError", "anon=true")]
)
def test_what_the_client_of_s3_misses_is_named(name: str, word: str) -> None:
    from botocore import exceptions

    error = remote_error(getattr(exceptions, name)(), "offsets/1")
    assert word in (error.next_step or "")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (PermissionError("Access Denied"), Unavailable),
        (type("NoCredentialsError", (Exception,), {})("Unable to locate credentials"), Unavailable),
        (TimeoutError(), Unavailable),
        (ConnectionResetError("peer"), Unavailable),
        (KeyError("a bug of theirs"), Unavailable),
        (RecursionError("deep"), Unavailable),
        (FileNotFoundError("x"), NotFound),
        (NotADirectoryError("x"), NotFound),
        (ImportError("Install foo"), Refused),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value.__name__,
)
def test_errors_of_a_backend_become_ours(error: Exception, expected: type[CkptError]) -> None:
    store = FsspecStore("failing://x", Backend(Failing(error)), "", ["x"])
    with pytest.raises(expected):
        store.list()
    with pytest.raises(expected):
        store.read("a")
    assert store.stat("a") is None

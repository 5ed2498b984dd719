"""Ways to say who asks. What is sent is looked at by a proxy; what is allowed, azurite decides."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from tests.conftest import run_ckpt
from tests.parts.proxy import Proxy
from tests.parts.stores import AZURE_ACCOUNT, AZURE_KEY, ObjectServer

SAMPLE = "4.2.0-kafka-to-kafka-sound"
SECRET = "planted/secret+key="


@pytest.fixture
def s3(object_server: Callable[[str], ObjectServer], sample: Callable[[str], Path]) -> Iterator[tuple[Proxy, str]]:
    server = object_server("s3")
    with Proxy(server) as proxy:
        yield proxy, f"{server.put(sample(SAMPLE), f'b{uuid4().hex}')}/checkpoint"


FORMS = {
    "environment": ({}, {"AWS_ACCESS_KEY_ID": "ENVKEY", "AWS_SECRET_ACCESS_KEY": SECRET}, "ENVKEY"),
    "profile": ({"profile": "nightly"}, {}, "PROFILEKEY"),
    "key": ({"key": "GIVENKEY", "secret": SECRET}, {}, "GIVENKEY"),
    "option before environment": ({"key": "GIVENKEY", "secret": SECRET}, {"AWS_ACCESS_KEY_ID": "ENVKEY"}, "GIVENKEY"),
    "for one protocol": ({"s3a:key": "GIVENKEY", "s3a:secret": SECRET, "abfs:key": "OTHER"}, {}, "GIVENKEY"),
    "anonymous": ({"anon": True}, {}, None),
}


@pytest.mark.parametrize("form", FORMS)
def test_s3_asks_in_the_name_that_was_given(
    s3: tuple[Proxy, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    proxy, url = s3
    options, environment, key = FORMS[form]
    shared = tmp_path / "credentials"
    shared.write_text(f"[nightly]\naws_access_key_id=PROFILEKEY\naws_secret_access_key={SECRET}\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(shared))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    outcome = asked(proxy, url, tmp_path, options)
    signatures = [request.headers.get("authorization", "") for request in proxy.requests]
    assert all((f"Credential={key}/" in one) if key else not one for one in signatures)
    assert SECRET not in outcome
    assert (key or "GIVENKEY") not in outcome


def test_the_requester_pays_if_asked_to(s3: tuple[Proxy, str], tmp_path: Path) -> None:
    proxy, url = s3
    asked(proxy, url, tmp_path, {"key": "k", "secret": SECRET, "requester_pays": True})
    assert {request.headers.get("x-amz-request-payer") for request in proxy.requests} == {"requester"}


def asked(proxy: Proxy, url: str, tmp_path: Path, options: Mapping[str, object]) -> str:
    """All that is shown by an `inspect` with these options."""
    file = tmp_path / "options.json"
    file.write_text(json.dumps({**options, "endpoint_url": proxy.address}))
    file.chmod(0o600)
    proxy.requests.clear()
    outcome = run_ckpt("--debug", "inspect", url, "--format", "json", "--storage-options-file", str(file))
    private = "anon" in options  # moto lets anybody list, and nobody read what is not public
    assert outcome.code == (5 if private else 0), outcome.err
    return outcome.out + outcome.err


@pytest.mark.parametrize(("allowed", "code"), [("rl", 0), ("l", 5), ("r", 5)])
def test_a_signature_that_lets_read_and_list_is_enough_on_azure(
    object_server: Callable[[str], ObjectServer], sample: Callable[[str], Path], allowed: str, code: int
) -> None:
    from azure.storage.blob import AccountSasPermissions, ResourceTypes, generate_account_sas

    server = object_server("azure")
    url = f"{server.put(sample(SAMPLE), f'b{uuid4().hex}')}/checkpoint"
    signature = generate_account_sas(
        account_name=AZURE_ACCOUNT,
        account_key=AZURE_KEY,
        resource_types=ResourceTypes(container=True, object=True),
        permission=AccountSasPermissions.from_string(allowed),
        expiry=datetime.now(UTC) + timedelta(hours=1),
    )
    connection = f"BlobEndpoint={server.address}/{AZURE_ACCOUNT};SharedAccessSignature={signature}"
    outcome = run_ckpt("--debug", "inspect", url, "--storage-option", f"connection_string={connection}")
    assert outcome.code == code, outcome.err
    assert signature.rpartition("sig=")[2] not in outcome.out + outcome.err

"""Ways to say who asks. What is sent is looked at by a proxy; what is allowed, azurite and moto decide."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
import requests
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from benchmarks.measure import CKPT
from tests.conftest import run_ckpt
from tests.parts.certificates import Authority
from tests.parts.identities import Identities
from tests.parts.kerberos import KeyCentre, SecureHdfsServer
from tests.parts.proxy import Proxy
from tests.parts.stores import AZURE_ACCOUNT, AZURE_KEY, AzureTokenServer, ObjectServer, S3Server

STORAGE = pytest.mark.storage

SAMPLE = "4.2.0-kafka-to-kafka-sound"
SECRET = "planted/secret+key="
TOKEN = "planted-session-token"


@pytest.fixture
def s3(object_server: Callable[[str], ObjectServer], sample: Callable[[str], Path]) -> Iterator[tuple[Proxy, str]]:
    server = object_server("s3")
    with Proxy(server) as proxy:
        yield proxy, f"{server.put(sample(SAMPLE), f'b{uuid4().hex}')}/checkpoint"


FORMS: dict[str, tuple[dict[str, object], dict[str, str], str | None]] = {
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
        permission=AccountSasPermissions.from_string(allowed),  # type: ignore[no-untyped-call]
        expiry=datetime.now(UTC) + timedelta(hours=1),
    )
    connection = f"BlobEndpoint={server.address}/{AZURE_ACCOUNT};SharedAccessSignature={signature}"
    outcome = run_ckpt("--debug", "inspect", url, "--storage-option", f"connection_string={connection}")
    assert outcome.code == code, outcome.err
    assert signature.rpartition("sig=")[2] not in outcome.out + outcome.err


# -- what somebody else gives out --------------------------------------------------------------------------------------
# A fake gives the credentials out, since clouds are not to be had; moto's STS gives those of roles.

ROLE = "arn:aws:iam::123456789012:role/reader"
ROLES = {
    "session": {"AWS_ACCESS_KEY_ID": "ROLEKEY", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_SESSION_TOKEN": TOKEN},
    "role": {"AWS_PROFILE": "assumed"},
    "web identity": {"AWS_ROLE_ARN": ROLE, "AWS_WEB_IDENTITY_TOKEN_FILE": "web-token"},
    "container": {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "{fake}/container"},
    "machine": {"AWS_EC2_METADATA_SERVICE_ENDPOINT": "{fake}/"},
}


@pytest.mark.parametrize("form", [pytest.param(form, marks=() if form == "role" else STORAGE) for form in ROLES])
def test_s3_asks_with_the_keys_and_the_token_of_a_role(
    s3: tuple[Proxy, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    proxy, url = s3
    (tmp_path / "web-token").write_text(TOKEN)
    (tmp_path / "config").write_text(
        f"[profile assumed]\nrole_arn = {ROLE}\nsource_profile = own\n"
        f"[profile own]\naws_access_key_id = OWNKEY\naws_secret_access_key = {SECRET}\n"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", proxy.address)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with Identities(SECRET) as fake:
        for name, value in ROLES[form].items():
            monkeypatch.setenv(name, str(tmp_path / value) if name.endswith("_FILE") else value.format(fake=fake.url))
        outcome = asked(proxy, url, tmp_path, {})
        secrets = {SECRET, TOKEN, *fake.given}
        assert fake.asked == {"container": ["container"], "machine": ["the-role"]}.get(form, [])
    of_store = [request.headers for request in proxy.requests if "/s3/" in request.headers.get("authorization", "")]
    tokens = {headers["x-amz-security-token"] for headers in of_store}
    assert len(tokens) == 1
    assert not any("Credential=OWNKEY/" in headers["authorization"] for headers in of_store)
    assert not any(secret in outcome for secret in secrets | tokens)


@pytest.fixture(scope="module")
def azure_by_tokens(
    tmp_path_factory: pytest.TempPathFactory, sample: Callable[[str], Path]
) -> Iterator[tuple[Authority, AzureTokenServer, str]]:
    authority = Authority(tmp_path_factory.mktemp("tls"), "authority")
    with AzureTokenServer(authority) as server:
        yield authority, server, f"{server.put(sample(SAMPLE), 'lake')}/checkpoint"


PRINCIPAL = {"tenant_id": "the-tenant", "client_id": "the-client", "client_secret": SECRET}
TENANT = {"AZURE_TENANT_ID": "the-tenant", "AZURE_CLIENT_ID": "the-client"}
TOKENS: dict[str, tuple[Mapping[str, str], Mapping[str, str], str]] = {
    "service principal": (PRINCIPAL, {}, "client_secret"),
    "of adlfs's environment": (
        {},
        {f"AZURE_STORAGE_{key.upper()}": PRINCIPAL[key] for key in PRINCIPAL},
        "client_secret",
    ),
    "of the environment": ({}, {**TENANT, "AZURE_CLIENT_SECRET": SECRET}, "client_secret"),
    "workload identity": ({}, {**TENANT, "AZURE_FEDERATED_TOKEN_FILE": "federated"}, "client_assertion"),
    "managed identity": ({}, {"IDENTITY_ENDPOINT": "{fake}/machine", "IDENTITY_HEADER": SECRET}, "identity header"),
}


@pytest.mark.storage
@pytest.mark.parametrize("known", [True, False], ids=["known", "unknown"])
@pytest.mark.parametrize("form", TOKENS)
def test_azure_asks_with_the_token_of_an_identity(
    azure_by_tokens: tuple[Authority, AzureTokenServer, str], tmp_path: Path, form: str, known: bool
) -> None:
    authority, server, url = azure_by_tokens
    options, environment, way = TOKENS[form]
    (tmp_path / "federated").write_text(SECRET)
    (tmp_path / "options.json").write_text(json.dumps({**server.options, **options}))
    (tmp_path / "options.json").chmod(0o600)
    with Identities(SECRET if known else "another", authority.files("identities")) as fake:
        values = {**environment, "AZURE_AUTHORITY_HOST": fake.url, "SSL_CERT_FILE": str(authority.trusted)}
        outcome = subprocess.run(  # clients take what they trust from the environment, and once
            [*CKPT, "--debug", "inspect", url, "--format", "json", "--storage-options-file", "options.json"],
            env={**os.environ, "PYTHONPATH": os.getcwd(), **{key: values[key].format(fake=fake.url) for key in values}},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    assert outcome.returncode == (0 if known else 5), outcome.stderr
    assert {*fake.asked} == ({way} if known else set())
    assert len(outcome.stderr.splitlines()) == (0 if known else 2)
    assert not any(secret in outcome.stdout + outcome.stderr for secret in {SECRET, *fake.given})


def test_google_asks_with_the_token_of_a_service_account(
    object_server: Callable[[str], ObjectServer],
    sample: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = object_server("gcs")
    url = f"{server.put(sample(SAMPLE), f'b{uuid4().hex}')}/checkpoint"
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = tmp_path / "key.json"
    with Identities(SECRET) as fake, Proxy(server) as proxy:
        account = {"type": "service_account", "client_email": "reader@test", "token_uri": f"{fake.url}/google"}
        file.write_text(json.dumps({**account, "project_id": "test", "private_key": key.decode()}))
        for options, environment in (({"token": str(file)}, ""), ({}, str(file))):
            monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", environment)
            outcome = asked(proxy, url, tmp_path, options)
            (token,) = {request.headers["authorization"] for request in proxy.requests}
            assert token.removeprefix("Bearer ") in fake.given
            assert not any(secret in outcome for secret in (*fake.given, key.decode().splitlines()[1], str(file)))
        asked(proxy, url, tmp_path, {"token": str(file), "requester_pays": True, "project": "payer"})
        assert {request.query.get("userProject") for request in proxy.requests} == {"payer"}
    assert {*fake.asked} == {"signed assertion"}


# -- what suffices -----------------------------------------------------------------------------------------------------


def test_the_policy_of_the_documentation_suffices_and_is_needed(
    sample: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As far as moto enforces policies: actions and resources, not conditions."""
    documented = re.search(r'```json\n(\{"Version".*?)```', Path("docs/storage.md").read_text(), re.DOTALL)
    assert documented
    policy = json.loads(documented[1])
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with S3Server() as server:
        tree = sample(SAMPLE) / "checkpoint"
        bodies = (
            (f"checkpoints/orders/{one.relative_to(tree)}", one.read_bytes())
            for one in tree.rglob("*")
            if one.is_file()
        )
        server.put_objects("lake", bodies)
        people = {name: policy["Statement"][:count] for name, count in (("all", 2), ("names", 1), ("nothing", 0))}
        keys = {name: key_of(server, name, {**policy, "Statement": some}) for name, some in people.items()}
        requests.post(f"{server.address}/moto-api/reset-auth", data="0", timeout=30).raise_for_status()
        for name, code in (("all", 0), ("names", 5), ("nothing", 5)):
            options = {**keys[name], "endpoint_url": server.address}
            given = [part for pair in options.items() for part in ("--storage-option", "=".join(pair))]
            for command in ("inspect", "plan-recovery", "log"):
                outcome = run_ckpt(command, "s3://lake/checkpoints/orders", "--format", "json", *given)
                assert outcome.code == code, (name, command, outcome)


def key_of(server: S3Server, name: str, policy: Mapping[str, object]) -> dict[str, str]:
    """Of a user who may do what the policy says."""
    iam = server.client("iam")
    iam.create_user(UserName=name)
    if policy["Statement"]:
        iam.put_user_policy(UserName=name, PolicyName="reader", PolicyDocument=json.dumps(policy))
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return {"key": key["AccessKeyId"], "secret": key["SecretAccessKey"]}


# -- Kerberos ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def secure_hdfs(sample: Callable[[str], Path]) -> Iterator[tuple[KeyCentre, SecureHdfsServer, str]]:
    with KeyCentre(["alice"]) as centre, SecureHdfsServer(centre) as server:
        yield centre, server, f"{server.put(sample(SAMPLE), 'lake')}/checkpoint"


@pytest.mark.storage
@pytest.mark.spark
@pytest.mark.parametrize("has_ticket", [True, False], ids=["ticket", "no ticket"])
def test_hdfs_asks_with_a_ticket(
    secure_hdfs: tuple[KeyCentre, SecureHdfsServer, str], monkeypatch: pytest.MonkeyPatch, has_ticket: bool
) -> None:
    centre, server, url = secure_hdfs
    for name, value in centre.environment.items():
        monkeypatch.setenv(name, value)
    if has_ticket:
        monkeypatch.setenv("KRB5CCNAME", str(centre.log_in("alice")))
    options = ["--storage-option", f"http_port={server.port}", "--storage-option", "kerberos=true"]
    outcome = run_ckpt("inspect", url, "--format", "json", *options)
    assert outcome.code == (0 if has_ticket else 5), outcome.err
    assert len(outcome.err.splitlines()) == (0 if has_ticket else 2)

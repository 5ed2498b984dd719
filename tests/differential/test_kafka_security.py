"""`ckpt kafka diff` at the doors of a real broker: who gets in, who does not, and what is told of it.

Each refusal is one line that says which, within the timeout, with the contract's exit code, and without a password.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import admin

from tests.conftest import Outcome, run_ckpt
from tests.differential.kafka_cases import Case, nothing
from tests.differential.topics import Topics
from tests.parts.certificates import STORE_PASSWORD, Authority
from tests.parts.kafka import Broker, Listener, free_ports

pytestmark = pytest.mark.spark

USER, PASSWORD = "ann", "hunter2-s3cret"
WRONG = "hunter3-s3cret"
SECRETS = (PASSWORD, WRONG, STORE_PASSWORD)
TIMEOUT_S = 6
PLAIN_USERS = f'required username="admin" password="adm1n-s" user_admin="adm1n-s" user_{USER}="{PASSWORD}";'
PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


@dataclass
class World:
    """A broker with a listener of each kind, two topics, and a user who may see one of them."""

    broker: Broker
    folder: Path
    trusted: Path
    stranger: Path
    client: Path

    def diff(self, at: str, *given: str, topics: tuple[str, ...] = ("open",)) -> Outcome:
        return diff(self.broker.at(at), checkpoint_of(self.folder, topics), *given)

    def login(self, password: str = PASSWORD, mechanism: str = "SCRAM-SHA-512") -> list[str]:
        """As written in a Spark job."""
        module = PLAIN_MODULE if mechanism == "PLAIN" else SCRAM_MODULE
        jaas = f'{module} required username="{USER}" password="{password}";'
        return options(
            security_protocol="SASL_SSL",
            sasl_mechanism=mechanism,
            sasl_jaas_config=jaas,
            ssl_truststore_type="PEM",
            ssl_truststore_location=str(self.trusted),
        )


def options(**settings: str) -> list[str]:
    pairs = ((key.replace("_", "."), value) for key, value in settings.items())
    return [word for key, value in pairs for word in ("--option", f"kafka.{key}={value}")]


def checkpoint_of(folder: Path, topics: tuple[str, ...]) -> Path:
    """Ten records into each of these topics."""
    name = "-".join(topics)
    checkpoint = folder / f"checkpoint-{len(name)}-{abs(hash(topics))}"
    if not checkpoint.exists():
        ends = {topic: {0: 10} for topic in topics}
        Case("security", nothing, [ends]).write_checkpoint(checkpoint)
    return checkpoint


def diff(address: str, checkpoint: Path, *given: str) -> Outcome:
    told = run_ckpt(
        "kafka", "diff", str(checkpoint), "--bootstrap-server", address, "--timeout", str(TIMEOUT_S), *given
    )
    for text in (told.out, told.err):
        assert "Traceback" not in text
        assert not any(secret in text for secret in SECRETS)
    return told


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("security")
    authority, other = Authority(folder, "authority"), Authority(folder, "stranger")
    own, elsewhere = _store(authority.store("broker")), _store(authority.store("far", "far.example"))
    login = {
        "sasl.enabled.mechanisms": "SCRAM-SHA-512,PLAIN",
        "scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
        "plain.sasl.jaas.config": f"{PLAIN_MODULE} {PLAIN_USERS}",
    }
    trusts = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(authority.trusted)}
    listeners = (
        Listener("LOGIN", "SASL_SSL", own | login),
        Listener("TLS", "SSL", own),
        Listener("ELSEWHERE", "SSL", elsewhere),
        Listener("MUTUAL", "SSL", own | trusts | {"ssl.client.auth": "required"}),
        Listener("SASL", "SASL_PLAINTEXT", login),
    )
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:CN=client",
    }
    with Broker(listeners=listeners, settings=settings) as broker:
        topics = Topics(broker.address)
        for name in ("open", "shut"):
            topics.create(name)
            topics.fill(name, 30)
        _admit(topics, "open")
        yield World(broker, folder, authority.trusted, other.trusted, authority.store("client"))


def _store(path: Path) -> dict[str, str]:
    return {
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(path),
        "ssl.keystore.password": STORE_PASSWORD,
        "ssl.key.password": STORE_PASSWORD,
    }


def _admit(topics: Topics, topic: str) -> None:
    """The user has a password, and may look at this topic."""
    scram = admin.ScramCredentialInfo(admin.ScramMechanism.SCRAM_SHA_512, 4096)
    upsertion = admin.UserScramCredentialUpsertion(USER, scram, PASSWORD.encode())
    topics.done(topics.admin.alter_user_scram_credentials([upsertion]))
    allowed = admin.AclBinding(
        admin.ResourceType.TOPIC,
        topic,
        admin.ResourcePatternType.LITERAL,
        f"User:{USER}",
        "*",
        admin.AclOperation.DESCRIBE,
        admin.AclPermissionType.ALLOW,
    )
    topics.done(topics.admin.create_acls([allowed]))


def said(told: Outcome, code: int, *words: str) -> str:
    """The first line of the answer, which is the verdict."""
    assert told.code == code, told
    line = (told.out or told.err).splitlines()[0]
    assert all(word.lower() in line.lower() for word in words), line
    return line


# -- who gets in -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "PLAIN"])
def test_the_right_password_opens(world: World, mechanism: str) -> None:
    said(world.diff("LOGIN", *world.login(mechanism=mechanism)), 0, "ok, 20 rows behind")


def test_a_file_of_settings_opens_as_well(world: World) -> None:
    file = world.folder / "client.properties"
    file.write_text(
        "security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\n"
        f'sasl.jaas.config={SCRAM_MODULE} required \\\n  username="{USER}" password="{PASSWORD}";\n'
        f"ssl.truststore.type=PEM\nssl.truststore.location={world.trusted}\n"
    )
    file.chmod(0o600)
    said(world.diff("LOGIN", "--kafka-config", str(file)), 0, "ok")
    file.chmod(0o644)
    assert world.diff("LOGIN", "--kafka-config", str(file)).code == 2


def test_settings_of_librdkafka_open_as_well(world: World) -> None:
    direct = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": USER,
        "sasl.password": PASSWORD,
        "ssl.ca.location": str(world.trusted),
    }
    given = [word for key, value in direct.items() for word in ("-X", f"{key}={value}")]
    said(world.diff("LOGIN", *given), 0, "ok")


def test_a_certificate_opens(world: World) -> None:
    own = {"ssl_keystore_location": str(world.client), "ssl_keystore_password": STORE_PASSWORD}
    said(world.diff("MUTUAL", *_tls(world.trusted), *options(**own)), 0, "ok")


def _tls(trusted: Path) -> list[str]:
    return options(security_protocol="SSL", ssl_truststore_type="PEM", ssl_truststore_location=str(trusted))


def test_a_java_key_store_opens_after_the_line_we_give(world: World) -> None:
    java = world.folder / "java.jks"
    convert(world.client, java, "JKS")
    own = {"ssl_keystore_location": str(java), "ssl_keystore_password": STORE_PASSWORD}
    told = world.diff("MUTUAL", *_tls(world.trusted), *options(**own), "--format", "json")
    assert told.code == 6
    (finding,) = json.loads(told.out)["findings"]
    command, _, rest = finding["next_step"].partition("  and give ")
    assert command.startswith("keytool ")
    answers = f"{STORE_PASSWORD}\n" * 3  # the new store's, again, the old one's
    subprocess.run(command, shell=True, input=answers, text=True, check=True, capture_output=True)
    given = rest.replace("…", STORE_PASSWORD).split()
    trust = ["-X", "security.protocol=SSL", "-X", f"ssl.ca.location={world.trusted}"]
    said(world.diff("MUTUAL", *trust, *given), 0, "ok")


def test_a_java_trust_store_serves_after_the_line_we_give(world: World) -> None:
    java = world.folder / "trust.jks"
    subprocess.run(
        ["keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", str(world.trusted), "-keystore", str(java),
         "-storetype", "JKS", "-storepass", STORE_PASSWORD],
        check=True,
        capture_output=True,
    )  # fmt: skip
    store = options(security_protocol="SSL", ssl_truststore_location=str(java))
    told = world.diff("TLS", *store, "--format", "json")
    assert told.code == 6
    (finding,) = json.loads(told.out)["findings"]
    command, _, rest = finding["next_step"].partition("  and give ")
    subprocess.run(command, shell=True, input=f"{STORE_PASSWORD}\n", text=True, check=True, capture_output=True)
    said(world.diff("TLS", "-X", "security.protocol=SSL", *rest.split()), 0, "ok")


def convert(source: Path, target: Path, kind: str) -> None:
    command = ["keytool", "-importkeystore", "-noprompt", "-srckeystore", str(source), "-destkeystore", str(target)]
    command += ["-srcstorepass", STORE_PASSWORD, "-deststorepass", STORE_PASSWORD, "-deststoretype", kind]
    subprocess.run(command, check=True, capture_output=True)


# -- who does not ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "PLAIN"])
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_wrong_password(world: World, mechanism: str, form: str) -> None:
    told = world.diff("LOGIN", *world.login(WRONG, mechanism), "--format", form)
    assert told.code == 5
    assert "authentication" in told.out.lower()


def test_a_mechanism_that_is_not_offered(world: World) -> None:
    said(world.diff("LOGIN", *world.login(mechanism="SCRAM-SHA-256")), 5, "mechanism")


def test_the_wrong_authority(world: World) -> None:
    said(world.diff("TLS", *_tls(world.stranger)), 5, "certificate verify failed")


def test_a_certificate_of_another_host(world: World) -> None:
    said(world.diff("ELSEWHERE", *_tls(world.trusted)), 5, "certificate")
    unchecked = options(ssl_endpoint_identification_algorithm="")
    said(world.diff("ELSEWHERE", *_tls(world.trusted), *unchecked), 0, "ok")


def test_no_certificate_where_one_is_wanted(world: World) -> None:
    said(world.diff("MUTUAL", *_tls(world.trusted)), 5)


def test_a_wrong_password_of_a_key_store(world: World) -> None:
    own = {"ssl_keystore_location": str(world.client), "ssl_keystore_password": WRONG}
    said(world.diff("MUTUAL", *_tls(world.trusted), *options(**own)), 2)


def test_tls_where_none_is_spoken(world: World) -> None:
    said(world.diff("PLAINTEXT", *_tls(world.trusted)), 5)


def test_no_tls_where_it_is_spoken(world: World) -> None:
    said(world.diff("TLS"), 5, "TLS")


def test_no_login_where_one_is_wanted(world: World) -> None:
    said(world.diff("SASL"), 5)


def test_one_topic_may_not_be_seen(world: World) -> None:
    told = world.diff("LOGIN", *world.login(), "--format", "json", topics=("open", "shut"))
    shown = json.loads(told.out)
    assert told.code == 5
    assert shown["verdict"] == "unknown"
    seen, hidden = shown["sources"][0]["topics"]
    assert (seen["topic"], seen["partitions"][0]["latest"], seen["partitions"][0]["status"]) == ("open", 30, "ok")
    assert (hidden["topic"], hidden["partitions"][0]["latest"], hidden["partitions"][0]["status"]) == (
        "shut",
        None,
        "unknown",
    )
    assert "shut" in hidden["reason"]
    assert "uthoriz" in hidden["reason"]
    assert [finding["id"] for finding in shown["findings"]] == ["source-unreachable"]
    text = world.diff("LOGIN", *world.login(), topics=("open", "shut"))
    assert text.code == 5
    assert "shut" in text.out.splitlines()[0]


def test_no_topic_may_be_seen(world: World) -> None:
    said(world.diff("LOGIN", *world.login(), topics=("shut",)), 5, "shut", "uthoriz")


def test_plan_recovery_says_the_same(world: World) -> None:
    checkpoint = checkpoint_of(world.folder, ("open",))
    given = ["plan-recovery", str(checkpoint), "--bootstrap-server", world.broker.at("LOGIN"), "--timeout", "6"]
    told = run_ckpt(*given, *world.login(WRONG))
    assert told.code == 5
    assert not any(secret in told.out + told.err for secret in SECRETS)
    assert "authentication" in told.out.lower()


def test_nothing_is_told_on_standard_error_either(world: World) -> None:
    """A process of its own: what a library writes there goes past Python."""
    checkpoint = checkpoint_of(world.folder, ("open",))
    command = [sys.executable, "-c", "from ckpttool.cli import main; main()", "--debug", "kafka", "diff"]
    command += [str(checkpoint), "--bootstrap-server", world.broker.at("LOGIN"), "--timeout", "6"]
    told = subprocess.run([*command, *world.login(WRONG)], capture_output=True, text=True, check=False)
    assert told.returncode == 5
    assert not any(secret in told.stdout + told.stderr for secret in SECRETS)
    assert "Traceback" not in told.stderr


# -- no broker at all --------------------------------------------------------------------------------------------------


def test_nobody_listens(tmp_path: Path) -> None:
    [port] = free_ports(1)
    said(diff(f"127.0.0.1:{port}", checkpoint_of(tmp_path, ("t",))), 5, "refused", str(port))


def test_no_such_host(tmp_path: Path) -> None:
    said(diff("no-such-host.invalid:9092", checkpoint_of(tmp_path, ("t",))), 5, "no-such-host.invalid")


@contextmanager
def listening(answer: bytes | None) -> Iterator[str]:
    """Something that is no broker: it says this to whoever speaks to it, or nothing at all."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held = []

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                held.append(connection)
                connection.recv(1024)
                if answer is not None:
                    connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            for connection in held:
                connection.close()
            thread.join(timeout=5)


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-OpenSSH_9.6\r\n", None])
def test_something_else_listens(tmp_path: Path, answer: bytes | None) -> None:
    with listening(answer) as address:
        said(diff(address, checkpoint_of(tmp_path, ("t",))), 5, address)


def test_no_address(tmp_path: Path) -> None:
    assert diff(" ", checkpoint_of(tmp_path, ("t",))).code == 2


def test_a_setting_that_does_not_exist(tmp_path: Path) -> None:
    assert diff("127.0.0.1:1", checkpoint_of(tmp_path, ("t",)), "-X", "no.such.key=1").code == 2


# -- bad checkpoints ---------------------------------------------------------------------------------------------------


def test_hostile_topic_names(world: World) -> None:
    names = ("\x1b[31mred", "a b", "x" * 300, "../../etc", "ümlaut", '"};{', "no-such-topic", "a\nb")
    told = world.diff("PLAINTEXT", "--all", topics=("open", *names))
    assert told.code == 1  # Spark cannot read them either
    assert "\x1b" not in told.out
    said(world.diff("PLAINTEXT", topics=("no-such-topic",)), 1, "no topic no-such-topic")


def test_a_checkpoint_without_kafka(sample_root: Path) -> None:
    told = diff("127.0.0.1:1", sample_root)
    assert told.code == 4
    assert "no Kafka source" in told.err


@pytest.fixture
def sample_root(sample) -> Path:  # type: ignore[no-untyped-def]
    return sample("4.2.0-file-to-parquet-sound") / "checkpoint"


def test_two_hundred_thousand_partitions(world: World, tmp_path: Path) -> None:
    checkpoint = tmp_path / "huge"
    ends = {"open": dict.fromkeys(range(200_000), 10)}
    Case("huge", nothing, [ends]).write_checkpoint(checkpoint)
    told = diff(world.broker.address, checkpoint)
    assert told.code == 1
    assert len(told.out.splitlines()) < 80
    assert "199,996 more" in told.out.splitlines()[0]

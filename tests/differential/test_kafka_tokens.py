"""`ckpt kafka diff` with OAUTHBEARER: tokens from an identity provider's endpoint, verified by a real broker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import Outcome
from tests.differential.test_kafka_security import checkpoint_of, diff, options, said
from tests.differential.topics import Topics
from tests.parts.issuer import Issuer
from tests.parts.kafka import Broker, Listener, free_ports

pytestmark = pytest.mark.spark

JAVA = "org.apache.kafka.common.security.oauthbearer"
MODULE = f"{JAVA}.OAuthBearerLoginModule"
CLIENT, SECRET, WRONG = "ann", "t0ken-s3cret", "t0ken-s3cond"
LISTENER = {
    "sasl.enabled.mechanisms": "OAUTHBEARER",
    "oauthbearer.sasl.jaas.config": f"{MODULE} required;",
    "oauthbearer.sasl.server.callback.handler.class": f"{JAVA}.OAuthBearerValidatorCallbackHandler",
}


@dataclass(frozen=True)
class Guarded:
    broker: Broker
    folder: Path
    tokens: str

    def diff(self, *given: str) -> Outcome:
        told = diff(self.broker.at("TOKENS"), checkpoint_of(self.folder, ("open",)), *given)
        assert not any(secret in told.out + told.err for secret in (SECRET, WRONG, "eyJ"))  # how each token begins
        return told

    def login(self, secret: str = SECRET, tokens: str | None = None) -> list[str]:
        """As written in a Spark job."""
        return options(
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="OAUTHBEARER",
            sasl_login_callback_handler_class=f"{JAVA}.OAuthBearerLoginCallbackHandler",
            sasl_oauthbearer_token_endpoint_url=tokens or self.tokens,
            sasl_jaas_config=f'{MODULE} required clientId="{CLIENT}" clientSecret="{secret}" scope="kafka";',
        )


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    with Issuer(CLIENT, SECRET) as issuer:
        listener = Listener("TOKENS", "SASL_PLAINTEXT", LISTENER | {"sasl.oauthbearer.jwks.endpoint.url": issuer.keys})
        with Broker(listeners=[listener]) as broker:
            topics = Topics(broker.address)
            topics.create("open")
            topics.fill("open", 30)
            yield Guarded(broker, tmp_path_factory.mktemp("tokens"), issuer.tokens)


def test_a_token_opens(guarded: Guarded) -> None:
    said(guarded.diff(*guarded.login()), 0, "ok, 20 rows behind")


def test_settings_of_librdkafka_open_as_well(guarded: Guarded) -> None:
    direct = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": CLIENT,
        "sasl.oauthbearer.client.secret": SECRET,
        "sasl.oauthbearer.token.endpoint.url": guarded.tokens,
    }
    said(guarded.diff(*(word for key, value in direct.items() for word in ("-X", f"{key}={value}"))), 0, "ok")


def test_a_wrong_secret(guarded: Guarded) -> None:
    said(guarded.diff(*guarded.login(WRONG)), 5, "token")


def test_nobody_gives_out_tokens(guarded: Guarded) -> None:
    [port] = free_ports(1)
    said(guarded.diff(*guarded.login(tokens=f"http://127.0.0.1:{port}/token")), 5, "token")

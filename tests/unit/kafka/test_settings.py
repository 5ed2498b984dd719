"""From a Spark job's options to librdkafka's: what is translated, left out, refused, and never shown."""

from __future__ import annotations

import pytest

from ckpttool.kafka.base import BrokerFault
from ckpttool.kafka.settings import Settings, parse_jaas, parse_properties, translate

JKS, P12, PEM = b"\xfe\xed\xfe\xed\x00\x00", b"\x30\x82\x0a", b"-----BEGIN CERT"
SCRAM = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="ann" password="s\\"cret";'


def config(
    options: dict[str, str] | None = None,
    file: dict[str, str] | None = None,
    direct: dict[str, str] | None = None,
    begins: bytes = b"",
) -> dict[str, str]:
    settings = translate(options or {}, file or {}, direct or {}, lambda _: begins)
    assert isinstance(settings, Settings), settings
    return dict(settings.config)


def fault(options: dict[str, str], begins: bytes = b"", direct: dict[str, str] | None = None) -> BrokerFault:
    refused = translate(options, {}, direct or {}, lambda _: begins)
    assert isinstance(refused, BrokerFault)
    return refused


def test_options_of_a_spark_job() -> None:
    options = {
        "subscribe": "orders",
        "failOnDataLoss": "false",
        "kafkaConsumer.pollTimeoutMs": "5",
        "kafka.security.protocol": "SASL_SSL",
        "KAFKA.SASL.MECHANISM": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": SCRAM,
        "kafka.key.deserializer": "x",
        "kafka.something.only.java.knows": "x",
    }
    assert config(options) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "ann",
        "sasl.password": 's"cret',
    }


def test_a_file_may_be_either_clients() -> None:
    text = """
    # Java's
    security.protocol = SSL
    ssl.truststore.type=PEM
    ssl.truststore.location=/ca.pem
    key.deserializer: a.b.C
    ! librdkafka's
    broker.address.family=v4
    client.id=a\\
        b
    """
    assert config(file=parse_properties(text)) == {
        "security.protocol": "SSL",
        "ssl.ca.location": "/ca.pem",
        "broker.address.family": "v4",
        "client.id": "ab",
    }


def test_what_is_given_directly_wins() -> None:
    options = {"kafka.security.protocol": "SSL"}
    assert config(options, {"security.protocol": "PLAINTEXT"})["security.protocol"] == "PLAINTEXT"
    assert config(options, {}, {"security.protocol": "SASL_SSL"})["security.protocol"] == "SASL_SSL"


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ('kafkashaded.org.x.PlainLoginModule required username="$ConnectionString" password="e=1;k";', "e=1;k"),
        ("org.x.ScramLoginModule required username=u password=p ;", "p"),
        ("org.x.ScramLoginModule required\n  username='u'\n  password=\"a b\";", "a b"),
    ],
)
def test_a_login_module(module: str, expected: str) -> None:
    assert config({"kafka.sasl.jaas.config": module})["sasl.password"] == expected


def test_other_login_modules() -> None:
    told = config({"kafka.sasl.jaas.config": 'x.OAuthBearerLoginModule required clientId="c" clientSecret="hush";'})
    assert told["sasl.oauthbearer.method"] == "oidc"
    assert told["sasl.oauthbearer.client.secret"] == "hush"
    refused = fault({"kafka.sasl.jaas.config": "x.MyOwnModule required a=b;"})
    assert refused.reason == "unsupported"
    assert "MyOwnModule" in refused.message
    assert parse_jaas("") == ("", {})
    assert "sasl.username" in config({"kafka.sasl.jaas.config": "nonsense"}, {}, {"sasl.username": "u"})


def test_aws_s_own_mechanism() -> None:
    assert "AWS_MSK_IAM" in fault({"kafka.sasl.mechanism": "AWS_MSK_IAM"}).message


# -- certificates ------------------------------------------------------------------------------------------------------


def test_a_jks_key_store_is_refused_with_the_line_that_converts_it() -> None:
    refused = fault({"kafka.ssl.keystore.location": "/my keys/client.jks", "kafka.ssl.keystore.password": "hush1"})
    assert refused.next_step is not None
    assert refused.next_step.startswith(
        "keytool -importkeystore -srckeystore '/my keys/client.jks' -destkeystore '/my keys/client.p12'"
        " -deststoretype PKCS12"
    )
    assert "hush1" not in refused.message + refused.next_step


@pytest.mark.parametrize(("begins", "kind"), [(JKS, "JKS"), (P12, "PKCS12"), (b"", "JKS")])
def test_a_trust_store_is_refused_with_the_line_that_makes_a_pem_of_it(begins: bytes, kind: str) -> None:
    refused = fault({"kafka.ssl.truststore.location": "/ca.jks", "kafka.ssl.truststore.password": "x"}, begins)
    assert kind in refused.message
    assert refused.next_step == "keytool -list -rfc -keystore /ca.jks > /ca.pem  and give -X ssl.ca.location=/ca.pem"


def test_what_librdkafka_reads_is_passed_on() -> None:
    trust, keys = {"kafka.ssl.truststore.location": "/ca"}, {"kafka.ssl.keystore.location": "/keys"}
    assert config(trust, begins=PEM) == {"ssl.ca.location": "/ca"}
    assert config(keys, begins=P12) == {"ssl.keystore.location": "/keys"}
    assert config(keys, begins=PEM) == {"ssl.key.location": "/keys", "ssl.certificate.location": "/keys"}
    assert config(trust, {}, {"ssl.ca.location": "/other.pem"}, JKS) == {"ssl.ca.location": "/other.pem"}
    assert config({"kafka.ssl.truststore.certificates": "-----"}) == {"ssl.ca.pem": "-----"}
    assert config({"kafka.ssl.endpoint.identification.algorithm": ""}) == {
        "ssl.endpoint.identification.algorithm": "none"
    }


# -- secrets -----------------------------------------------------------------------------------------------------------


def test_nothing_secret_is_shown() -> None:
    settings = Settings({"sasl.password": "hunter2", "ssl.key.pem": "-----PRIVATE", "client.id": "hunter"})
    assert "hunter2" not in repr(settings)
    assert settings.hide("refused hunter2 of hunter, -----PRIVATE") == "refused *** of hunter, ***"

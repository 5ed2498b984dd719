"""Who has an option, and which one was meant by a slip."""

from __future__ import annotations

import pytest

from ckpttool.connectors.options import Taker, hide_secrets, nearest, option_meant, shown_value, takers

KNOWN = {"spark.sql.shuffle.partitions": None, "header": None, "failOnDataLoss": None}


def test_the_name_is_known_in_any_case_and_so_is_what_goes_on_to_a_client() -> None:
    assert Taker("source", "kafka", "first") in takers("STARTINGoffsets")
    assert takers("Kafka.Whatever.Client.Setting") == (
        Taker("source", "kafka", "each"),
        Taker("sink", "kafka", "each"),
    )
    assert takers("whatever") == ()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("failOnDataLos", "failOnDataLoss"),  # one too few
        ("failOnDataLosss", "failOnDataLoss"),  # one too many
        ("failOnDatsLoss", "failOnDataLoss"),  # another
        ("failOnDatalsos", "failOnDataLoss"),  # two in the wrong order
        ("failOnDtaLos", "failOnDataLoss"),  # two slips in a long name
        ("failDtaLos", None),
        ("heder", None),  # short names are near to anything
        ("hheader", "header"),
        ("hheaader", None),
    ],
)
def test_a_slip_is_a_letter_or_two(name: str, meant: str | None) -> None:
    assert nearest(name, KNOWN) == meant


def test_a_known_name_is_no_slip_of_another() -> None:
    assert option_meant("startingOffsets") is None
    assert option_meant("startOffsets") is None
    assert option_meant("startingOfsets") == "startingOffsets"


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("fs.azure.account.key.lake", "tiger", "***"),
        ("accountKey", "tiger", "***"),
        ("spark.x.key", "tiger", "***"),
        ("url", "jdbc:postgresql://scott:tiger@h/db", "jdbc:postgresql://scott:***@h/db"),
        ("servers", "scott:tiger@one, scott:tiger@two", "scott:***@one, scott:***@two"),
        ("subscribe", "orders,returns", "orders,returns"),
        ("startingOffsets", '{"orders":{"0":7}}', '{"orders":{"0":7}}'),
    ],
)
def test_what_may_be_a_secret_is_not_shown(key: str, value: str, shown: str) -> None:
    assert shown_value(key, value) == shown


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("fs.s3a.secret.key=SECRET/x", "fs.s3a.secret.key=***"),
        ("password: SECRET, user: u", "password: ***, user: u"),
        (
            '"sasl.jaas.config" -> "a.b.Module required username=\\"u\\" password=\\"SECRET\\";"',
            '"sasl.jaas.config" -> ***',
        ),
        ("sasl.jaas.config=a.b.Module required username='u' password='SECRET';", "required username='u' password=***;"),
        ("https://u:SECRET@host/x?sig=SECRETSECRET", "https://u:***@host/x"),
        ("Authorization: Bearer SECRET.SECRET", "Authorization: ***"),
        ("BlobEndpoint=x;AccountKey=SECRET==;y", "BlobEndpoint=x;AccountKey=***;y"),
        ("SharedAccessSignature sig=SECRETSECRET", "sig=***"),
        ("with AKIAIOSFODNN7EXAMPLE as", "with *** as"),
        ("s3://AKEY:SECRET/x@bucket/p", "s3://AKEY:***@bucket/p"),
        ("jdbc:postgresql://h:5/db?user=a&password=SECRET", "jdbc:postgresql://h:5/db"),
        ("File hdfs://nn:8020/c/offsets/4 does not exist", "File hdfs://nn:8020/c/offsets/4 does not exist"),
        ("Unrecognized token 'no': was expecting", "Unrecognized token 'no': was expecting"),
    ],
)
def test_what_a_log_has_is_shown_without_its_secrets(text: str, left: str) -> None:
    shown = hide_secrets(text)
    assert left in shown
    assert "SECRET" not in shown
    assert hide_secrets(shown) == shown

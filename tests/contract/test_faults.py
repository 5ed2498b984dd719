"""Stores of objects that refuse, break off, or change under us: what passes is waited out, what stays is told in one
line, with the rest of the report and the documented exit code. And no secret is ever shown."""

from __future__ import annotations

import base64
import json
import logging
import traceback
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Literal
from uuid import uuid4

import pytest

from ckpttool import open_checkpoint
from ckpttool.errors import CkptError
from tests.conftest import AT_LENGTH, Outcome, run_ckpt
from tests.parts.hdfs import HdfsServer
from tests.parts.proxy import Answer, HdfsProxy, Proxy, Request
from tests.parts.stores import SERVERS, ObjectServer, S3Server

STORAGE = pytest.mark.storage
HDFS = pytest.param("hdfs", marks=AT_LENGTH)
EVERY = [*SERVERS, HDFS]
ELSEWHERE = [*(pytest.param(kind, marks=STORAGE) for kind in SERVERS if kind != "s3"), HDFS]
SAMPLE = "4.2.0-kafka-to-kafka-sound"
Instead = Callable[[Request], Answer | None]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client of S3 waits for seconds before it asks again: that it asks is what matters here."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda _self, _context: 0.01)


def s3_error(status: int, code: str, **headers: str) -> Answer:
    body = f"<Error><Code>{code}</Code><Message>token=SECRET123 was refused</Message></Error>"
    return Answer(status, body.encode(), {"Content-Type": "application/xml", **headers})


@pytest.fixture
def proxied(
    request: pytest.FixtureRequest, object_server: Callable[[str], ObjectServer], sample: Callable[[str], Path]
) -> Iterator[tuple[Proxy, str]]:
    server = object_server(getattr(request, "param", "s3"))
    url = f"{server.put(sample(SAMPLE), f'b{uuid4().hex}')}/checkpoint"
    with HdfsProxy(server) if isinstance(server, HdfsServer) else Proxy(server) as proxy:
        yield proxy, url


def run(proxy: Proxy, command: str, url: str, *arguments: str) -> Outcome:
    options = [part for pair in proxy.options.items() for part in ("--storage-option", "=".join(pair))]
    return run_ckpt(command, url, "--format", "json", *arguments, *options)


def findings(outcome: Outcome) -> dict[str, str]:
    return {finding["path"]: finding["id"] for finding in json.loads(outcome.out)["findings"]}


def on_body(path: str, answer: Answer, times: int | None = None) -> Instead:
    """In place of the body of this file: always, or so many times."""
    number = count()

    def instead(request: Request) -> Answer | None:
        hit = request.kind == "GET" and request.path.endswith(path)
        return answer if hit and (times is None or next(number) < times) else None

    return instead


# -- what passes -------------------------------------------------------------------------------------------------------

PASSING = {
    "slow down": s3_error(503, "SlowDown"),
    "internal": s3_error(500, "InternalError"),
    "too many": s3_error(429, "TooManyRequests"),
    "reset": Answer(broken="reset"),
    "truncated": Answer(broken="middle"),
}


@pytest.mark.parametrize("fault", PASSING)
def test_what_passes_is_waited_out(proxied: tuple[Proxy, str], fault: str) -> None:
    proxy, url = proxied
    sound = run(proxy, "inspect", url)
    proxy.instead = on_body("/offsets/2", PASSING[fault], times=2)
    outcome = run(proxy, "inspect", url)
    assert (outcome.code, outcome.out) == (0, sound.out)


@pytest.mark.parametrize("proxied", EVERY, indirect=True)
def test_a_body_that_breaks_off_is_asked_for_again_on_every_store(proxied: tuple[Proxy, str]) -> None:
    proxy, url = proxied
    sound = run(proxy, "inspect", url)
    proxy.instead = on_body("/offsets/2", Answer(broken="middle"), times=1)
    assert run(proxy, "inspect", url).out == sound.out


@pytest.mark.parametrize("broken", ["endless", "long"])
@pytest.mark.parametrize("proxied", SERVERS, indirect=True)
def test_a_body_that_goes_on_is_given_up_at_the_limit(
    proxied: tuple[Proxy, str], broken: Literal["endless", "long"]
) -> None:
    proxy, url = proxied
    proxy.instead = on_body("/offsets/2", Answer(broken=broken))
    outcome = run(proxy, "inspect", url)
    assert outcome.code == 3
    assert findings(outcome)["offsets/2"] == "unreadable"
    assert "--read-limit offsets=N would read it" in outcome.out
    assert proxy.bytes_sent < 100 * 2**20


@pytest.mark.parametrize("proxied", SERVERS, indirect=True)
def test_a_listing_that_goes_on_is_given_up_too(proxied: tuple[Proxy, str]) -> None:
    proxy, url = proxied
    proxy.instead = lambda request: Answer(broken="endless") if request.kind == "LIST" else None
    outcome = run(proxy, "inspect", url)
    assert outcome.code == 5
    assert "the answer does not end" in outcome.err
    assert proxy.bytes_sent < 600 * 2**20


@pytest.mark.parametrize("proxied", EVERY, indirect=True)
def test_a_busy_store_is_asked_again_on_every_store(proxied: tuple[Proxy, str]) -> None:
    proxy, url = proxied
    sound = run(proxy, "inspect", url)
    proxy.instead = on_body("/offsets/2", Answer(503), times=1)
    assert run(proxy, "inspect", url).out == sound.out


@pytest.mark.parametrize("fault", ["too many", "reset", "still"])
@pytest.mark.parametrize("proxied", ELSEWHERE, indirect=True)
def test_what_passes_is_waited_out_elsewhere_too(
    proxied: tuple[Proxy, str], fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy, url = proxied
    monkeypatch.setattr("ckpttool.storage.hdfs._PATIENCE_S", 1)
    sound = run(proxy, "inspect", url)
    answer = {"too many": Answer(429), "reset": Answer(broken="reset"), "still": Answer(broken="still")}[fault]
    proxy.instead = on_body("/offsets/2", answer, times=1)
    assert run(proxy, "inspect", url).out == sound.out


@pytest.mark.parametrize("proxied", EVERY, indirect=True)
def test_a_forbidden_body_is_named_and_nothing_else_is_written_on_every_store(proxied: tuple[Proxy, str]) -> None:
    proxy, url = proxied
    proxy.instead = on_body("/offsets/0", Answer(403, b"<Error><Code>AccessDenied</Code></Error>"))
    outcome = run(proxy, "inspect", url)
    assert (outcome.code, outcome.err) == (5, "")
    assert "offsets/0 cannot be read: AccessDenied" in outcome.out
    assert "ask for the permission" in outcome.out
    assert findings(outcome) == {"offsets/0": "unreadable"}


# -- what stays --------------------------------------------------------------------------------------------------------

STAYING = {
    "slow down": (s3_error(503, "SlowDown"), "SlowDown"),
    "expired": (s3_error(400, "ExpiredToken"), "ExpiredToken"),
    "skewed": (s3_error(403, "RequestTimeTooSkewed"), "RequestTimeTooSkewed"),
    "denied": (s3_error(403, "AccessDenied"), "AccessDenied"),
    "truncated": (Answer(broken="middle"), "cannot be read"),
}


@pytest.mark.parametrize("fault", STAYING)
def test_one_file_out_of_reach_leaves_the_rest_of_the_report(proxied: tuple[Proxy, str], fault: str) -> None:
    proxy, url = proxied
    answer, word = STAYING[fault]
    proxy.instead = on_body("/offsets/0", answer)
    outcome = run(proxy, "inspect", url)
    assert outcome.code == 5
    assert findings(outcome) == {"offsets/0": "unreadable"}
    assert word in outcome.out
    assert json.loads(outcome.out)["next_batch"]["outcome"] == "new_batch"
    assert "SECRET123" not in outcome.out + outcome.err


@pytest.mark.parametrize("fault", STAYING)
def test_what_a_restart_needs_and_is_out_of_reach_leaves_no_verdict(proxied: tuple[Proxy, str], fault: str) -> None:
    proxy, url = proxied
    proxy.instead = on_body("/offsets/2", STAYING[fault][0])
    outcome = run(proxy, "plan-recovery", url)
    assert outcome.code == 5
    assert json.loads(outcome.out)["restart"]["outcome"] == "unknown"
    assert findings(outcome)["offsets/2"] == "unreadable"


@pytest.mark.parametrize("command", ["inspect", "plan-recovery", "log"])
@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (s3_error(403, "AccessDenied"), "AccessDenied"),
        (s3_error(400, "ExpiredToken"), "expired"),
        (s3_error(400, "AuthorizationHeaderMalformed"), "region"),
        (s3_error(403, "InvalidAccessKeyId"), "does not know this key"),
    ],
    ids=["denied", "expired", "region", "key"],
)
def test_a_store_that_lets_nothing_be_listed_is_no_access(
    proxied: tuple[Proxy, str], command: str, answer: Answer, word: str
) -> None:
    proxy, url = proxied
    proxy.instead = lambda request: answer if request.kind == "LIST" else None
    outcome = run(proxy, command, url)
    assert outcome.code == 5
    assert word in outcome.err
    assert len(outcome.err.splitlines()) == 2
    assert "SECRET123" not in outcome.out + outcome.err


def test_credentials_that_run_out_in_between_leave_what_was_read(proxied: tuple[Proxy, str]) -> None:
    """Of the bodies that are asked for together those of offsets still come: it must not be left to chance which do."""
    proxy, url = proxied
    expired = s3_error(400, "ExpiredToken")
    proxy.instead = lambda request: expired if request.kind == "GET" and "/offsets/" not in request.path else None
    outcome = run(proxy, "inspect", url)
    assert outcome.code == 5
    assert set(findings(outcome).values()) == {"unreadable"}
    assert 0 < len(findings(outcome)) < 8
    assert "the credentials have expired" in outcome.out
    assert "SECRET123" not in outcome.out + outcome.err


def test_a_bucket_in_another_region_is_told_so(proxied: tuple[Proxy, str]) -> None:
    proxy, url = proxied
    proxy.instead = lambda _request: s3_error(301, "PermanentRedirect", **{"x-amz-bucket-region": "eu-south-2"})
    outcome = run(proxy, "inspect", url)
    assert outcome.code == 5
    assert "region" in outcome.err


def test_a_body_that_stands_still_is_asked_for_again(proxied: tuple[Proxy, str]) -> None:
    proxy, url = proxied
    sound = run(proxy, "inspect", url)
    proxy.instead = on_body("/offsets/2", Answer(broken="still"), times=1)
    impatient = ("--storage-option", 'config_kwargs={"read_timeout": 1}')
    assert run(proxy, "inspect", url, *impatient).out == sound.out


def test_what_lies_around_the_checkpoint_need_not_be_listed(proxied: tuple[Proxy, str]) -> None:
    proxy, url = proxied
    sound = run(proxy, "inspect", url)

    def instead(request: Request) -> Answer | None:
        inside = request.query.get("prefix", "").startswith("checkpoint/")
        return s3_error(403, "AccessDenied") if request.kind == "LIST" and not inside else None

    proxy.instead = instead
    assert run(proxy, "inspect", url).out == sound.out


def test_names_without_bodies_are_told_as_far_as_they_go(proxied: tuple[Proxy, str]) -> None:
    """Listing is allowed, reading is not."""
    proxy, url = proxied
    proxy.instead = lambda request: s3_error(403, "AccessDenied") if request.kind == "GET" else None
    outcome = run(proxy, "inspect", url)
    told = json.loads(outcome.out)
    assert outcome.code == 5
    assert (told["last_offset_batch"], told["last_commit_batch"]) == (2, 2)
    assert told["next_batch"]["outcome"] == "unknown"


@pytest.mark.parametrize("proxied", ELSEWHERE, indirect=True)
def test_names_without_bodies_are_told_as_far_as_they_go_elsewhere_too(proxied: tuple[Proxy, str]) -> None:
    proxy, url = proxied
    proxy.instead = lambda request: Answer(403) if request.kind == "GET" else None
    outcome = run(proxy, "inspect", url)
    told = json.loads(outcome.out)
    assert outcome.code == 5
    assert (told["last_offset_batch"], told["last_commit_batch"]) == (2, 2)
    assert told["next_batch"]["outcome"] == "unknown"


@pytest.mark.parametrize("proxied", ["s3", *ELSEWHERE], indirect=True)
def test_a_directory_that_may_not_be_read_leaves_the_rest_of_the_report(proxied: tuple[Proxy, str]) -> None:
    proxy, url = proxied
    proxy.instead = lambda request: Answer(403) if request.kind == "GET" and "/commits/" in request.path else None
    outcome = run(proxy, "inspect", url)
    assert outcome.code == 5
    assert findings(outcome) == {f"commits/{batch}": "unreadable" for batch in range(3)}
    assert json.loads(outcome.out)["last_offset_batch"] == 2


@pytest.mark.parametrize("form", ["json", "text", pytest.param("jsonl", marks=STORAGE)])
def test_a_log_says_that_batches_were_out_of_reach(proxied: tuple[Proxy, str], form: str) -> None:
    proxy, url = proxied
    denied = s3_error(403, "AccessDenied")
    proxy.instead = lambda request: denied if request.kind == "GET" and "/offsets/" in request.path else None
    outcome = run(proxy, "log", url, "--format", form)
    assert outcome.code == 5
    assert outcome.err == "ckpt: offsets/0 cannot be read: AccessDenied, and 2 more\n"


def test_state_that_may_not_be_read_is_not_taken_for_damaged(
    object_server: Callable[[str], ObjectServer], sample: Callable[[str], Path]
) -> None:
    server = object_server("s3")
    url = f"{server.put(sample('4.2.0-windowed-agg-hdfs-sound'), f'b{uuid4().hex}')}/checkpoint"
    denied = s3_error(403, "AccessDenied")
    with Proxy(server) as proxy:
        proxy.instead = lambda request: denied if request.kind == "GET" and "/state/" in request.path else None
        for depth in ("quick", "full"):
            outcome = run(proxy, "plan-recovery", url, "--state", depth)
            assert outcome.code == 5, outcome
            assert json.loads(outcome.out)["restart"]["outcome"] == "unknown"
        proxy.instead = lambda request: denied if request.kind == "GET" and "/offsets/" in request.path else None
        outcome = run(proxy, "diff", f"{url}:0", f"{url}:1")
        assert outcome.code == 5
        assert "AccessDenied" in outcome.err
        proxy.instead = lambda request: denied if request.kind == "GET" else None
        assert run(proxy, "diff", f"{url}:0", f"{url}:1").code == 5


@pytest.mark.parametrize("part", [".delta", "_metadata", "/offsets/"])
@pytest.mark.parametrize("words", ["list", "rows", "count", "verify", "size"])
def test_state_commands_say_what_is_out_of_reach(
    object_server: Callable[[str], ObjectServer], sample: Callable[[str], Path], part: str, words: str
) -> None:
    """Sizes are of names alone; deltas are not read for them."""
    server = object_server("s3")
    url = f"{server.put(sample('4.2.0-windowed-agg-hdfs-sound'), f'b{uuid4().hex}')}/checkpoint"
    denied = s3_error(403, "AccessDenied")
    with Proxy(server) as proxy:
        proxy.instead = lambda request: denied if request.kind == "GET" and part in request.path else None
        options = [part for pair in proxy.options.items() for part in ("--storage-option", "=".join(pair))]
        outcome = run_ckpt("state", words, url, *options)
    assert "Traceback" not in outcome.err
    asked = (outcome.out + outcome.err).count("AccessDenied")
    needed = (part, words) != (".delta", "size")
    assert (outcome.code, bool(asked)) == (5 if needed else 0, needed), outcome


@pytest.mark.parametrize("proxied", ELSEWHERE, indirect=True)
def test_a_token_that_runs_out_in_between_leaves_what_was_read(proxied: tuple[Proxy, str]) -> None:
    proxy, url = proxied
    number = count()
    proxy.instead = lambda request: Answer(401) if request.kind == "GET" and next(number) >= 3 else None
    outcome = run(proxy, "inspect", url)
    assert outcome.code == 5
    assert list(findings(outcome).values()).count("unreadable") in range(1, 8)


def test_a_bucket_that_is_not_there_is_not_found(proxied: tuple[Proxy, str]) -> None:
    assert run(proxied[0], "inspect", "s3://nosuchbucket/ck").code == 4


# -- what changes ------------------------------------------------------------------------------------------------------


ANEW = b'{"id":"5a3767e6-605e-5041-bfbd-ceb6f2ee10f1"}'
LONGER = [pytest.param(kind, ANEW + b"  \n", marks=STORAGE) for kind in SERVERS]
AS_LONG = [("s3", ANEW), pytest.param("azure", ANEW, marks=STORAGE)]


@pytest.mark.parametrize(
    ("proxied", "body"), [*LONGER, *AS_LONG, pytest.param("hdfs", ANEW + b"  ", marks=AT_LENGTH)], indirect=["proxied"]
)
def test_a_file_replaced_between_listing_and_reading_is_told(
    request: pytest.FixtureRequest,
    proxied: tuple[Proxy, str],
    object_server: Callable[[str], ObjectServer],
    body: bytes,
) -> None:
    proxy, url = proxied
    bucket = url.split("/")[-2]
    server = object_server(request.node.callspec.params["proxied"])

    def replace(request: Request) -> None:
        if request.kind == "GET" and request.path.replace("%2F", "/").endswith("/metadata"):
            server.put_objects(bucket, [("checkpoint/metadata", body)])

    proxy.instead = replace
    outcome = run(proxy, "inspect", url)
    assert findings(outcome) == {"metadata": "changed-while-read"}
    assert json.loads(outcome.out)["query"]["id"] == "5a3767e6-605e-5041-bfbd-ceb6f2ee10f1"


# -- secrets -----------------------------------------------------------------------------------------------------------

SECRETS = ["AKIAPLANTEDKEY000001", "planted/secret+key=", "planted-session-token"]


@pytest.mark.parametrize(
    "command", ["inspect", *(pytest.param(one, marks=STORAGE) for one in ("plan-recovery", "log"))]
)
@pytest.mark.parametrize("form", ["text", pytest.param("json", marks=STORAGE)])
@pytest.mark.parametrize("fault", ["none", "denied", "reset"])
def test_no_secret_is_shown(proxied: tuple[Proxy, str], tmp_path: Path, command: str, form: str, fault: str) -> None:
    proxy, url = proxied
    broken = Answer(broken="reset") if fault == "reset" else s3_error(403, "AccessDenied")
    proxy.instead = lambda _request: None if fault == "none" else broken
    options = tmp_path / "options.json"
    options.write_text(json.dumps(dict(zip(("key", "secret", "token"), SECRETS, strict=True))))
    options.chmod(0o600)
    outcome = run_ckpt(
        "--debug", command, url, "--format", form, "--storage-options-file", str(options),
        "--storage-option", f"endpoint_url={proxy.address}",
    )  # fmt: skip
    assert outcome.code == (0 if fault == "none" else 5)
    for secret in SECRETS:
        assert secret not in outcome.out + outcome.err


AZURE = "BlobEndpoint={address}/acct;AccountName=acct;"
KEY = base64.b64encode(b"planted-account-key").decode()
PLANTED: dict[str, tuple[str, dict[str, str]]] = {
    "s3": ("s3://b/ck", {"endpoint_url": "{address}", "key": SECRETS[0], "secret": SECRETS[1], "token": SECRETS[2]}),
    "account key": ("abfs://b/ck", {"connection_string": f"{AZURE}AccountKey={KEY}"}),
    "signature": ("wasbs://b/ck", {"connection_string": AZURE + "SharedAccessSignature=sv=1&sig=planted-sig"}),
    "delegation": ("hdfs://127.0.0.1/ck", {"http_port": "{port}", "token": "planted-delegation"}),
    "password": ("webhdfs://127.0.0.1:{port}/ck", {"user": "u", "password": "planted-password"}),
    "header": ("http://127.0.0.1:{port}/ck", {"headers": '{"X": "planted-header"}'}),
    "address": ("http://u:planted-url@127.0.0.1:{port}/ck?sig=planted-query", {}),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if "http" in PLANTED[name][0] else STORAGE) for name in PLANTED]
)
def test_no_secret_comes_back_from_a_store_that_repeats_what_it_was_told(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in text, JSON, with --debug, in what the Python API raises, or in what is logged above debugging."""
    url, options = PLANTED[name]
    with Proxy(S3Server()) as proxy:
        where = {"address": proxy.address, "port": proxy.address.rpartition(":")[2]}
        url = url.format(**where)
        given = {
            key: value.replace("{address}", where["address"]).replace("{port}", where["port"])
            for key, value in options.items()
        }
        proxy.instead = lambda request: Answer(403, repr((request, request.headers)).encode(), {"X-Ms-Error-Code": url})
        file = tmp_path / "options.json"
        file.write_text(json.dumps(given))
        file.chmod(0o600)
        shown = []
        for command in ("inspect", "plan-recovery", "log", "scan"):
            for form in ("text", "json"):
                outcome = run_ckpt("--debug", command, url, "--format", form, "--storage-options-file", str(file))
                assert outcome.code in (4, 5), outcome
                shown.append(outcome.out + outcome.err)
        with pytest.raises(CkptError) as raised:
            open_checkpoint(url, given)
        assert proxy.requests
    shown += traceback.format_exception(raised.value)
    shown += [record.getMessage() for record in caplog.records if record.levelno > logging.DEBUG]
    assert not [text for text in shown if "planted" in text.lower() or KEY in text]

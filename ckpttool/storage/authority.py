"""Who may be asked: what the user pointed at, and nobody else. Whatever a file says of a place goes through `way_to`.

An authority is the part of a URL that says who answers: scheme and host, bucket, or container and account; on the local
disk the directory that was typed. Pure text; nothing is resolved or opened here.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from ckpttool.errors import NotPointedAt, Refused
from ckpttool.literals import shell_path
from ckpttool.storage.urls import canonical, is_chain, options_for, over_http, parse_url, protocol_of, redact_url

# A file may lead to these; to others only who types them, as PATH or `--sink`.
FOLLOWED = ("s3", "gs", "abfs", "hdfs", "http", "https", "dbfs", "memory")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
# Nothing that one library takes for the end of a host, and another for a part of it.
_HOST = re.compile(r"[A-Za-z0-9._-]+(?::[0-9]{1,5})?")
_BUCKET = re.compile(r"[A-Za-z0-9$._-]+")


class Named(Struct, frozen=True):
    """What a file says of where something is. It is no `str`: nothing takes it that opens what users type."""

    text: str


class Authority(Struct, frozen=True):
    protocol: str
    place: str


class Typed(Struct, frozen=True):
    """What the user pointed at. `directories`: each as it was typed, and as the disk knows it, without links.

    `protocols`: those of what the command works on; what only `--look-at` leads to gets no option that is for all."""

    authorities: frozenset[Authority] = frozenset()
    directories: tuple[tuple[str, str], ...] = ()
    protocols: frozenset[str] = frozenset()


class Below(Struct, frozen=True):
    """A path below a directory that was typed."""

    directory: str
    path: str


class Remote(Struct, frozen=True):
    """A URL of an authority that was typed, and the options that may go there."""

    url: str
    options: Mapping[str, str]


def way_to(named: Named, typed: Typed, options: Mapping[str, str], environ: Mapping[str, str]) -> Below | Remote:
    """How a place is opened that a file names; raises NotPointedAt unless the user pointed at who has it."""
    url = named.text
    if is_chain(url):
        raise NotPointedAt("it chains file systems, and no file may lead there")
    target, local = parse_url(url)
    if target is None:
        return _below(url, local["path"], typed.directories)
    if redact_url(url) != url:
        raise NotPointedAt("it brings a name or a signature of its own")
    authority = authority_of(url, options, environ)
    protocol = canonical(protocol_of(target))
    if protocol not in FOLLOWED or authority is None:
        raise NotPointedAt(f"no file may lead to {_start(url)}")
    if authority not in typed.authorities:
        raise NotPointedAt(f"only a file names {_start(url)}", _look_at(_start(url)))
    return Remote(url, options if protocol in typed.protocols else {k: v for k, v in options.items() if ":" in k})


def authority_of(url: str, options: Mapping[str, str], environ: Mapping[str, str]) -> Authority | None:
    """Who is asked for a URL, its options and the environment; None: nobody that a file may lead to."""
    target, hidden = parse_url(url)
    if target is None:
        return None
    protocol = protocol_of(target)
    given = {**hidden, **options_for(protocol, options)}
    if protocol in ("hdfs", "webhdfs"):
        target, _ = over_http(target, given, has_hadoop=bool(environ.get("HADOOP_HOME")))
        protocol = protocol_of(target)
    place = _place(protocol, target.partition("://")[2].partition("/")[0])
    if place is None:
        return None
    if protocol == "abfs":
        account = given.get("account_name") or environ.get("AZURE_STORAGE_ACCOUNT_NAME", "")
        place = f"{place}@{account} {given.get('account_host', '')}"
    return Authority(canonical(protocol), place)


def _place(protocol: str, text: str) -> str | None:
    if protocol in ("dbfs", "memory"):  # the one workspace that the options name, and this process
        return ""
    if protocol in ("http", "https", "hdfs", "webhdfs"):
        host = text.rpartition("@")[2].lower().removesuffix(_DEFAULT_PORTS.get(protocol, ":"))
        return host if _HOST.fullmatch(host) else None
    return text if _BUCKET.fullmatch(text) else None


def _below(url: str, path: str, directories: Sequence[tuple[str, str]]) -> Below:
    """By the text alone: whether there is anything, and whether it is a link, is not asked before this is settled."""
    if not path.startswith("/") or path.startswith("//") or re.match(r"[A-Za-z]+://[^/]", url):
        raise NotPointedAt("it is no absolute path of this machine")
    path = posixpath.normpath(path)
    for directory, real in directories:
        for top in (directory, real):
            if path == top or path.startswith(top.rstrip("/") + "/"):
                return Below(directory, path[len(top) :].strip("/"))
    raise NotPointedAt("it lies outside what you pointed at", _look_at(path))


def _start(url: str) -> str:
    """The URL as far as it says who is asked; without a password."""
    scheme, _, rest = redact_url(url).partition(":")
    return f"{scheme}://{rest.lstrip('/').partition('/')[0]}"


def _look_at(place: str) -> str:
    return f"--look-at {shell_path(place)}"


def refuse_what_is_not_followed(url: str) -> None:
    """A place that no file may lead to need not be given; better said than ignored."""
    target = None if is_chain(url) else parse_url(url)[0]
    if is_chain(url) or (target is not None and canonical(protocol_of(target)) not in FOLLOWED):
        raise Refused(f"{redact_url(url)}: no file may lead there", "give a directory, or the URL of a host or bucket")

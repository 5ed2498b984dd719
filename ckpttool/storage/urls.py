"""Where a path or URL leads: Hadoop's spellings as fsspec's, the options hidden in them, and what may be shown of them.

Pure text; nothing is opened here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ckpttool.errors import NotFound, Refused

Options = dict[str, Any]
_WEBHDFS_PORT = 9870
_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]+"
_LOCAL = ("file", "local")


def parse_url(url: str) -> tuple[str | None, Options]:
    """fsspec's spelling of a URL and the options hidden in it; None with `path` for the local disk."""
    if "\0" in url:
        raise NotFound("a path cannot contain a NUL character")
    if not url:
        raise NotFound("the path is empty", "give the directory named as checkpointLocation, `.` for this one")
    if is_chain(url):
        return url, {}
    scheme, colon, rest = url.partition(":")
    if not colon or not re.fullmatch(_SCHEME, scheme):
        return None, {"path": url}
    scheme = scheme.lower()
    if scheme in _LOCAL:
        return None, {"path": "/" + rest.lstrip("/") if rest.startswith("/") else rest or "."}
    return _SPELLINGS.get(scheme, _as_is)(scheme, rest)


def is_chain(url: str) -> bool:
    """`zip://a::s3://b`: one file system inside another."""
    return "::" in url and "://" in url


def protocol_of(target: str) -> str:
    """The protocol that asks for credentials: the last link of a chain (`zip://a::s3://b`)."""
    return target.rpartition("::")[2].partition(":")[0] if "://" in target.rpartition("::")[2] else "file"


def options_for(protocol: str, options: Mapping[str, str]) -> Options:
    """`abfs:key=value` is for that protocol only; `key=value` is for all. Objects, arrays and booleans are decoded."""
    chosen: Options = {}
    for key, value in options.items():
        prefix, colon, name = key.partition(":")
        if colon and canonical(prefix) != canonical(protocol):
            continue
        chosen[name if colon else key] = _decoded(key, value)
    return chosen


def canonical(protocol: str) -> str:
    """One name for those that reach the same stores."""
    protocol = protocol.lower()
    same = {
        "s3a": "s3",
        "s3n": "s3",
        "gcs": "gs",
        "az": "abfs",
        "abfss": "abfs",
        "wasb": "abfs",
        "wasbs": "abfs",
        "webhdfs": "hdfs",
    }
    return same.get(protocol, protocol)


def over_http(target: str, options: Options, *, has_hadoop: bool) -> tuple[str, Options]:
    """HDFS through WebHDFS, whose port is another than the one in an `hdfs://` URL; as it is, where Hadoop is installed
    and pyarrow can use it."""
    scheme, _, rest = target.partition("://")
    authority, slash, path = rest.partition("/")
    host = re.sub(r":\d*$", "", authority)
    port = options.get("http_port", _WEBHDFS_PORT)
    others = {key: value for key, value in options.items() if key != "http_port"}
    if scheme == "hdfs" and has_hadoop:
        return target, others
    named = authority if scheme == "webhdfs" and host != authority else f"{host}:{port}"
    return f"webhdfs://{named}{slash}{path}", others


def redact_url(url: str) -> str:
    """The URL as it may be shown: without a password in the authority, and without a query or a fragment, which may
    hold a signature. Where these may be part of a name, the name is not cut to one that may be another's."""
    return "::".join(map(_redact_link, url.split("::")))


def parent_url(url: str) -> str:
    """The URL of the directory above; the first link of a chain is the one that moves."""
    first, chain, rest = url.partition("::")
    scheme, separator, path = first.rstrip("/").rpartition("://")
    return f"{scheme}{separator}{path.rpartition('/')[0]}{chain}{rest}"


def child_url(url: str, path: str) -> str:
    first, chain, rest = url.partition("::")
    slash = "" if first.endswith("/") else "/"
    return f"{first}{slash}{path}{chain}{rest}"


def walk(url: str, segments: Sequence[str], path: str, top: int = 0) -> tuple[str, list[str] | None]:
    """From a directory along a path: the URL, and the segments of what is there; None where the path leads above the
    first `top` of them."""
    reached = list(segments)
    for step in path.split("/"):
        if step == "..":
            if len(reached) <= top:
                return url, None
            reached.pop()
            url = parent_url(url)
        elif step not in ("", "."):
            reached.append(step)
            url = child_url(url, step)
    return url, reached


def _redact_link(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    if not separator or scheme.lower() in _LOCAL:
        found = re.fullmatch(rf"({_SCHEME})(:/?)(.*)", url, re.DOTALL)  # `s3:KEY:SECRET@bucket` is a URL to Hadoop
        if found is None or found[1].lower() in _LOCAL:
            return url
        scheme, separator, rest = found.groups()
    if mark := re.search("[?#]", rest):
        rest = rest[: mark.start()] + (f"{mark[0]}***" if scheme.lower() in _SPELLINGS else "")
    secret = _secret_before_host(scheme.lower(), rest)
    if secret is not None:
        user, colon, _ = secret.partition(":")
        rest = f"{user}:***{rest[len(secret) :]}" if colon else f"***{rest[len(secret) :]}"
    return f"{scheme}{separator}{rest}"


def _secret_before_host(scheme: str, rest: str) -> str | None:
    """What stands before the `@` of the host if it is a secret. A secret key may hold slashes; a port is no secret."""
    first = rest.partition("/")[0]
    user, colon, word = first.partition(":")
    if colon and "@" in rest and not ("@" not in first and word.isdecimal()):
        return first.rpartition("@")[0] if "@" in first else rest.rpartition("@")[0]
    return first.rpartition("@")[0] if "@" in first and (scheme in ("http", "https") or not user) else None


def _decoded(key: str, value: str) -> Any:
    if value[:1] not in ("{", "[") and value not in ("true", "false"):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise Refused(f"the storage option {key} is not JSON", "quote it for the shell: key='{\"a\": 1}'") from None


# -- one spelling each -------------------------------------------------------------------------------------------------


def _as_is(scheme: str, rest: str) -> tuple[str, Options]:
    return f"{scheme}://{rest.removeprefix('//') if rest.startswith('//') else rest.lstrip('/')}", {}


def _s3(_scheme: str, rest: str) -> tuple[str, Options]:
    return f"s3://{rest.lstrip('/')}", {}


def _azure(scheme: str, rest: str) -> tuple[str, Options]:
    """`<container>@<account>.<dfs|blob>.<cloud>/path`: fsspec wants the container first and the account apart."""
    rest = rest.lstrip("/")
    authority, _, path = rest.partition("/")
    container, at, host = authority.rpartition("@")
    if not at:
        return f"abfs://{rest}", {}
    account, _, cloud = host.partition(".")
    options: Options = {"account_name": account}
    if cloud and not cloud.endswith(".core.windows.net"):
        options["account_host"] = host.replace(".dfs.", ".blob.", 1) if scheme.startswith("abfs") else host
    return f"abfs://{container}/{path}", options


def _dbfs(_scheme: str, rest: str) -> tuple[str, Options]:
    return f"dbfs:///{rest.lstrip('/')}", {}


def _hdfs(scheme: str, rest: str) -> tuple[str, Options]:
    authority = rest[2:].partition("/")[0] if rest.startswith("//") else ""
    if not authority:
        raise Refused(
            f"{scheme}:///… names no name node, and only Hadoop's own configuration would know the default one",
            f"give the host: {scheme}://NAMENODE:PORT/…, or webhdfs://NAMENODE:9870/…",
        )
    return f"{scheme}:{rest}", {}


def _archive(scheme: str, _rest: str) -> tuple[str, Options]:
    raise Refused(
        f"{scheme}:// alone does not say which archive",
        f"give both paths: {scheme}://CHECKPOINT::/path/to/the.{scheme}",
    )


def _refused(scheme: str, _rest: str) -> tuple[str, Options]:
    reasons = {
        "viewfs": "a viewfs mount table exists only inside a Hadoop client's configuration",
        "maprfs": "fsspec has no MapR file system",
        "o3fs": "fsspec has no Ozone file system",
        "ofs": "fsspec has no Ozone file system",
    }
    raise Refused(
        f"{scheme}:// cannot be read: {reasons[scheme]}",
        "give the URL of the file system behind it (hdfs://, s3://, …)",
    )


_SPELLINGS = {
    "s3a": _s3,
    "s3n": _s3,
    "s3": _s3,
    "wasb": _azure,
    "wasbs": _azure,
    "abfs": _azure,
    "abfss": _azure,
    "az": _azure,
    "dbfs": _dbfs,
    "hdfs": _hdfs,
    "webhdfs": _hdfs,
    "zip": _archive,
    "tar": _archive,
    "viewfs": _refused,
    "maprfs": _refused,
    "o3fs": _refused,
    "ofs": _refused,
}


def is_local(url: str) -> bool:
    """A path or URL of this machine's own files."""
    return "://" not in url or url.startswith("file:")

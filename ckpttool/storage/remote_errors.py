"""What the clients of stores raise, as errors of ours: by the store's own word, and never with a secret in it."""

from __future__ import annotations

import re
from zipfile import BadZipFile

from ckpttool.errors import CkptError, MalformedFile, NotACheckpoint, NotFound, Refused, Unavailable
from ckpttool.storage.store import not_a_file

EXTRAS = {
    "s3": "s3",
    "abfs": "azure",
    "gs": "gcs",
    "gcs": "gcs",
    "http": "http",
    "https": "http",
    "webhdfs": "hdfs",
}


def remote_error(error: Exception, path: str, doing: str = "read") -> CkptError:
    """`doing`: what was to be done with it, so that it reads `cannot be read`."""
    if isinstance(error, CkptError):
        return error
    if isinstance(error, NotADirectoryError):
        return NotFound(f"{path} is a file, not a directory")
    if isinstance(error, FileNotFoundError):
        return NotFound(f"{path} does not exist")
    if isinstance(error, IsADirectoryError):
        return not_a_file()
    if isinstance(error, BadZipFile):
        return MalformedFile(f"the archive is damaged: {_plain(error)}", expected="a sound archive")
    if isinstance(error, ImportError):
        return Refused(f"{path} needs an optional package: {_plain(error)}")
    code = _code_of(error)
    word = code or type(error).__name__
    advice = next((advice for part, advice in _ADVICE if part in word), "check credentials, address and network")
    if doing != "read" and advice == _MAY_READ:
        advice = _MAY_WRITE
    return Unavailable(f"{path} cannot be {doing}: {code or _plain(error)}", advice)


_MAY_READ = "ask for the permission to list the bucket and to read its objects (docs/storage.md)"
_MAY_WRITE = "ask for the permission to write and delete objects below the checkpoint (docs/storage.md)"
_REGION = 'name the region: AWS_DEFAULT_REGION, or --storage-option client_kwargs=\'{"region_name": "…"}\''
_LATER = "the store asks for fewer requests: look again later"
_ADVICE = (
    ("Expired", "the credentials have expired: renew them and look again"),
    ("Skewed", "this machine's clock is wrong: set it"),
    ("SlowDown", _LATER),
    ("Busy", _LATER),
    ("Redirect", _REGION),
    ("HeaderMalformed", _REGION),
    ("NoRegion", _REGION),
    ("Denied", _MAY_READ),
    ("Forbidden", _MAY_READ),
    ("Permission", _MAY_READ),
    ("NoCredentials", "none were found: name a profile, give them as options, or say anon=true (docs/storage.md)"),
    ("InvalidAccessKeyId", "the store does not know this key: check which credentials are in force"),
    ("SignatureDoesNotMatch", "the secret does not fit its key: check which credentials are in force"),
)


def _code_of(error: BaseException | None) -> str | None:
    """The store's own word for it, such as `SlowDown`. A single word is no place for a secret."""
    while error is not None:
        answer = getattr(error, "response", None)
        code = answer.get("Error", {}).get("Code") if isinstance(answer, dict) else getattr(error, "error_code", None)
        code = code or (str(error) if isinstance(error, PermissionError) else None)
        if code and re.fullmatch(r"[A-Za-z]{3,40}", str(getattr(code, "value", code))):
            return str(getattr(code, "value", code))
        error = error.__cause__
    return None


def opening_error(error: Exception, protocol: str, shown: str) -> CkptError:
    if isinstance(error, ImportError):
        extra = "kerberos" if error.name == "requests_kerberos" else EXTRAS.get(protocol)
        hint = f"pip install 'ckpttool[{extra}]'" if extra else f"install what fsspec asks for: {_plain(error)}"
        return Refused(f"reading {protocol}:// needs an optional package", hint)
    if isinstance(error, ValueError) and "rotocol not known" in str(error):
        return Refused(
            f"{str(error).rpartition(' ')[2]}:// is not a file system that fsspec knows",
            "use a path, or s3://, abfs://, gs://, hdfs://, http://, zip://, memory://",
        )
    if isinstance(error, TypeError) and (lacking := re.findall(r"'(\w+)'", str(error).partition("missing")[2])):
        return Refused(
            f"{protocol}:// needs options that were not given: {', '.join(lacking)}",
            f"give them: --storage-option {lacking[0]}=…; secrets in --storage-options-file, which others cannot read",
        )
    if isinstance(error, BadZipFile):
        return NotACheckpoint(f"{shown} is not a zip file", "give it as zip://CHECKPOINT::/path/to/the.zip")
    opened = remote_error(error, shown)
    return NotACheckpoint(f"{shown}: {opened.message}") if isinstance(opened, MalformedFile) else opened


def _plain(error: Exception) -> str:
    """An exception in one line, by its type where its text might carry a signed URL or a key."""
    text = harmless(str(error))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def harmless(text: str) -> str:
    """The first line, or nothing if it might carry a signed URL or a key."""
    line = next(iter(text.strip().splitlines()), "")
    revealing = any(word in line.lower() for word in ("key", "sig", "token", "secret", "password", "@", "?"))
    return "" if revealing or len(line) >= 200 else line

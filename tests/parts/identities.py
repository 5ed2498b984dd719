"""Those who give out credentials in a cloud: Microsoft's and Google's endpoints for tokens, AWS's for roles.

A fake: none of them is to be had here. It knows one secret of each kind; the clients that ask it are the real ones.
"""

from __future__ import annotations

import base64
import json
import ssl
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

LIVES_S = 3600


class Identities:
    """`asked`: in which ways it was asked and had an answer. `given`: what must not be shown."""

    def __init__(self, secret: str, files: tuple[Path, Path] | None = None) -> None:
        self.secret = secret
        self.asked: list[str] = []
        self.given: set[str] = set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._scheme = "https" if files else "http"
        if files:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*files)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str, form: dict[str, str], header: str | None) -> dict[str, Any] | str | None:
        """None: no such secret."""
        if path.endswith("/oauth2/v2.0/token"):
            way = "client_assertion" if "client_assertion" in form else "client_secret"
            return self._token(way) if form.get(way) == self.secret else None
        if path == "/machine":
            return self._token("identity header") if header == self.secret else None
        if path == "/google":
            return self._token("signed assertion") if form.get("assertion", "").count(".") == 2 else None
        if path == "/latest/api/token":
            return self.secret
        if path.endswith("/security-credentials/"):
            return "the-role" if header == self.secret else None
        if path in ("/container", "/latest/meta-data/iam/security-credentials/the-role"):
            return self._keys(path.rpartition("/")[2])
        return None

    def _token(self, way: str) -> dict[str, Any]:
        """Its signature is nobody's: azurite looks at all but that."""
        now = int(time.time())
        claims = {"iss": "https://sts.windows.net/t/", "aud": "https://storage.azure.com", "iat": now, "nbf": now - 60}
        parts = ({"alg": "none", "typ": "JWT"}, {**claims, "exp": now + LIVES_S}, {"way": way})
        token = ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts)
        self._remember(way, token)
        return {
            "access_token": token,
            "token_type": "Bearer",
            "expires_in": LIVES_S,
            "expires_on": str(now + LIVES_S),
            "resource": "https://storage.azure.com",
        }

    def _keys(self, way: str) -> dict[str, str]:
        secret, token = f"planted-secret-of-{way}", f"planted-token-of-{way}"
        self._remember(way, secret, token)
        until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + LIVES_S))
        keys = {"AccessKeyId": "ROLEKEY", "SecretAccessKey": secret, "Token": token, "Expiration": until}
        return {"Code": "Success", **keys}

    def _remember(self, way: str, *secrets: str) -> None:
        self.asked.append(way)
        self.given |= {*secrets}


def _handler(identities: Identities) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            form = {name: values[0] for name, values in parse_qs(self.rfile.read(length).decode()).items()}
            header = self.headers.get("X-IDENTITY-HEADER") or self.headers.get("X-aws-ec2-metadata-token")
            told = identities.answer(urlsplit(self.path).path, form, header)
            refused = {"error": "invalid_client", "error_description": "AADSTS7000215: Invalid client secret."}
            body = (told if isinstance(told, str) else json.dumps(told or refused)).encode()
            self.send_response(401 if told is None else 200)
            self.send_header("Content-Type", "text/plain" if isinstance(told, str) else "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_PUT = do_GET

        def log_message(self, *_: object) -> None:
            """Nothing of it belongs into the tests' output."""

    return Handler

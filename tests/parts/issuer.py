"""One who gives out tokens: the endpoint that OAUTHBEARER asks, and the keys that brokers trust.

A fake: there is no such service to be had here. It knows one client, and what it signs is verified by the real broker.
"""

from __future__ import annotations

import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

_KEY = "the-key"
_LIVES_S = 300


class Issuer:
    """`tokens`: where a client gets one for its id and secret; `keys`: where a broker gets what verifies them."""

    def __init__(self, client: str, secret: str) -> None:
        self._login = "Basic " + base64.b64encode(f"{client}:{secret}".encode()).decode()
        self._client = client
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def tokens(self) -> str:
        return f"{self.url}/token"

    @property
    def keys(self) -> str:
        return f"{self.url}/keys"

    def __enter__(self) -> Issuer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def public(self) -> dict[str, Any]:
        numbers = self._key.public_key().public_numbers()
        size = (numbers.n.bit_length() + 7) // 8
        key = {"kty": "RSA", "kid": _KEY, "alg": "RS256", "use": "sig"}
        return {"keys": [key | {"n": _b64(numbers.n.to_bytes(size)), "e": _b64(numbers.e.to_bytes(3))}]}

    def token_for(self, login: str | None) -> dict[str, Any] | None:
        if login != self._login:
            return None
        now = int(time.time())
        claims = {"sub": self._client, "iat": now, "exp": now + _LIVES_S, "scope": "kafka", "iss": self.url}
        head = {"alg": "RS256", "typ": "JWT", "kid": _KEY}
        signed = ".".join(_b64(json.dumps(part).encode()) for part in (head, claims))
        signature = self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return {"access_token": f"{signed}.{_b64(signature)}", "token_type": "Bearer", "expires_in": _LIVES_S}


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _handler(issuer: Issuer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(200, issuer.public())

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            token = issuer.token_for(self.headers.get("Authorization"))
            if token is None:
                self._answer(401, {"error": "invalid_client", "error_description": "no such client, or another secret"})
            else:
                self._answer(200, token)

        def _answer(self, status: int, told: dict[str, Any]) -> None:
            body = json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing of it belongs into the tests' output."""

    return Handler

"""Kerberos for real: MIT's key distribution centre, and Hadoop's mini cluster that believes nobody without a ticket.

    python -m tests.parts.kerberos

says in one line what of it is not on this machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.parts.hdfs import HdfsServer
from tests.parts.spark import MissingPart
from tests.parts.stores import ObjectServer

REALM = "TEST"
SERVICE, WEB = "nn/localhost", "HTTP/localhost"
_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])  # where daemons are


class KeyCentre(ObjectServer):
    """`environment`: what makes a client ask it. `keys`: the file with everybody's key."""

    protocol = "kerberos"

    def __init__(self, users: Sequence[str]) -> None:
        super().__init__()
        self.users = users
        self.keys = self._folder / "keys"
        self.environment = {
            "KRB5_CONFIG": str(self._folder / "krb5.conf"),
            "KRB5_KDC_PROFILE": str(self._folder / "kdc.conf"),
            "KRB5CCNAME": str(self._folder / "nobody"),
        }

    def command(self) -> Sequence[str]:
        (self._folder / "krb5.conf").write_text(
            f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n rdns = false\n"
            " dns_canonicalize_hostname = false\n udp_preference_limit = 1\n"
            f"[realms]\n {REALM} = {{\n kdc = 127.0.0.1:{self.port}\n }}\n[domain_realm]\n localhost = {REALM}\n"
        )
        (self._folder / "kdc.conf").write_text(
            f'[kdcdefaults]\n kdc_listen = ""\n kdc_tcp_listen = 127.0.0.1:{self.port}\n'
            f"[realms]\n {REALM} = {{\n database_name = {self._folder}/principal\n"
            f" key_stash_file = {self._folder}/stash\n }}\n"
        )
        self.run("kdb5_util", "create", "-s", "-r", REALM, "-P", "of no use to anybody")
        for name in (SERVICE, WEB, *self.users):
            self.run("kadmin.local", "-q", f"addprinc -randkey {name}")
            self.run("kadmin.local", "-q", f"ktadd -k {self.keys} {name}")
        return ["env", *(f"{key}={value}" for key, value in self.environment.items()), _found("krb5kdc"), "-n"]

    def log_in(self, user: str) -> Path:
        """The file with a ticket."""
        tickets = self._folder / f"tickets-of-{user.replace('/', '-')}"
        self.run("kinit", "-k", "-t", str(self.keys), "-c", str(tickets), user)
        return tickets

    def run(self, program: str, *arguments: str) -> None:
        environment = {**os.environ, **self.environment}
        done = subprocess.run(
            [_found(program), *arguments], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise MissingPart(f"{program}: {done.stdout}{done.stderr}"[-3000:])


class SecureHdfsServer(HdfsServer):
    """Written to in the name of the service, by curl: another client than ours."""

    def __init__(self, centre: KeyCentre) -> None:
        super().__init__(180)
        self._environment = {**os.environ, **centre.environment, "KRB5CCNAME": str(centre.log_in(SERVICE))}
        self.of_java = [f"-Djava.security.krb5.conf={centre.environment['KRB5_CONFIG']}"]
        self.settings = _settings(str(centre.keys))

    @property
    def address(self) -> str:
        return f"http://localhost:{self.port}"

    @property
    def url(self) -> str:
        return super().url.replace("127.0.0.1", "localhost")

    def _call(self, method: str, path: str, operation: str, data: bytes | None = None, **more: str) -> Any:
        """The name node gives a token for the data node, which asks for no ticket."""
        import requests

        query = "&".join(f"{key}={value}" for key, value in {"op": operation, **more}.items())
        command = ["curl", "-s", "-i", "--negotiate", "-u", ":", "-X", method]
        told = subprocess.run(
            [*command, f"{self.address}/webhdfs/v1{path}?{query}"],
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        places = [line.removeprefix("Location: ") for line in told.splitlines() if line.startswith("Location: ")]
        if not places:
            raise requests.RequestException(told[-500:])
        return requests.request(method, places[-1], data=data, timeout=60)


def _settings(keys: str) -> Mapping[str, str]:
    initializer = "org.apache.hadoop.security.authentication.server.ProxyUserAuthenticationFilterInitializer"
    service, web = f"{SERVICE}@{REALM}", f"{WEB}@{REALM}"
    return {
        "hadoop.security.authentication": "kerberos",
        "dfs.block.access.token.enable": "true",
        "dfs.data.transfer.protection": "authentication",
        "ignore.secure.ports.for.testing": "true",
        **{f"dfs.{node}.kerberos.principal": service for node in ("namenode", "datanode")},
        **{f"dfs.{node}.keytab.file": keys for node in ("namenode", "datanode")},
        "dfs.web.authentication.kerberos.principal": web,
        "dfs.web.authentication.kerberos.keytab": keys,
        "hadoop.http.filter.initializers": initializer,
        "hadoop.http.authentication.type": "kerberos",
        "hadoop.http.authentication.simple.anonymous.allowed": "false",
        "hadoop.http.authentication.kerberos.principal": web,
        "hadoop.http.authentication.kerberos.keytab": keys,
    }


def ensure_kerberos() -> None:
    lacking = [one for one in ("krb5kdc", "kadmin.local", "kinit", "krb5-config", "curl") if _found(one) == one]
    if lacking:
        packages = "krb5-kdc krb5-admin-server krb5-user libkrb5-dev curl"
        raise MissingPart(f"no {' and no '.join(lacking)} on the path: install Debian's {packages}, or their like")


def _found(program: str) -> str:
    return shutil.which(program, path=_PATH) or program


if __name__ == "__main__":
    try:
        ensure_kerberos()
    except MissingPart as missing:
        sys.exit(str(missing))

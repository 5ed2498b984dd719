"""From the settings of a Spark job, which are those of the Java client, to those of librdkafka. Pure.

What has the same name is passed on, what has another one is translated, and what only Java knows is left out, because
librdkafka refuses a key that it does not know. Key stores of Java's own kind cannot be read, and are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from msgspec import Struct

from ckpttool.kafka.base import BrokerFault
from ckpttool.literals import shell_path

FirstBytes = Callable[[str], bytes]  # of a local file, empty if it cannot be read

_SAME = {
    "bootstrap.servers",
    "security.protocol",
    "sasl.mechanism",
    "client.id",
    "client.dns.lookup",
    "client.rack",
    "isolation.level",
    "ssl.key.password",
    "ssl.keystore.password",
    "sasl.kerberos.service.name",
    "sasl.kerberos.keytab",
    "sasl.kerberos.principal",
    "sasl.oauthbearer.token.endpoint.url",
    "sasl.oauthbearer.scope",
    "reconnect.backoff.ms",
    "reconnect.backoff.max.ms",
    "retry.backoff.ms",
    "retry.backoff.max.ms",
    "connections.max.idle.ms",
    "socket.connection.setup.timeout.ms",
}
_RENAMED = {
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "sasl.oauthbearer.client.credentials.client.id": "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.client.credentials.client.secret": "sasl.oauthbearer.client.secret",
}
# Only Java has these, or this client has no use for them.
_LEFT_OUT = re.compile(
    r"(key|value)\.(de)?serializer.*|group\..*|auto\..*|enable\..*|fetch\..*|max\..*|session\..*|heartbeat\..*"
    r"|partition\..*|interceptor\..*|metric.*|default\.api\..*|request\..*|(receive|send)\.buffer\..*|check\.crcs"
    r"|ssl\.(protocol|provider|enabled\.protocols|cipher\.suites|keymanager.*|trustmanager.*|secure.*|engine.*)"
    r"|ssl\.(keystore|truststore)\..*|sasl\.(client|login)\..*|.*\.callback\.handler\.class|sasl\.jaas\.config"
    r"|metadata\..*|acks|retries|linger\.ms|batch\.size|buffer\.memory|compression\..*|transactional\..*|security\.providers"
)
_SECRET = re.compile(r"password|secret|\.pem$|\.key$|token$|jaas", re.IGNORECASE)
_JKS = b"\xfe\xed\xfe\xed"
_SHORTEST_SECRET = 4  # a shorter one would also blot out ordinary words


class Settings(Struct, frozen=True):
    """What librdkafka gets."""

    config: Mapping[str, str] = {}

    def __repr__(self) -> str:
        """There are passwords in it."""
        return "Settings(…)"

    def hide(self, text: str) -> str:
        """The text without anything secret."""
        for key, value in self.config.items():
            if _SECRET.search(key) and len(value) >= _SHORTEST_SECRET:
                text = text.replace(value, "***")
        return text


def has_secrets(config: Mapping[str, str]) -> bool:
    return any(value and _SECRET.search(key) for key, value in config.items())


def translate(
    options: Mapping[str, str], file: Mapping[str, str], direct: Mapping[str, str], first_bytes: FirstBytes
) -> Settings | BrokerFault:
    """`options`: those of a Spark source, `file`: a client's configuration, Java's or librdkafka's, and `direct`: what
    goes to librdkafka as it is. The later ones win."""
    spark = {key[6:].lower(): value for key, value in options.items() if key.lower().startswith("kafka.")}
    java = spark | {key.removeprefix("kafka."): value for key, value in file.items()}
    config = {
        _RENAMED.get(key, key): value
        for key, value in java.items()
        # Of a file also librdkafka's own names, and such as it will name when it refuses.
        if key in _SAME or key in _RENAMED or not (key in spark or _LEFT_OUT.fullmatch(key))
    }
    for part in (_login, _trust, _identity):
        more = part(java, direct, first_bytes)
        if isinstance(more, BrokerFault):
            return more
        config |= more
    # Java switches the check of host names off by an empty value, librdkafka by a word.
    if (algorithm := java.get("ssl.endpoint.identification.algorithm")) is not None:
        config["ssl.endpoint.identification.algorithm"] = algorithm or "none"
    config |= direct
    if config.get("sasl.mechanism", "").upper() == "AWS_MSK_IAM":
        step = "use another listener of the cluster, or OAUTHBEARER with a token"
        return BrokerFault("unsupported", "the mechanism AWS_MSK_IAM exists for Java only", step)
    return Settings(config)


def parse_properties(text: str) -> dict[str, str]:
    """Java's properties, as far as clients' files use them: `k=v`, `k: v`, comments, lines that go on."""
    found = {}
    joined = re.sub(r"(?<!\\)\\\r?\n[ \t]*", "", text)
    for line in joined.splitlines():
        entry = line.strip()
        if not entry or entry[0] in "#!":
            continue
        parts = re.split(r"\s*[=:]\s*", entry, maxsplit=1)
        found[parts[0]] = parts[1].replace("\\\\", "\\") if len(parts) > 1 else ""
    return found


# -- who we are --------------------------------------------------------------------------------------------------------


def parse_jaas(text: str) -> tuple[str, dict[str, str]]:
    """`some.package.ScramLoginModule required username="u" password="p";` → the class's own name, and its options."""
    head = re.match(r"\s*([\w.$]+)\s+\w+", text)
    module = head.group(1).rpartition(".")[2] if head else ""
    options = {}
    for key, quoted, plain in re.findall(r"""([\w.]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))""", text):
        options[key] = re.sub(r"\\(.)", r"\1", quoted) if quoted else plain
    return module, options


def _login(java: Mapping[str, str], direct: Mapping[str, str], first_bytes: FirstBytes) -> dict[str, str] | BrokerFault:  # noqa: ARG001
    if "sasl.jaas.config" not in java:
        return {}
    module, options = parse_jaas(java["sasl.jaas.config"])
    if module in ("PlainLoginModule", "ScramLoginModule"):
        names = {"sasl.username": options.get("username"), "sasl.password": options.get("password")}
    elif module == "Krb5LoginModule":
        names = {
            "sasl.kerberos.keytab": options.get("keyTab"),
            "sasl.kerberos.principal": options.get("principal"),
            "sasl.kerberos.service.name": options.get("serviceName"),
        }
    elif module == "OAuthBearerLoginModule":
        names = {
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.id": options.get("clientId"),
            "sasl.oauthbearer.client.secret": options.get("clientSecret"),
            "sasl.oauthbearer.scope": options.get("scope"),
        }
    else:
        if "sasl.username" in direct or "sasl.oauthbearer.client.id" in direct:
            return {}
        shown = module or "in sasl.jaas.config"
        return BrokerFault(
            "unsupported",
            f"the login module {shown} cannot be translated",
            "give -X sasl.mechanism=… -X sasl.username=… -X sasl.password=…, as librdkafka names them",
        )
    return {key: value for key, value in names.items() if value}


# -- certificates ------------------------------------------------------------------------------------------------------


def _trust(java: Mapping[str, str], direct: Mapping[str, str], first_bytes: FirstBytes) -> dict[str, str] | BrokerFault:
    """librdkafka takes the certificates to trust as PEM only."""
    location = java.get("ssl.truststore.location")
    if not location or "ssl.ca.location" in direct or "ssl.ca.pem" in direct:
        return {}
    kind = _kind_of(location, java.get("ssl.truststore.type"), first_bytes)
    if kind == "PEM":
        return {"ssl.ca.location": location}
    store, pem = shell_path(location), shell_path(_other_ending(location, ".pem"))
    return BrokerFault(
        "unsupported",
        f"the trust store {location} is a {kind} one, which librdkafka does not read",
        f"keytool -list -rfc -keystore {store} > {pem}  and give -X ssl.ca.location={pem}",
    )


def _identity(
    java: Mapping[str, str], direct: Mapping[str, str], first_bytes: FirstBytes
) -> dict[str, str] | BrokerFault:
    location = java.get("ssl.keystore.location")
    if not location or "ssl.keystore.location" in direct or "ssl.certificate.location" in direct:
        return {}
    kind = _kind_of(location, java.get("ssl.keystore.type"), first_bytes)
    if kind == "PKCS12":
        return {"ssl.keystore.location": location}
    if kind == "PEM":
        return {"ssl.key.location": location, "ssl.certificate.location": location}
    store, converted = shell_path(location), shell_path(_other_ending(location, ".p12"))
    return BrokerFault(
        "unsupported",
        f"the key store {location} is a JKS one, which librdkafka does not read",
        f"keytool -importkeystore -srckeystore {store} -destkeystore {converted} -deststoretype PKCS12"
        f"  and give -X ssl.keystore.location={converted} -X ssl.keystore.password=…",
    )


def _kind_of(location: str, said: str | None, first_bytes: FirstBytes) -> str:
    """What the file itself says; Java reads PKCS12 under the name of JKS too."""
    begins = first_bytes(location)
    if begins.startswith(_JKS):
        return "JKS"
    if begins.startswith(b"---"):
        return "PEM"
    if begins.startswith(b"\x30"):
        return "PKCS12"
    if said:
        return said.upper()
    ending = location.lower().rpartition(".")[2]
    return {"pem": "PEM", "crt": "PEM", "p12": "PKCS12", "pfx": "PKCS12"}.get(ending, "JKS")


def _other_ending(location: str, ending: str) -> str:
    stem, dot, _ = location.rpartition(".")
    return (stem if dot and "/" not in location[len(stem) :] else location) + ending

"""An authority of our own, what it signs, and the files that servers and clients take them from."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID

STORE_PASSWORD = "st0re-s3cret"


@dataclass(frozen=True)
class Signed:
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate


class Authority:
    """Signs certificates; `trusted` is the PEM file that clients are given."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        key = ec.generate_private_key(ec.SECP256R1())
        self._own = Signed(key, _sign(key, name, name, key, is_authority=True))
        self.trusted = folder / f"{name}.pem"
        self.trusted.write_bytes(self._own.certificate.public_bytes(serialization.Encoding.PEM))

    def store(self, name: str, host: str = "127.0.0.1") -> Path:
        """A PKCS12 file with a key, its certificate for this host, and the authority's."""
        key, signed = self._signed(name, host)
        encryption = serialization.BestAvailableEncryption(STORE_PASSWORD.encode())
        path = self._folder / f"{name}.p12"
        path.write_bytes(
            pkcs12.serialize_key_and_certificates(name.encode(), key, signed, [self._own.certificate], encryption)
        )
        return path

    def files(self, name: str, host: str = "127.0.0.1") -> tuple[Path, Path]:
        """The same as two PEM files: the certificate, and its key."""
        key, signed = self._signed(name, host)
        certificate, secret = self._folder / f"{name}.crt", self._folder / f"{name}.key"
        certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        secret.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return certificate, secret

    def _signed(self, name: str, host: str) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
        key = ec.generate_private_key(ec.SECP256R1())
        issuer = self._own.certificate.subject.rfc4514_string().removeprefix("CN=")
        return key, _sign(key, name, issuer, self._own.key, host=host)


def _sign(
    key: ec.EllipticCurvePrivateKey,
    name: str,
    issuer: str,
    by: ec.EllipticCurvePrivateKey,
    *,
    is_authority: bool = False,
    host: str | None = None,
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    )
    if host is not None:
        names: list[x509.GeneralName] = [_name(host)]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(by, hashes.SHA256())


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)

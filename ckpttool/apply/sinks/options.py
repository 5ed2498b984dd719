"""The storage options of every command, as delta-rs has them: fsspec's names mean nothing to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ckpttool.errors import Refused
from ckpttool.storage.urls import canonical, options_for, parse_url, protocol_of

_S3 = {"key": "aws_access_key_id", "secret": "aws_secret_access_key", "token": "aws_session_token",
       "endpoint_url": "aws_endpoint_url", "anon": "aws_skip_signature"}  # fmt: skip
_AZURE = {"account_name": "azure_storage_account_name", "account_key": "azure_storage_account_key",
          "sas_token": "azure_storage_sas_key", "tenant_id": "azure_storage_tenant_id",
          "client_id": "azure_storage_client_id", "client_secret": "azure_storage_client_secret",
          "anon": "azure_skip_signature"}  # fmt: skip
_GOOGLE = {"token": "google_service_account", "endpoint_url": "google_base_url"}
_IN_STRING = {"AccountName": "account_name", "AccountKey": "account_key"}


def for_delta_rs(url: str, storage: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The table's URL and its options, both as delta-rs wants them; raises Refused for what it cannot write to."""
    target, hidden = parse_url(url)
    if target is None:
        return hidden["path"], {}
    protocol = canonical(protocol_of(target))
    spell = _SPELLED.get(protocol)
    if spell is None:
        raise Refused(f"delta-rs does not write to {protocol}://")
    return target, {name: str(value) for name, value in spell({**hidden, **options_for(protocol, storage)}).items()}


def _s3(options: Mapping[str, Any]) -> dict[str, Any]:
    found = _renamed(_S3, options)
    clients = options.get("client_kwargs")
    clients = json.loads(clients) if isinstance(clients, str) else clients or {}
    found["aws_region"] = clients.get("region_name", "us-east-1") if found else None
    if str(options.get("endpoint_url", "")).startswith("http:"):
        found["aws_allow_http"] = "true"
    return {name: value for name, value in found.items() if value is not None}


def _azure(options: Mapping[str, Any]) -> dict[str, Any]:
    parts = dict(part.split("=", 1) for part in str(options.get("connection_string", "")).split(";") if "=" in part)
    told = {ours: parts[name] for name, ours in _IN_STRING.items() if name in parts}
    found = _renamed(_AZURE, {**told, **options})
    if endpoint := parts.get("BlobEndpoint"):
        found["azure_storage_endpoint"] = endpoint.rstrip("/")
        found["azure_allow_http"] = "true" if endpoint.startswith("http:") else "false"
    return found


def _google(options: Mapping[str, Any]) -> dict[str, Any]:
    found = _renamed(_GOOGLE, options)
    if found.get("google_service_account") == "anon":
        found = {**found, "google_skip_signature": "true"}
        del found["google_service_account"]
    if str(options.get("endpoint_url", "")).startswith("http:"):
        found["allow_http"] = "true"
    return found


def _renamed(names: Mapping[str, str], options: Mapping[str, Any]) -> dict[str, Any]:
    return {theirs: _spelled(options[ours]) for ours, theirs in names.items() if ours in options}


def _spelled(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_SPELLED: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {"s3": _s3, "abfs": _azure, "gs": _google}

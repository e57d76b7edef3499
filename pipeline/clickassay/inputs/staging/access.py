"""What the environment says of stores: credentials, servers, and which hosts belong to a store."""

import os
import re
from urllib.parse import urlsplit

from clickassay.inputs.staging.gate import PORTS

_CREDENTIALS = {
    "s3": ("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
           "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
    "gs": ("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH", "GOOGLE_SERVICE_ACCOUNT_KEY",
           "GOOGLE_APPLICATION_CREDENTIALS"),
    "az": ("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SAS_KEY",
           "AZURE_STORAGE_CLIENT_ID", "AZURE_CLIENT_ID", "AZURE_STORAGE_TOKEN"),
}  # fmt: skip
"""Variables one of which has credentials."""


def is_signed(kind: str) -> bool:
    """Tell whether the environment has credentials."""
    return any(os.environ.get(name) for name in _CREDENTIALS.get(kind, ()))


def endpoint() -> str:
    """Return the server of S3 that the environment names; '' for that of AWS."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL", "")


OPTION_OF = {"s3": "aws", "gs": "google", "az": "azure", "https": "http"}
_SERVERS = {
    "s3": r"(?:.+\.)?(?:s3|sts)(?:[.-]dualstack|-fips)?(?:\.[a-z0-9-]+)?\.amazonaws\.com(?:\.cn)?",
    "gs": r"(?:.+\.)?googleapis\.com",
    "az": r"[a-z0-9]+\.(?:blob|dfs)\.core\.windows\.net|login\.microsoftonline\.com",
}
"""Hosts of the stores themselves, and of what gives their credentials."""
_NAMING = {"s3": "AWS_", "gs": "GOOGLE_", "az": "AZURE_"}
_OF_THIS_MACHINE = "169.254."
"""Addresses that credentials of a machine in a cloud come from."""


def is_of_store(kind: str, base: str, host: str, port: int) -> bool:
    """Tell whether a host is of a store: its address, or one that a variable names, or its provider's."""
    begin = _NAMING.get(kind)
    named = [base] if begin is None else [text for name, text in os.environ.items() if name.startswith(begin)]
    places = [urlsplit(text) for text in named if "://" in text]
    if any((one.hostname, one.port or PORTS.get(one.scheme)) == (host, port) for one in places):
        return True
    is_named = kind == "s3" and bool(endpoint()) and not host.startswith("sts.")
    return begin is not None and (
        host.startswith(_OF_THIS_MACHINE) or (not is_named and re.fullmatch(_SERVERS[kind], host) is not None)
    )

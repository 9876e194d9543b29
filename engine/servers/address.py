"""A server's address: what of it may be shown, what of it is a secret, whether it is this machine."""

from __future__ import annotations

import base64
import ipaddress
import re
import socket
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit, urlunsplit

_SHORTEST_SECRET = 4
"""Shorter pieces would be redacted from words that have nothing to do with them."""


def is_address(url: str) -> bool:
    """Whether requests can be sent there: http or https, a host, a port that can be one; ASCII, as libraries differ in
    how they read other letters."""
    parts = _split(url)
    plain = url.isascii() and url.isprintable() and " " not in url
    return parts is not None and parts.port != 0 and plain


def is_bare(url: str) -> bool:
    """Whether it is an address without anything that may be secret."""
    parts = _split(url)
    secret = parts is None or "@" in parts.netloc or _may_be_user(parts)
    return is_address(url) and not secret and not {"?", "#"} & set(url)


def _may_be_user(parts: SplitResult) -> bool:
    """Whether host and port may be a user and the beginning of a password that holds a slash."""
    return parts.port is not None and "@" in parts.path


_PASSWORD = re.compile(r"(?<=://)[^\s@/]*:[^\s@]*@")


def has_password(text: str) -> bool:
    """Whether an address with a user's password stands in a text."""
    return _PASSWORD.search(text) is not None


def without_passwords(text: str) -> str:
    """`text` without users and passwords of the addresses in it."""
    return _PASSWORD.sub("", text)


def shown_address(url: str) -> str:
    """Scheme, host, port and path: neither user nor password nor query."""
    parts = _split(url)
    if parts is None or _may_be_user(parts):
        return "an address that cannot be read"
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def address_secrets(url: str) -> list[str]:
    """Texts of the address that must not be repeated, longest first; none of no address."""
    parts = _split(url)
    if parts is None:
        return [url] if url else []
    user = parts.netloc.rpartition("@")[0]
    password = user.partition(":")[2]
    secrets = {parts.query, user, password, unquote(user), unquote(password)}
    secrets |= {base64.b64encode(unquote(user).encode()).decode()} if user else set()
    secrets |= {value for _, value in parse_qsl(parts.query)}
    return sorted((text for text in secrets if len(text) >= _SHORTEST_SECRET), key=len, reverse=True)


def is_local(url: str) -> bool:
    """Whether the server is on this machine: nobody else reads what is sent there."""
    parts = _split(url)
    host = "" if parts is None else (parts.hostname or "").rstrip(".")
    address = numeric(host)
    if address is None:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def numeric(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host is written as, also in the short forms that the system reads (127.1); None for a name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        try:
            return ipaddress.IPv4Address(socket.inet_aton(host)) if host[:1].isdigit() else None
        except OSError:
            return None
    return (address.ipv4_mapped or address) if isinstance(address, ipaddress.IPv6Address) else address


def _split(url: str) -> SplitResult | None:
    """None for what is no address: who leaves `http://` out has the password in another place."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # a port that is none is found only here
    except ValueError:
        return None
    return parts if parts.scheme in ("http", "https") and parts.hostname else None

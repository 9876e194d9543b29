"""The proxy that requests to a server go through, as the environment names it; none for servers on this machine."""

from __future__ import annotations

import re
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network, ip_network
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from engine.servers.address import is_local, numeric


def proxy_of(url: str) -> str:
    """Its address, which may hold a password; empty where requests go straight to the server.

    `HTTP_PROXY` and the like are meant for the way out of this machine: what goes to a server on it (prompts, and a
    key) is nothing that another machine should be handed.
    """
    parts = urlsplit(url)
    if is_local(url) or _is_excepted(parts):
        return ""
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all") or ""
    return proxy if "://" in proxy or not proxy else f"http://{proxy}"


def _is_excepted(parts: SplitResult) -> bool:
    """Whether `NO_PROXY` names the host: by name, with its port or without, or by a network such as 10.0.0.0/8."""
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    written = f"[{host}]" if ":" in host else host
    if proxy_bypass(f"{written}:{port}") or proxy_bypass(host):
        return True
    address = numeric(host)
    return address is not None and any(address in network for network in _networks())


def _networks() -> list[IPv4Network | IPv6Network]:
    networks = []
    for name in getproxies().get("no", "").split(","):
        with suppress(ValueError):
            networks.append(ip_network(name.strip(), strict=False))
    return networks


def proxy_host(proxy: str) -> str:
    """Host and port of a proxy, without user and password."""
    # A password may hold what would end the host elsewhere: / # ?
    behind = proxy.partition("://")[2] or proxy
    return re.split(r"[/?#]", behind.rpartition("@")[2], maxsplit=1)[0]

"""How requests travel: through the environment's proxy only away from this machine, and with bodies of limited size.

Import it where it is needed: openai takes a second.
"""

from __future__ import annotations

import logging
import ssl
import sys
import zlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import openai

if TYPE_CHECKING:
    import httpx2 as httpx
else:  # openai 3 rides on httpx2, openai 2 (which SGLang asks for) on httpx: what is built on here is the same in both
    httpx = sys.modules["httpx2" if int(openai.VERSION.split(".")[0]) >= 3 else "httpx"]

for _name in ("openai", "httpx", "httpx2", "httpcore", "httpcore2"):
    # They write whole addresses and what servers put into headers; OPENAI_LOG turns the first one on.
    logging.getLogger(_name).setLevel(logging.WARNING)

LARGEST_BODY = 1 << 22
"""Bytes of a reply, unpacked: as JSON of many small parts it takes twenty times that in memory. The longest answers of
today's models have less than one MiB."""
_GZIP = ("gzip", "x-gzip")
_ANY_HEADER = zlib.MAX_WBITS | 32
ENCODING = "utf-8-sig"
"""Of a body, whatever its header says; a byte order mark, as some proxies put before it, is passed over."""
_CERTIFICATES = ssl.create_default_context()
"""Those that this machine trusts. Reading them takes 25 ms: once, not for each client."""
_CONNECTIONS = httpx.Limits(max_connections=1000, max_keepalive_connections=100)


class BodyRefused(Exception):
    """A body that is too large, or packed in a way that was not asked for. A request for it is in vain."""


class BoundedTransport(httpx.AsyncBaseTransport):
    """Asks for unpacked bodies, and unpacks one that is packed all the same, as far as the limit."""

    def __init__(self, proxy: str = "", largest: int = LARGEST_BODY) -> None:
        self._inner = httpx.AsyncHTTPTransport(verify=_CERTIFICATES, limits=_CONNECTIONS, proxy=proxy or None)
        self._largest = largest

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.headers["Accept-Encoding"] = "identity"
        response = await self._inner.handle_async_request(request)
        packed = response.headers.get("content-encoding", "").strip().lower()
        if packed not in ("", "identity", *_GZIP):
            await response.aclose()
            raise BodyRefused(f"the answer is packed as `{packed[:40]}`, which was not asked for")
        assert isinstance(response.stream, httpx.AsyncByteStream)
        return httpx.Response(
            response.status_code,
            headers=[_plain(name, value) for name, value in response.headers.raw if not _is_packing(name)],
            stream=_Bounded(response.stream, packed in _GZIP, self._largest),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        await self._inner.aclose()


def _is_packing(name: bytes) -> bool:
    return name.lower() == b"content-encoding"


def _plain(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    """A header as it came, but for a charset: JSON is UTF-8 (RFC 8259), and among the codecs that a server could name
    are some that take minutes, and some that are no text."""
    return name, value.partition(b";")[0] if name.lower() == b"content-type" else value


class _Bounded(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream, packed: bool, largest: int) -> None:
        self._inner, self._largest = inner, largest
        self._unpacker = zlib.decompressobj(_ANY_HEADER) if packed else None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for chunk in self._inner:
            data = self._unpacked(chunk, self._largest + 1 - read)
            read += len(data)
            if read > self._largest:
                raise BodyRefused(f"the answer is larger than {self._largest >> 20} MiB")
            yield data

    def _unpacked(self, chunk: bytes, most: int) -> bytes:
        if self._unpacker is None:
            return chunk
        try:
            return self._unpacker.decompress(chunk, most)
        except zlib.error as error:
            raise BodyRefused(f"the answer cannot be unpacked: {error}") from None

    async def aclose(self) -> None:
        await self._inner.aclose()

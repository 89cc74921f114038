"""Checks of the token, the Host header (DNS rebinding) and the Origin header of requests."""

from __future__ import annotations

import functools
import hashlib
import hmac
import ipaddress
from collections.abc import Iterable
from typing import final

from swordplay.core.arguments import short_repr
from swordplay.serving.errors import RequestError

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names under which a machine reaches itself."""
MIN_TOKEN_LENGTH = 8
"""Characters."""
CACHED_HOSTS = 64
"""Host headers whose name is cached: most clients send the same one."""


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_ip_address(host: str) -> bool:
    """Whether a host is an IP address and not a name.

    >>> is_ip_address("10.0.0.7"), is_ip_address("::1"), is_ip_address("example.com")
    (True, True, False)
    """
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


@final
class Auth:
    """Decides from the headers of a request whether the server handles it.

    Parameters
    ----------
    token
        Token that requests need if they change something, sent as ``Authorization: Bearer TOKEN``;
        None if they need none.
    hosts
        Names under which the server may be addressed; None for any name.
    allow_addresses
        Whether the server may also be addressed by any IP address. That is safe: DNS rebinding
        needs a name.
    """

    def __init__(
        self, token: str | None, hosts: Iterable[str] | None, allow_addresses: bool = False
    ) -> None:
        self._digest = None if token is None else _digest(token.encode("utf-8"))
        self._hosts: frozenset[str] | None = None
        if hosts is not None:
            self._hosts = frozenset(_host_name(host.encode("utf-8")) for host in hosts)
        self._allow_addresses = allow_addresses

    def require_host(self, host: bytes) -> None:
        """Reject a Host header that is no name of the server.

        In a DNS rebinding attack a web page lets its own name resolve to the address of this
        server, and the browser then sends requests with that name.

        Raises
        ------
        RequestError
            421.
        """
        if self._hosts is None or not host or (name := _host_name(host)) in self._hosts:
            return
        if not (self._allow_addresses and is_ip_address(name)):
            raise RequestError(
                421,
                f"this server does not answer to the host {short_repr(name)}. Use its own address, "
                "or start it with --allow-host and this name.",
            )

    def require_may_change(self, authorization: bytes, origin: bytes, host: bytes) -> None:
        """Reject a change that comes from another web page or lacks the token.

        The token is compared in constant time.

        Raises
        ------
        RequestError
            403 for another origin, 401 for the token.
        """
        if origin and origin.partition(b"://")[2] != host:
            raise RequestError(403, "another web page may not change anything here.")
        if self._digest is None:
            return
        scheme, _, token = authorization.partition(b" ")
        is_equal = hmac.compare_digest(_digest(token.strip()), self._digest)
        if not is_equal or scheme.lower() != b"bearer":
            raise RequestError(
                401, "this needs the server's token. Send it as: Authorization: Bearer TOKEN."
            )


def _digest(token: bytes) -> bytes:
    """Digest of a token: of the same length for all tokens, so that comparing reveals nothing."""
    return hashlib.sha256(token).digest()


@functools.lru_cache(maxsize=CACHED_HOSTS)
def _host_name(host: bytes) -> str:
    """Host name or address of a Host header, without the port."""
    text = host.decode("latin-1").lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.rpartition(":")[0] if text.count(":") == 1 else text

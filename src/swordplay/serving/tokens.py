"""Who may change something: whoever has the token.

And which web pages may not, though a browser would let them.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import ipaddress
from collections.abc import Iterable
from typing import final

from swordplay.core.arguments import short_repr
from swordplay.serving.refusals import Refusal

LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names of this machine for itself."""
SHORTEST = 8
"""Letters of a token at the least."""
HOSTS = 64
"""Names of hosts that are not read anew: most clients use one."""


def is_local(host: str) -> bool:
    """Whether an address is reached from this machine only.

    >>> is_local("127.0.0.1"), is_local("localhost"), is_local("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_address(host: str) -> bool:
    """Whether a host is an IP address and no name.

    >>> is_address("10.0.0.7"), is_address("::1"), is_address("example.com")
    (True, True, False)
    """
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


@final
class Gate:
    """Decides from the head of a request whether it may come in.

    Parameters
    ----------
    token
        What has to stand in ``Authorization: Bearer ...`` of everything that changes something;
        None for nothing.
    hosts
        Names under which the server is addressed, so that no web page reaches it under a name of
        its own; None for any.
    addresses
        Whether it may also be addressed by any IP address: no web page can make one lead elsewhere.
    """

    def __init__(
        self, token: str | None, hosts: Iterable[str] | None, addresses: bool = False
    ) -> None:
        self._digest = None if token is None else _digest(token.encode("utf-8"))
        self._hosts = (
            None if hosts is None else frozenset(_name(host.encode("utf-8")) for host in hosts)
        )
        self._addresses = addresses

    def require_host(self, host: bytes) -> None:
        """Refuse a request to another name: a web page whose own name was turned to this machine
        (DNS rebinding).
        """
        if self._hosts is None or not host or (name := _name(host)) in self._hosts:
            return
        if not (self._addresses and is_address(name)):
            raise Refusal(
                421,
                f"this server does not answer to the host {short_repr(name)}. Use its own address, "
                "or start it with --allow-host and this name.",
            )

    def require_token(self, authorization: bytes, origin: bytes, host: bytes) -> None:
        """Refuse a change without the token, or from another web page.

        It takes as long for any wrong token.
        """
        if origin and origin.partition(b"://")[2] != host:
            raise Refusal(403, "another web page may not change anything here.")
        if self._digest is None:
            return
        kind, _, given = authorization.partition(b" ")
        right = hmac.compare_digest(_digest(given.strip()), self._digest)
        if not right or kind.lower() != b"bearer":
            raise Refusal(
                401, "this needs the server's token. Send it as: Authorization: Bearer TOKEN."
            )


def _digest(token: bytes) -> bytes:
    """Of the same length for every token, so that a comparison tells nothing of it."""
    return hashlib.sha256(token).digest()


@functools.lru_cache(maxsize=HOSTS)
def _name(host: bytes) -> str:
    """A host without its port."""
    text = host.decode("latin-1").lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.rpartition(":")[0] if text.count(":") == 1 else text

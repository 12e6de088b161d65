"""Address check for outgoing requests: only public addresses, unless the operator allows private ones."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import Final

_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class NotAllowed(Exception):
    """Error for a host name that resolves to a private address."""


def is_public(text: str) -> bool:
    """Return True if an IP address is on the public Internet.

    If an IPv6 address embeds an IPv4 address, the IPv4 address is checked instead.
    """
    address: Address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        wrapped = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
        if address in _NAT64:
            wrapped = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if wrapped is not None:
            return is_public(str(wrapped))
    return address.is_global and not address.is_multicast and not address.is_reserved


async def address_of(host: str, port: int, *, private: bool) -> str:
    """Resolve a host name and return the IP address to connect to.

    Connect to this address instead of resolving the name again, because another lookup may return another address.

    Args:
        private: Also permit addresses that are not public.

    Raises:
        NotAllowed: If one of the addresses of the host is not public and `private` is not set.
        OSError: If the host has no address.
    """
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(one[4][0]) for one in found]
    if not addresses:
        raise OSError("no address")
    if not private and not all(is_public(address) for address in addresses):
        raise NotAllowed
    return addresses[0]

"""Address check for outgoing requests: only public addresses, unless the operator allows private ones."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import Final

_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")
_INTERNET6: Final = ipaddress.ip_network("2000::/3")
"""The only IPv6 addresses that are assigned on the Internet."""
_RESERVED: Final = tuple(
    ipaddress.ip_network(network)
    for network in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24"),
        *("203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        *("2001::/23", "2001:db8::/32", "3fff::/20"),
    )
)
"""Networks in IANA's registries of special addresses. Python's own table depends on the Python release."""
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
    if isinstance(address, ipaddress.IPv6Address) and address not in _INTERNET6:
        return False
    return not any(address in network for network in _RESERVED if network.version == address.version)


async def address_of(host: str, port: int, *, private: bool) -> str:
    """Resolve a host name and return the IP address to connect to.

    Connect to this address instead of resolving the name again, because another lookup may return another address.

    Args:
        private: Also permit addresses that are not public.

    Raises:
        NotAllowed: If one of the addresses of the host is not public and `private` is not set.
        OSError: If the host has no address.
    """
    infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(info[4][0]) for info in infos]
    if not addresses:
        raise OSError("no address")
    if not private and not all(is_public(address) for address in addresses):
        raise NotAllowed
    return addresses[0]

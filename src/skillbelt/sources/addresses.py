"""Which addresses belong to the public internet, judged on the address and not on the name that led to it.

The table is that of the IANA special-purpose registries, written out: what :mod:`ipaddress` calls global changed
between patch releases of Python. Notations such as ``0177.1`` or ``2130706433`` never get here: the resolver turns
them into an address, and that is what is judged.
"""

from __future__ import annotations

import ipaddress

__all__ = ["is_loopback", "is_public", "parsed"]

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NOT_PUBLIC = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",  # carriers' own networks
        "127.0.0.0/8",
        "169.254.0.0/16",  # link-local: the metadata service of clouds
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
_UNICAST6 = ipaddress.IPv6Network("2000::/3")
"""The only part of IPv6 that is given out; loopback, local, multicast and the rest lie outside."""

_NOT_PUBLIC6 = tuple(
    ipaddress.IPv6Network(network)
    for network in (
        "2001::/23",  # Teredo, ORCHID, benchmarks: protocols, no hosts
        "2001:db8::/32",
        "2002::/16",  # 6to4 carries any IPv4 address
        "3fff::/20",
    )
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def parsed(host: str) -> _Address | None:
    """Return a host as an address, ``None`` when it is a name (or a number in an old notation)."""
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


def is_public(host: str) -> bool:
    """Whether an address may be asked for skills without the developer's leave.

    Example:
        >>> [is_public(a) for a in ("93.184.216.34", "169.254.169.254", "::ffff:10.0.0.1", "64:ff9b::7f00:1")]
        [True, False, False, False]
    """
    address = _unwrapped(parsed(host))
    if address is None:
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC)
    return address in _UNICAST6 and not any(address in network for network in _NOT_PUBLIC6)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine by its spelling: ``localhost``, ``127.0.0.0/8``, ``::1``."""
    address = _unwrapped(parsed(host))
    return host.rstrip(".").lower() == "localhost" if address is None else address.is_loopback


def _unwrapped(address: _Address | None) -> _Address | None:
    """Return the IPv4 address that an IPv6 one stands for."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address

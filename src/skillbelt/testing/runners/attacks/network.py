"""Attacks that want to reach something, or to be reached."""

from skillbelt.testing.runners.attacks.base import Attack

__all__ = ["ATTACKS"]

_DATAGRAM_PAIR = """
import socket
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
a.sendto(b"redirected", "%(datagrams)s")
print("PWNED a datagram of a pair went elsewhere")
"""

_RING = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
params = ctypes.create_string_buffer(120)
fd = libc.syscall(425, 8, params)
print("PWNED io_uring" if fd >= 0 else os.strerror(ctypes.get_errno()))
"""

_LISTEN = """
import socket, time
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
print("LISTENING", s.getsockname()[1], flush=True)
time.sleep(1)
"""

ATTACKS = (
    Attack(
        "tcp",
        "network",
        "import socket\ns = socket.create_connection(('127.0.0.1', %(tcp)d), 2); s.sendall(b'x'); print('PWNED tcp')",
    ),
    Attack(
        "udp",
        "network",
        "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "s.sendto(b'exfil', ('127.0.0.1', %(udp)d)); print('sent')",
    ),
    Attack(
        "udp_ipv6",
        "network",
        "import socket\ns = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)\n"
        "s.sendto(b'exfil', ('::ffff:127.0.0.1', %(udp)d)); print('sent')",
    ),
    Attack(
        "socket_file",
        "network",
        "import socket\ns = socket.socket(socket.AF_UNIX); s.settimeout(2); s.connect('%(unix)s')\nprint('PWNED unix')",
    ),
    Attack(
        "abstract_socket",
        "network",
        "import socket\ns = socket.socket(socket.AF_UNIX); s.settimeout(2); s.connect('\\0%(abstract)s')\n"
        "print('PWNED abstract')",
    ),
    Attack("datagram_of_a_pair", "network", _DATAGRAM_PAIR),
    Attack("listening", "network", _LISTEN),
    Attack(
        "raw_socket",
        "network",
        "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP); print('PWNED raw')",
    ),
    Attack(
        "packet_socket",
        "network",
        "import socket\nsocket.socket(socket.AF_PACKET, socket.SOCK_RAW); print('PWNED packets')",
    ),
    Attack(
        "vsock", "network", "import socket\nsocket.socket(socket.AF_VSOCK, socket.SOCK_STREAM); print('PWNED vsock')"
    ),
    Attack(
        "netlink",
        "network",
        "import socket\ns = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); s.bind((0, 0))\n"
        "print('PWNED netlink')",
    ),
    Attack("io_uring", "network", _RING),
)

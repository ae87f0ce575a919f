"""Which requests the page's server accepts: those to this machine by its own name, and those of its own pages.

A page of some other site can have its name point to 127.0.0.1 (DNS rebinding), and would then count as the same site
for the browser. It cannot change the Host header, which still holds its own name.
"""

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

EVERYWHERE = ("", "0.0.0.0", "::")
LOCAL = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Hosts:
    """The names under which the server answers."""

    names: tuple[str, ...]
    port: int
    takes_addresses: bool
    """Whether any numeric address is one of its names: a foreign site cannot have one of ours."""

    @classmethod
    def of(cls, host: str, port: int) -> "Hosts":
        """The names of a server that listens on a host: the local ones, and its own.

        >>> Hosts.of("127.0.0.1", 5006).names
        ('localhost', '127.0.0.1', '::1')
        """
        own = (socket.gethostname().lower(), socket.getfqdn().lower()) if host in EVERYWHERE else (host.lower(),)
        return cls(tuple(dict.fromkeys((*LOCAL, *own))), port, takes_addresses=host in EVERYWHERE)

    def allows(self, header: str) -> bool:
        """Whether a Host header is one of this server.

        >>> hosts = Hosts.of("127.0.0.1", 5006)
        >>> hosts.allows("localhost:5006"), hosts.allows("[::1]:5006"), hosts.allows("evil.example:5006")
        (True, True, False)
        """
        try:
            parts = urlsplit(f"//{header}")
            name, port = parts.hostname or "", parts.port or 80
        except ValueError:  # no host and port at all
            return False
        return port == self.port and (name in self.names or (self.takes_addresses and is_address(name)))

    def refuses(self, host: str, origin: str | None) -> bool:
        """Whether a request comes under a foreign name, or from a page of another site."""
        try:
            foreign = origin is not None and urlsplit(origin).netloc.lower() != host.lower()
        except ValueError:  # brackets that are not closed
            return True
        return foreign or not self.allows(host)


def is_address(name: str) -> bool:
    """Whether a name is a numeric address.

    >>> is_address("192.168.1.7"), is_address("evil.example")
    (True, False)
    """
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def authority(name: str, port: int) -> str:
    """Host and port as they stand in an address.

    >>> authority("localhost", 5006), authority("::1", 5006)
    ('localhost:5006', '[::1]:5006')
    """
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"


REFUSAL = (
    "priorfit demo: this name is not one of this server's, so the page is not shown: another site could be behind it. "
    "Open the address that the terminal shows, or start with --host and the name you want to use; with --host 0.0.0.0, "
    "open it by the numeric address of the machine.\n"
)
"""What a refused request is answered."""

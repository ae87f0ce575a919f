"""The local server of the page."""

import errno
import socket
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import torch

from priorfit.demo.background import Background
from priorfit.demo.hosts import EVERYWHERE, Foreign, Hosts, Refusal, authority
from priorfit.demo.page import Page
from priorfit.demo.subject import Subject
from priorfit.errors import InputError
from priorfit.extras import needs_extra

with needs_extra("demo"):
    from bokeh.application import Application
    from bokeh.application.handlers.function import FunctionHandler
    from bokeh.document import Document
    from bokeh.server.server import Server
    from tornado.routing import Rule


def serve(subjects: Sequence[Subject], host: str, port: int, started: Callable[[str], None]) -> None:
    """Serve the page until Ctrl-C; ``started`` gets its address."""
    background = Background()
    server = server_for(partial(open_page, subjects, background), host, port)
    try:
        with one_core():
            server.start()
            started(address_of(server, host))
            server.io_loop.start()
    except KeyboardInterrupt:
        pass
    finally:
        server.stop()
        background.stop()


@contextmanager
def one_core() -> Iterator[None]:
    """Run torch on one core: few points gain little from more, and lose much where another process needs them."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def open_page(subjects: Sequence[Subject], background: Background, document: Document) -> None:
    """Fill the document of one browser."""
    Page(subjects, background, document)


def server_for(open_document: Callable[[Document], None], host: str, port: int) -> Server:
    """A server that listens, but does not yet run."""
    port = free_port(host, port)
    application = Application(FunctionHandler(open_document))
    hosts = Hosts.of(host, port)
    # Bokeh's own list of origins knows no IPv6; our rule is stricter than any, and comes before all that Bokeh serves.
    is_listed = host not in EVERYWHERE and ":" not in host
    origins = [f"{name}:{port}" for name in hosts.names if ":" not in name] if is_listed else [f"*:{port}"]
    server = Server({"/": application}, address=host, port=port, allow_websocket_origin=origins)
    server._tornado.default_router.rules.insert(0, Rule(Foreign(hosts), Refusal))
    return server


def free_port(host: str, port: int) -> int:
    """The port, or any free one for 0, if it is available: Bokeh would leave its socket open after an error."""
    if not 0 <= port <= 65535:
        raise InputError(f"a port is a number from 0 to 65535; got {port}. Choose another one with --port.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.create_server((host, port), family=family) as taken:
            return taken.getsockname()[1]
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise InputError(f"port {port} of {host} is in use. Choose another one with --port, 0 for any.") from error
        raise InputError(f"cannot listen on port {port} of {host}: {error}. See --host and --port.") from error


def address_of(server: Server, host: str) -> str:
    """The address that a browser on this machine opens."""
    return f"http://{authority('localhost' if host in EVERYWHERE else host, server.port or 80)}/"


def open_browser(address: str) -> None:
    """Show the page, if this machine has a browser."""
    webbrowser.open(address)

"""The local server of ``priorfit demo``: one page from memory, and what only Python can say about its points."""

import errno
import json
import socket
import socketserver
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast

import torch

from priorfit.errors import InputError, PriorfitError
from priorfit.web.answers import PythonAnswers
from priorfit.web.hosts import EVERYWHERE, REFUSAL, Hosts, authority

MOST_BYTES = 2**16
"""Bytes that a question may have: 200 points take a fifth of it."""

HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'none'",  # the page itself has the rest of its policy
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class PageServer(ThreadingHTTPServer):
    """Listens, but does not yet run; ``server_port`` is its port."""

    daemon_threads = True

    def __init__(self, page: str, answers: PythonAnswers, host: str, port: int) -> None:
        if not 0 <= port <= 65535:
            raise InputError(f"a port is a number from 0 to 65535; got {port}. Choose another one with --port.")
        self.page, self.answers = page.encode(), answers
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), PageHandler)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise InputError(
                    f"port {port} of {host} is in use. Choose another one with --port, 0 for any."
                ) from error
            raise InputError(f"cannot listen on port {port} of {host}: {error}. See --host and --port.") from error
        self.hosts = Hosts.of(host, self.server_port)
        self.address = f"http://{authority('localhost' if host in EVERYWHERE else host, self.server_port)}/"

    def server_bind(self) -> None:
        """Bind the socket; unlike `HTTPServer.server_bind`, without a question to a name server."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])


class PageHandler(BaseHTTPRequestHandler):
    """One request to a `PageServer`."""

    server_version = "priorfit"
    sys_version = ""
    timeout = 60

    def parse_request(self) -> bool:
        """Read the request, and refuse one under a foreign name or of a foreign page, whatever it asks for."""
        if not super().parse_request():
            return False
        if self._page_server.hosts.refuses(self.headers.get("Host", ""), self.headers.get("Origin")):
            self._send(HTTPStatus.FORBIDDEN, REFUSAL.encode(), "text/plain; charset=utf-8")
            return False
        return True

    @property
    def _page_server(self) -> PageServer:
        return cast(PageServer, self.server)

    def do_GET(self) -> None:  # the name that http.server looks for
        """Send the page."""
        path = self.path.partition("?")[0]
        if path in ("/", "/index.html"):
            self._send(HTTPStatus.OK, self._page_server.page, "text/html; charset=utf-8")
        elif path == "/favicon.ico":
            self._send(HTTPStatus.NO_CONTENT, b"", "image/x-icon")
        else:
            self._send(HTTPStatus.NOT_FOUND, b"There is one page: /\n", "text/plain; charset=utf-8")

    do_HEAD = do_GET

    def do_POST(self) -> None:
        """Send what Python says about the points of the page."""
        length = self.headers.get("Content-Length", "")
        if self.path != "/answer" or not length.isdecimal() or int(length) > MOST_BYTES:
            self._send(HTTPStatus.BAD_REQUEST, b"Questions go to /answer.\n", "text/plain; charset=utf-8")
            return
        try:
            said = self._page_server.answers.answer(self.rfile.read(int(length)))
        except PriorfitError as error:
            self._send(HTTPStatus.BAD_REQUEST, f"{error}\n".encode(), "text/plain; charset=utf-8")
            return
        self._send(HTTPStatus.OK, json.dumps(said).encode(), "application/json")

    def _send(self, status: HTTPStatus, content: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Type": kind, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:
        """Write nothing: the terminal shows the address alone."""


def serve(server: PageServer, started: Callable[[str], None]) -> None:
    """Serve the page until Ctrl-C; ``started`` gets its address."""
    try:
        with one_core():
            started(server.address)
            server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


@contextmanager
def one_core() -> Iterator[None]:
    """Run torch on one core: few points gain little from more, and lose much where another process needs them."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def open_browser(address: str) -> None:
    """Show the page, if this machine has a browser."""
    webbrowser.open(address)

"""The server of `priorfit demo`: whom it answers, and what it sends."""

import json
import re
import signal
import socket
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from threading import Thread

import pytest
from forked import COMMAND_LINE, forked

import priorfit as pf
from priorfit.cli.main import run
from priorfit.errors import InputError
from priorfit.web.answers import PythonAnswers
from priorfit.web.hosts import Hosts
from priorfit.web.server import MOST_BYTES, PageServer

STARTING = "Starting the demo: loading torch and the models ...\n"


@pytest.fixture
def one_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page with one model, for tests that never get to see it."""
    models = {"gp-rbf-1d": pf.load("gp-rbf-1d")}
    monkeypatch.setattr("priorfit.web.demonstration.shown_models", lambda *_: models)


def exit_code(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["priorfit", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        run()
    return int(stop.value.code or 0)


def test_the_page_is_served_and_ctrl_c_stops_it() -> None:
    words = r"The page is at (http://127\.0\.0\.1:\d+/) \(Ctrl-C stops it\)\n"
    with forked(COMMAND_LINE, "demo", "--no-browser", "--port", 0) as demo:
        address = demo.wait_for(lambda: re.fullmatch(words, demo.said()[0]))
        page = urllib.request.urlopen(address[1], timeout=60).read().decode()
        demo.send_signal(signal.SIGINT)
        done = demo.finish()
    assert "<title>priorfit" in page and not re.findall(r"(?:src|href)=", page)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith("default-src 'none'; ") and "connect-src 'self'" in policy
    assert done.returncode == 0
    assert re.fullmatch(words, done.stdout) and done.stderr == STARTING


@pytest.mark.usefixtures("one_model")
def test_a_port_in_use_is_one_line_that_names_the_flag(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert exit_code(monkeypatch, "demo", "--no-browser", "--port", port) == 1
    out, err = capsys.readouterr()
    err = err.removeprefix(STARTING)
    assert out == "" and err.count("\n") == 1
    assert err.startswith(f"error: port {port} of 127.0.0.1 is in use. Choose another one with --port")


@pytest.mark.usefixtures("one_model")
@pytest.mark.parametrize("host", ["203.0.113.7", "no.such.host.invalid"])
def test_a_host_that_is_not_this_machine_is_one_line(
    host: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(monkeypatch, "demo", "--no-browser", "--host", host) == 1
    out, err = capsys.readouterr()
    err = err.removeprefix(STARTING)
    assert out == "" and err.count("\n") == 1
    assert err.startswith(f"error: cannot listen on port 5006 of {host}") and "--host" in err


def test_a_model_that_does_not_exist_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(monkeypatch, "demo", "gp-rbf-1e", "--no-browser") == 1
    assert "no model 'gp-rbf-1e'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("listening", "host", "origin", "is_allowed"),
    [
        ("127.0.0.1", "127.0.0.1:5006", None, True),
        ("127.0.0.1", "localhost:5006", "http://localhost:5006", True),
        ("127.0.0.1", "LOCALHOST:5006", None, True),
        ("127.0.0.1", "[::1]:5006", "http://[::1]:5006", True),
        ("127.0.0.1", "localhost:5007", None, False),
        ("127.0.0.1", "localhost", None, False),
        ("127.0.0.1", "evil.example:5006", None, False),
        ("127.0.0.1", "evil.example:5006", "http://evil.example:5006", False),
        ("127.0.0.1", "localhost.evil.example:5006", None, False),
        ("127.0.0.1", "192.168.1.7:5006", None, False),
        ("127.0.0.1", "localhost:5006", "http://evil.example:5006", False),
        ("127.0.0.1", "localhost:5006", "null", False),
        ("127.0.0.1", "localhost:nonsense", None, False),
        ("my.machine", "my.machine:5006", None, True),
        ("0.0.0.0", "192.168.1.7:5006", "http://192.168.1.7:5006", True),
        ("0.0.0.0", f"{socket.gethostname()}:5006", None, True),
        ("0.0.0.0", "evil.example:5006", None, False),
        ("0.0.0.0", "192.168.1.7:5006", "http://evil.example:5006", False),
    ],
)
def test_only_the_own_page_under_an_own_name_may_talk_to_the_server(
    listening: str, host: str, origin: str | None, is_allowed: bool
) -> None:
    assert Hosts.of(listening, 5006).refuses(host, origin) != is_allowed


@contextmanager
def running(server: PageServer) -> Iterator[int]:
    """The port of a server that runs in a thread of its own."""
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=60)


@pytest.fixture
def port() -> Iterator[int]:
    """The port of a server with a small page and no models."""
    with running(PageServer("<p>page</p>", PythonAnswers({}), "127.0.0.1", 0)) as port:
        yield port


def asked(port: int, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[HTTPResponse, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, body, headers={"Host": f"localhost:{port}", **headers})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer, content


def test_a_name_that_was_rebound_to_this_machine_is_answered_403(port: int) -> None:
    """Every address of the server and every method."""
    for method, path in (("GET", "/"), ("GET", "/nowhere"), ("POST", "/answer"), ("DELETE", "/")):
        answer, content = asked(port, method, path, Host=f"evil.example:{port}")
        assert answer.status == 403 and b"--host" in content
    answer, _ = asked(port, "POST", "/answer", b"{}", Origin="http://evil.example")
    assert answer.status == 403


def test_the_page_is_all_there_is_to_get(port: int) -> None:
    answer, content = asked(port, "GET", "/?x=1")
    assert (answer.status, content) == (200, b"<p>page</p>")
    assert answer.headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert answer.headers["X-Content-Type-Options"] == "nosniff" and "Python" not in answer.headers["Server"]
    answer, content = asked(port, "HEAD", "/")
    assert (answer.status, content, answer.headers["Content-Length"]) == (200, b"", "11")
    for path in ("/../pyproject.toml", "/static/js", "/answer", "//etc/passwd"):
        assert asked(port, "GET", path)[0].status == 404
    assert asked(port, "PUT", "/", b"x")[0].status == 501


@pytest.mark.parametrize(
    ("path", "body", "headers", "words"),
    [
        ("/", b"{}", {}, b"go to /answer"),
        ("/answer", b"{}", {"Content-Length": str(MOST_BYTES + 1)}, b"go to /answer"),
        ("/answer", b"{}", {"Content-Length": "-1"}, b"go to /answer"),
        ("/answer", b"[" * 20_000, {}, b"expected a question of the page"),
        ("/answer", json.dumps({"model": "m"}).encode(), {}, b"expected a question of the page"),
    ],
)
def test_what_is_no_question_is_answered_400(
    path: str, body: bytes, headers: dict[str, str], words: bytes, port: int
) -> None:
    answer, content = asked(port, "POST", path, body, **headers)
    assert answer.status == 400 and words in content


def test_a_port_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="a number from 0 to 65535; got 70000"):
        PageServer("", PythonAnswers({}), "127.0.0.1", 70_000)

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from http.client import HTTPConnection
from queue import Queue
from threading import Thread

import pytest
from tornado.ioloop import IOLoop

from priorfit.cli.main import run
from priorfit.demo.hosts import Hosts
from priorfit.demo.server import server_for

# A test that is itself run in the background ignores Ctrl-C, and its children would too.
RUN = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from priorfit.cli.main import run
run()
"""


STARTING = "Starting the demo: loading torch, Bokeh and the models ...\n"


@pytest.fixture
def demo() -> Iterator["subprocess.Popen[str]"]:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-c", RUN, "demo", "--no-browser", "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        yield process
        process.kill()


def exit_code(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["priorfit", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        run()
    return int(stop.value.code or 0)


def test_the_page_is_served_without_any_other_host_and_ctrl_c_stops_it(demo: "subprocess.Popen[str]") -> None:
    assert demo.stdout is not None and demo.stderr is not None
    line = demo.stdout.readline()
    address = re.fullmatch(r"The page is at (http://127\.0\.0\.1:\d+/) \(Ctrl-C stops it\)\n", line)
    assert address is not None, line + demo.stderr.read()
    page = urllib.request.urlopen(address[1], timeout=60).read().decode()
    assert "priorfit demo" in page
    sources = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert sources and not [source for source in sources if "//" in source and not source.startswith(address[1])]
    demo.send_signal(signal.SIGINT)
    assert demo.wait(timeout=60) == 0
    assert (demo.stdout.read(), demo.stderr.read()) == ("", STARTING)


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


@pytest.fixture
def empty_page() -> Iterator[int]:
    """The port of a server with an empty page."""
    started: Queue[tuple[int, IOLoop]] = Queue()

    def run() -> None:
        server = server_for(lambda document: None, "127.0.0.1", 0)
        server.start()
        started.put((server.port or 0, server.io_loop))
        server.io_loop.start()
        server.stop()
        server.io_loop.close(all_fds=True)

    thread = Thread(target=run)
    thread.start()
    port, loop = started.get(timeout=60)
    yield port
    loop.add_callback(loop.stop)
    thread.join(timeout=60)


def test_a_name_that_was_rebound_to_this_machine_is_answered_403(empty_page: int) -> None:
    """Every address of the server: the page, its scripts and its websocket."""
    for path in ("/", "/static/js/bokeh.min.js", "/ws", "/nowhere"):
        connection = HTTPConnection("127.0.0.1", empty_page, timeout=60)
        connection.request("GET", path, headers={"Host": f"evil.example:{empty_page}"})
        answer = connection.getresponse()
        assert answer.status == 403 and b"--host" in answer.read()
        connection.close()
    connection = HTTPConnection("127.0.0.1", empty_page, timeout=60)
    connection.request("GET", "/static/js/bokeh.min.js", headers={"Host": f"localhost:{empty_page}"})
    assert connection.getresponse().status == 200
    connection.close()


def test_without_bokeh_the_command_says_what_to_install() -> None:
    code = f"import sys; sys.modules['bokeh'] = None\n{RUN}"
    done = subprocess.run([sys.executable, "-c", code, "demo"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install 'priorfit[demo]'" in done.stderr and done.stderr.count("\n") == 2

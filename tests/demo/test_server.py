import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator

import pytest

from priorfit.cli.main import run
from priorfit.demo.server import origins

# A test that is itself run in the background ignores Ctrl-C, and its children would too.
RUN = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from priorfit.cli.main import run
run()
"""


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
    assert (demo.stdout.read(), demo.stderr.read()) == ("", "")


def test_a_port_in_use_is_one_line_that_names_the_flag(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert exit_code(monkeypatch, "demo", "--no-browser", "--port", port) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert err.startswith(f"error: port {port} of 127.0.0.1 is in use. Choose another one with --port")


@pytest.mark.parametrize("host", ["203.0.113.7", "no.such.host.invalid"])
def test_a_host_that_is_not_this_machine_is_one_line(
    host: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(monkeypatch, "demo", "--no-browser", "--host", host) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert err.startswith(f"error: cannot listen on port 5006 of {host}") and "--host" in err


def test_a_model_that_does_not_exist_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(monkeypatch, "demo", "gp-rbf-1e", "--no-browser") == 1
    assert "no model 'gp-rbf-1e'" in capsys.readouterr().err


def test_only_the_own_page_may_talk_to_the_server() -> None:
    assert origins("127.0.0.1", 5006) == ["127.0.0.1:5006", "localhost:5006"]
    assert origins("0.0.0.0", 80) == ["*:80"]


def test_without_bokeh_the_command_says_what_to_install() -> None:
    code = f"import sys; sys.modules['bokeh'] = None\n{RUN}"
    done = subprocess.run([sys.executable, "-c", code, "demo"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install 'priorfit[demo]'" in done.stderr and done.stderr.count("\n") == 1

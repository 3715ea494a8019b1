"""The page's server, on loopback: files of the page, and views of paths.

Law of this file: requests of other pages are refused; whatever a request holds, the answer is JSON
with what is shown, or one line that says what is wrong, and the server goes on.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from threading import Lock
from typing import Any, Final
from urllib.parse import parse_qs

import msgspec

from kraftcheck import exits
from kraftcheck.exits import BadInput
from kraftcheck.explore.likelihood import as_json, of_moves
from kraftcheck.explore.played import MOVES_MAX, Paths, Played, options_from, replace_moves
from kraftcheck.explore.walking import stream_of, walk, walk_until
from kraftcheck.known_bugs.witnesses import SCHEDULES
from kraftcheck.osutil.files import SCHEDULE_MAX
from kraftcheck.picture import picture
from kraftcheck.reference.bugs.catalog import CATALOG, UnknownBug, bug as known_bug
from kraftcheck.reference.protocols import asks, parts_of
from kraftcheck.reference.runner.scripted import (
    ImpossibleMove,
    Replayed,
    recorded,
    replay,
    usual_options,
)
from kraftcheck.reference.steered.scripts import MACHINES, Script, read, write
from kraftcheck.schedules import load
from kraftcheck.screen import Screen
from kraftcheck.traces.jobs.steered import broken_promise
from kraftcheck.traces.report.html import asset
from kraftcheck.traces.report.run import render

HOST: Final = "127.0.0.1"
FILES: Final = {
    "/": ("page.html", "text/html"),
    "/explore.css": ("explore.css", "text/css"),
    "/explore.js": ("explore.js", "text/javascript"),
}
POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; "
    "form-action 'self'; frame-ancestors 'none'"
)
TIMEOUT_S: Final = 30
"""A connection that says nothing for so long is closed."""
WALK_MAX: Final = 100
PREFIXES: Final = 16
"""Of a path, before the steps where its curve jumps: somebody waits."""


class _Asked(msgspec.Struct, kw_only=True):
    """A request.

    count, role: of a walk.
    """

    machine: str = ""
    bug: str | None = None
    options: dict[str, Any] = {}
    moves: tuple[str, ...] = ()
    """The path."""
    text: str | None = None
    """A schedule in place of the path."""
    fitting: bool = False
    """Make the moves up to the first impossible one."""
    count: int = 1
    role: str = ""
    futures: int = 50
    """Of each prefix."""


class Explorer:
    """Answers the page's requests, one at a time."""

    def __init__(self, first: Script) -> None:
        self.first, self._paths, self._lock = first, Paths(), Lock()
        self._answers: Mapping[str, Callable[[_Asked], dict[str, Any]]] = {
            "/view": self._view,
            "/walk": self._walk,
            "/run": self._run,
            "/end": self._end,
            "/likelihood": self._likelihood,
        }

    def answer(self, path: str, body: bytes) -> dict[str, Any]:
        """Raises BadInput: the request cannot be answered, in one line; KeyError: no such path."""
        answer = self._answers[path]
        try:
            asked = msgspec.json.decode(body, type=_Asked)
            with self._lock:
                return answer(asked)
        except (msgspec.DecodeError, UnknownBug, ValueError, RecursionError) as error:
            raise BadInput(" ".join(str(error).split())) from None

    def timeline(self, text: str) -> str:
        """The page about the run of a schedule. Raises ValueError, BadInput as `answer`."""
        with self._lock:
            played, _ = Paths().played(read(text)[0])
            made = Replayed(played.schedule, tuple(played.moves), (), played.failure)
            run, _ = recorded(made)
        if not run.steps:
            raise BadInput("no node has taken a step yet: there is nothing to draw")
        return render(picture("the path in the explorer", run, {}, []))

    # --- Requests

    def start(self) -> dict[str, Any]:
        """What the page begins with: the path, and what may be played."""
        return {
            "text": write(self.first),
            "machines": [
                {
                    "name": name,
                    "options": usual_options(name),
                    "bugs": [
                        {"id": each.id, "title": each.title, "stored": _stored(each.id) is not None}
                        for each in _bugs(name)
                    ],
                }
                for name in MACHINES
            ],
        }

    def _script(self, asked: _Asked) -> Script:
        if asked.text is None:
            return Script(
                machine=asked.machine, bug=asked.bug, options=asked.options, moves=asked.moves
            )
        if "\n" not in asked.text.strip():
            return script_of(_bug_named(asked.text.strip()).id, None, ())
        script, lines = read(asked.text.lstrip().replace("\r\n", "\n"))
        try:
            self._paths.played(script)
        except ImpossibleMove as error:
            raise BadInput(f"line {lines[error.index]}: {error}") from None
        return script

    def _played(self, asked: _Asked) -> tuple[Played, str]:
        return self._paths.played(self._script(asked), asked.fitting)

    def _view(self, asked: _Asked) -> dict[str, Any]:
        played, why = self._played(asked)
        return {**played.view(), "note": why}

    def _walk(self, asked: _Asked) -> dict[str, Any]:
        played, _ = self._played(asked)
        self._paths.forget(played)
        walk(played, stream_of(played), min(asked.count, WALK_MAX, MOVES_MAX - len(played.moves)))
        return {**self._paths.keep(played).view(), "note": ""}

    def _run(self, asked: _Asked) -> dict[str, Any]:
        script = self._script(asked)
        if not asked.role.strip():
            raise BadInput("run until a node is what? Name a role, such as Leader")
        found = walk_until(lambda: Paths().played(script)[0], asked.role.strip())
        if found is None:
            raise BadInput(f"no walk came to where a node newly is {asked.role.strip()!r:.40}")
        return {**self._paths.keep(found).view(), "note": ""}

    def _end(self, asked: _Asked) -> dict[str, Any]:
        """What becomes of the run when all faults end now."""
        script = self._script(asked)
        found = replay(script, broken_promise).failure
        if found is None:
            said = "All faults ended: the protocol made progress, and clients saw what they may."
            return {"ended": said, "failed": False}
        return {"ended": f"{found.name}: {found.what}. {found.sentence}", "failed": True}

    def _likelihood(self, asked: _Asked) -> dict[str, Any]:
        script = self._script(asked)
        return as_json(of_moves(script, max(1, min(asked.futures, 1000)), PREFIXES))


def _bugs(machine: str) -> list[Any]:
    """The bugs that a machine may have: those of what its protocols ask."""
    parts = parts_of(machine)
    return [
        each
        for each in CATALOG
        if each.replacement is not None and any(asks(part, each.protocol) for part in parts)
    ]


def _stored(id: str) -> Path | None:
    path = SCHEDULES / f"{id}.moves"
    return path if path.is_file() else None


def script_of(what: str | None, bug: str | None, options: tuple[str, ...]) -> Script:
    """The path that the page begins with.

    Args:
        what: a protocol; a file of moves; or a bug, whose stored schedule is opened, if there is
            one. None: the protocol of the bug, or the quorum.
        bug: the bug to have.
        options: NAME=VALUE.

    Raises:
        BadInput: there is no such thing; a move is not possible.
    """
    if what is not None and what not in MACHINES and Path(what).is_file():
        if bug is not None or options:
            raise BadInput(f"{what}: the file names its bug and its options itself")
        return _of_file(Path(what))
    try:
        if what is not None and what not in MACHINES:
            named = _bug_named(what)
            if (stored := _stored(named.id)) and bug is None and not options:
                return _of_file(stored)
            what, bug = named.protocol, bug or named.id
        known = None if bug is None else known_bug(bug)
    except UnknownBug as error:
        raise BadInput(str(error)) from None
    machine = what or (known.protocol if known else MACHINES[0])
    if machine not in MACHINES:
        raise BadInput(f"{machine} is not played by moves; there are {', '.join(MACHINES)}")
    own = options_from(machine, options)
    script = Script(machine=machine, moves=(), bug=known.id if known else None, options=own)
    Played(script)
    return script


def _bug_named(what: str) -> Any:
    try:
        return known_bug(what)
    except UnknownBug as error:
        kinds = f"{what!r:.60} is neither a protocol ({', '.join(MACHINES)}) nor a file"
        raise UnknownBug(f"{kinds}; {error}") from None


def _of_file(path: Path) -> Script:
    """As much of a file's schedule as there is until a property is violated. Raises BadInput."""
    loaded = load(path)
    try:
        played, _ = Paths().played(loaded.script)
    except ImpossibleMove as error:
        raise BadInput(f"{path}: line {loaded.lines[error.index]}: {error}") from None
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None
    return replace_moves(loaded.script, played.moves)


class _Handler(BaseHTTPRequestHandler):
    explorer: Explorer
    timeout = TIMEOUT_S
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if not self._is_ours():
            return
        if self.path == "/start":
            self._send(msgspec.json.encode(self.explorer.start()), "application/json")
        elif self.path == "/kit.css":
            self._send(asset("history.css").encode(), "text/css")
        elif self.path in FILES:
            name, kind = FILES[self.path]
            content = resources.files("kraftcheck.explore").joinpath("page", name).read_bytes()
            self._send(content, kind)
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "there is no such page")

    def do_POST(self) -> None:
        if not self._is_ours():
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > SCHEDULE_MAX:
            self.close_connection = True
            self._refuse(HTTPStatus.BAD_REQUEST, f"a request has at most {SCHEDULE_MAX:,} bytes")
            return
        body = self.rfile.read(int(length))
        try:
            if self.path == "/timeline":
                text = parse_qs(body.decode("utf-8", "replace")).get("text", [""])[0]
                page = self.explorer.timeline(text.replace("\r\n", "\n"))
                self._send(page.encode(), "text/html", policy=None)
            else:
                answer = self.explorer.answer(self.path, body)
                self._send(msgspec.json.encode(answer), "application/json")
        except KeyError:
            self._refuse(HTTPStatus.NOT_FOUND, "there is no such page")
        except (BadInput, ValueError) as error:
            self._refuse(HTTPStatus.BAD_REQUEST, str(error))
        except OSError:
            raise
        except Exception as error:  # The session survives what is a defect of ours.
            said = f"a defect of kraftcheck: {type(error).__name__}: {error}"
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, said)

    def _is_ours(self) -> bool:
        """Refuses other pages' requests, and names that were made to lead to this machine."""
        assert isinstance(self.server, ThreadingHTTPServer)
        own = {f"{name}:{self.server.server_port}" for name in (HOST, "localhost")}
        origin = self.headers.get("Origin")
        ours = self.headers.get("Host") in own and (
            origin in (None, "null") or origin.removeprefix("http://") in own
        )
        if not ours:
            self.close_connection = True
            self._refuse(HTTPStatus.FORBIDDEN, "only the page of this server may ask it")
        return ours

    def _refuse(self, status: HTTPStatus, line: str) -> None:
        said = msgspec.json.encode({"error": " ".join(line.split())[: exits.SAID_MAX]})
        self._send(said, "application/json", status)

    def _send(
        self,
        content: bytes,
        kind: str,
        status: HTTPStatus = HTTPStatus.OK,
        policy: str | None = POLICY,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        if policy:
            self.send_header("Content-Security-Policy", policy)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the page shows what went wrong."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser went away in the middle of an answer: nobody is left to hear of it."""


def server(first: Script, port: int) -> ThreadingHTTPServer:
    """The server, which listens. Raises BadInput: the port is taken."""
    handler = type("Handler", (_Handler,), {"explorer": Explorer(first)})
    try:
        return _Server((HOST, port), handler)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise BadInput(
            f"port {port} is in use: choose another with --port, or 0 for any free one"
        ) from None


def explore(
    what: str | None, bug: str | None, options: tuple[str, ...], port: int, screen: Screen
) -> int:
    """Serves the page until it is interrupted. Raises BadInput as `script_of` and `server`."""
    serving = server(script_of(what, bug, options), port)
    address = f"http://{HOST}:{serving.server_port}/"
    screen.line(f"Open {address} in a browser. Ctrl-C ends the server.")
    screen.document({"address": address})
    try:
        with serving, screen.waiting():
            serving.serve_forever()
    except (exits.Interrupted, KeyboardInterrupt):
        pass
    return exits.HOLDS

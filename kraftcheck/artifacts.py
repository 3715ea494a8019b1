"""The folder a command writes to: whose it is, and what is merged into its summary.json.

Laws of this file:

* A folder is used if it is new, empty or ours; a folder with other people's files is refused.
* A file is replaced whole, in one rename, or stays as it was.
* What is read again is sealed (traces/sealed.py): a damaged summary is named and never merged into.
* summary.json is merged: a verb replaces what it has found before and leaves the rest. `verdict` is
  the worst of the parts' verdicts, and `reasons` are theirs, one behind the other.
"""

from __future__ import annotations

import fcntl
import json
import platform
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from kraftcheck import exits
from kraftcheck.exits import BadInput
from kraftcheck.osutil.files import read_bytes, replace_file
from kraftcheck.traces.sealed import Unsealed, sealed, unsealed

SUMMARY = "summary.json"
SPECS = "specs.json"
# Says that a folder is ours from the first moment on, before there is any result in it.
MARK = ".kraftcheck"
OURS = (MARK, SUMMARY, SPECS, "manifest.json")
S = TypeVar("S", bound=msgspec.Struct)


def stored(path: Path, of: type[S]) -> S:
    """What stands in a JSON file of the kit's own; without one, nothing yet.

    Raises BadInput: it is damaged.
    """
    try:
        return msgspec.json.decode(read_bytes(path), type=of)
    except FileNotFoundError:
        return of()
    except msgspec.DecodeError as error:
        raise BadInput(f"{path} is damaged: {error}") from None


def claim(folder: Path) -> Path:
    """Make the folder if need be, and see that it can be written to.

    Raises BadInput when it holds files but none of ours, or is no folder; OSError when it cannot be
    written to.
    """
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file; name a folder to write to")
    folder.mkdir(parents=True, exist_ok=True)
    present = sorted(path.name for path in folder.iterdir())
    if present and not any(name in present for name in OURS):
        raise BadInput(f"{folder} holds {present[0]}, which is not ours: name a new folder")
    (folder / MARK).touch()
    return folder


def check_writable(folder: Path) -> None:
    """Before long work. Raises BadInput: nothing can be written to the folder."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        said = f"{folder}: {error.strerror}: what is found is written there; give it a copy"
        raise BadInput(said) from None


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Nobody else writes runs to a claimed folder meanwhile; whoever ends lets go of it.

    Raises BadInput: somebody does.
    """
    with (folder / MARK).open("a") as mark:
        try:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadInput(
                f"{folder}: another command is writing runs there; wait until it has ended, or "
                "name another folder"
            ) from None
        yield


def checkout() -> Path:
    """The root of the checkout that runs, for what is stored in the kit itself.

    Raises BadInput in an installation, into which nothing is written.
    """
    root = Path(__file__).resolve().parent.parent
    if not (root / "pyproject.toml").is_file():
        raise BadInput(f"this writes into the kit, and {root} is no checkout: run it from one")
    return root


def write_whole(path: Path, content: str | bytes) -> None:
    """The file with this content, or as it was."""
    data = content.encode() if isinstance(content, str) else content
    replace_file(path, data, durable=True)


def write_json(path: Path, value: object) -> None:
    write_whole(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


def write_sealed(path: Path, value: Mapping[str, Any]) -> None:
    """The same for what is read again."""
    write_whole(path, sealed(json.dumps(value, indent=2, allow_nan=False).encode()).decode())


def read_json(path: Path) -> dict[str, Any]:
    """The object in a sealed file; {} if there is none. Raises BadInput for one that is damaged."""
    try:
        value: dict[str, Any] = json.loads(unsealed(read_bytes(path)))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from None
    except Unsealed as error:
        raise BadInput(f"{path}: {error}: remove it") from None
    return value


@dataclass(frozen=True)
class Part:
    """What one verb has found, for summary.json.

    seeds, versions: merged into those at the top.
    """

    name: str
    verdict: str
    """Holds, violated or unknown."""
    seconds: float
    reasons: Sequence[str] = ()
    """Why it is not holds."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What stands at the top of the summary, such as runs and steps."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Whatever else, under `parts`."""
    stages: Mapping[str, float] = field(default_factory=dict)
    """The seconds of its stages, if it has several."""
    seeds: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)


def merge(folder: Path, part: Part, outdated: Collection[str] = ()) -> dict[str, Any]:
    """Merge a part into the folder's summary.json; returns the whole.

    outdated: parts that were found of something that is no longer there; with them go all facts.
    """
    with _locked(folder):
        before = without_parts(read_json(folder / SUMMARY), outdated)
        merged = merged_summary(before, part)
        write_sealed(folder / SUMMARY, merged)
    return merged


def merge_versions(folder: Path, versions: Mapping[str, str]) -> None:
    """Note what a verb is about to work with, before it has found anything."""
    with _locked(folder):
        summary = read_json(folder / SUMMARY)
        summary["versions"] = {**summary.get("versions", {}), **versions}
        write_sealed(folder / SUMMARY, summary)


def without_parts(summary: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """The summary as if these parts had never been; as it is when it has none of them."""
    parts: dict[str, Any] = summary.get("parts", {})
    if not set(names) & set(parts):
        return dict(summary)
    kept = {name: part for name, part in parts.items() if name not in names}
    return {"parts": kept, **{key: summary.get(key, {}) for key in ("seeds", "versions")}}


def merged_summary(before: Mapping[str, Any], part: Part) -> dict[str, Any]:
    """The summary with this part in it, in the place of what the verb had found before."""
    seconds = round(part.seconds, 3)
    own: dict[str, Any] = {"verdict": part.verdict, "reasons": list(part.reasons)}
    own |= {"seconds": seconds, "stages": dict(part.stages) or {part.name: seconds}, **part.details}
    parts = {**before.get("parts", {}), part.name: own}
    codes = [exits.code_of(each["verdict"]) for each in parts.values()]
    known = {"kraftcheck": version(), "Python": platform.python_version(), **part.versions}
    return {
        **before,
        **part.facts,
        "verdict": exits.VERDICTS[exits.worst(codes)],
        # Runs that violate an invariant are found by `simulate` and by `conform`: say it once.
        "reasons": list(dict.fromkeys(r for each in parts.values() for r in each["reasons"])),
        "seconds": {stage: s for each in parts.values() for stage, s in each["stages"].items()},
        "seeds": {**before.get("seeds", {}), **part.seeds},
        "versions": {**before.get("versions", {}), **known},
        "parts": parts,
    }


def version() -> str:
    """The version of kraftcheck as set-up installed it."""
    from importlib import metadata

    try:
        return metadata.version("kraftcheck")
    except metadata.PackageNotFoundError:
        return "not installed"


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield

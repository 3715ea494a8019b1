"""Files as they are read: regular, whole, and bounded."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from kraftcheck.osutil import files


def refusal(path: Path, most: int = files.FILE_MAX) -> tuple[int | None, str, str]:
    with pytest.raises(OSError) as caught:
        files.read_bytes(path, most)
    return caught.value.errno, str(caught.value.strerror), str(caught.value.filename)


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "a"
    data = os.urandom(100_000)
    path.write_bytes(data)
    assert files.read_bytes(path) == data
    (tmp_path / "link").symlink_to("a")
    assert files.read_bytes(tmp_path / "link") == data
    with files.open_file(path) as file:
        # Not left as it was opened, since there is nothing to wait for.
        assert file.read(3) == data[:3]


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path / "pipe")[1] == "is a pipe: only regular files are read"
    assert refusal(Path(os.devnull)) == (
        errno.EINVAL,
        "is a device: only regular files are read",
        os.devnull,
    )
    assert refusal(tmp_path)[0] == errno.EISDIR
    assert refusal(tmp_path / "none")[1:] == (os.strerror(errno.ENOENT), str(tmp_path / "none"))


def test_a_pipe_that_takes_a_files_place_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the first look and opening; it would be waited for."""
    path, other = tmp_path / "a", tmp_path / "b"
    other.write_bytes(b"")
    os.mkfifo(path)
    stat = os.stat
    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", lambda _, **more: stat(other, **more))
        with pytest.raises(OSError, match="is a pipe: only regular files are read"):
            files.read_bytes(path)


def test_size_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 2048)
    assert len(files.read_bytes(path, 2048)) == 2048
    assert refusal(path, 2047)[:2] == (errno.EFBIG, "is larger than 1 KiB, the most that is read")
    # Without reading it: there is no such memory.
    os.truncate(path, 1 << 40)
    assert refusal(path)[1] == "is larger than 2 GiB, the most that is read"


def test_lines_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"12\n1234\n\n12345")
    with files.open_file(path) as file:
        assert list(files.lines(file, path, 5)) == [b"12\n", b"1234\n", b"\n", b"12345"]
    with (
        files.open_file(path) as file,
        pytest.raises(OSError, match=r"line 2 is longer than 4 bytes") as caught,
    ):
        list(files.lines(file, path, 4))
    assert caught.value.filename == str(path)


def test_text_has_one_end_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes("é\r\nb\rc\n".encode())
    assert files.read_text(path) == "é\nb\nc\n" == path.read_text("utf-8")
    path.write_bytes(b"\xff")
    assert files.read_text(path, errors="replace") == "\N{REPLACEMENT CHARACTER}"
    with pytest.raises(UnicodeDecodeError):
        files.read_text(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "[" * 5000, "too deeply nested"),
        ("a." * files.TOML_LINE_MAX + "b = 1", "line 1 is longer than 10,000 characters"),
        ("a = " + "9" * 5000, "digits"),
        ("a = ", "Invalid value"),
    ],
)
def test_bad_toml_is_a_value_error(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=said):
        files.read_toml(path)


def test_toml_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("[a]\r\nb = 1\n")
    assert files.read_toml(path) == {"a": {"b": 1}}

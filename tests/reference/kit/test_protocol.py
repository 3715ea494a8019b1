"""What is made from a protocol's declarations."""

import subprocess
import sys

THREADS_THAT_READ = """
import sys, threading
import msgspec
from reference.kit.protocol import decoder_of

sys.setswitchinterval(1e-6)
for i in range(150):
    parts = [msgspec.defstruct(f"Part{i}", [("a", tuple[int, ...])]) for i in range(12)]
    row = msgspec.defstruct("Row", [(part.__name__, tuple[part, ...]) for part in parts])
    data = msgspec.msgpack.encode(row(*[(part((1,)),) for part in parts]))
    together = threading.Barrier(3)
    read = []

    def reader():
        together.wait()
        read.append(MAKE(row)(data))

    threads = [threading.Thread(target=reader) for _ in range(3)]
    [each.start() for each in threads]
    [each.join() for each in threads]
    assert len(read) == 3
"""


def read_in_threads(make: str) -> int:
    """The exit code of a process whose threads make decoders of the same new types at once."""
    program = THREADS_THAT_READ.replace("MAKE", make)
    return subprocess.run([sys.executable, "-c", program], check=False).returncode


def test_threads_may_read_rows_of_a_kind_that_nobody_has_read() -> None:
    assert read_in_threads("decoder_of") == 0


def test_without_a_lock_msgspec_ends_the_process() -> None:
    """When it does no longer, `decoder_of` needs no lock."""
    assert read_in_threads("(lambda of: msgspec.msgpack.Decoder(of).decode)") != 0

"""Each format is told by its content, and read as what it means."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kraftcheck.given import is_trace
from kraftcheck.traces.checkers.check import check_history
from kraftcheck.traces.formats import detect, shiviz, trace
from kraftcheck.traces.formats.edn import Keyword, Symbol, Tagged, read_forms
from kraftcheck.traces.history import Annotation, History, HistoryError
from kraftcheck.traces.values import Map, edn_text
from tests.traces.formats import texts as texts

GOLDEN = Path(__file__).parents[2] / "conformance" / "golden"


def write(folder: Path, text: str) -> Path:
    path = folder / "history"
    path.write_text(text, encoding="utf-8", newline="")
    return path


def table(history: History) -> list[tuple[object, ...]]:
    return [(o.process, o.f, o.key, o.argument, o.result, o.outcome) for o in history.operations]


# -- Detection


@pytest.mark.parametrize("name", texts.TEXTS)
def test_a_format_is_told_by_its_content(name: str, tmp_path: Path) -> None:
    text, format, model = texts.TEXTS[name]
    history = detect.read(write(tmp_path, text))
    assert (history.format, history.model) == (format, model)


@pytest.mark.parametrize("name", texts.TEXTS)
def test_line_ends_and_blank_lines_do_not_matter(name: str, tmp_path: Path) -> None:
    plain = detect.read(write(tmp_path, texts.TEXTS[name][0]))
    windows = texts.TEXTS[name][0].replace("\n", "\r\n") + "\r\n\r\n"
    assert table(detect.read(write(tmp_path, "\ufeff" + windows))) == table(plain)


@pytest.mark.parametrize(
    "text",
    [
        "# A title\n\nSome prose.\n",
        '{\n "etcd.log": {"model": "kv"}\n}\n',
        "a,b\n1,2\n",
        "{}",
        "[]",
    ],
)
def test_what_is_no_history_is_told(text: str, tmp_path: Path) -> None:
    with pytest.raises(detect.Unrecognised, match="in none of the formats clients") as told:
        detect.read(write(tmp_path, f"\n{text}"))
    begin = text.splitlines()[0]
    assert told.value.line == 2 and told.value.reason.endswith(f"begins with {begin}")


def test_what_cannot_be_printed_is_told_as_an_escape(tmp_path: Path) -> None:
    with pytest.raises(detect.Unrecognised, match=r"begins with \\x00\\x1b\[31mred$"):
        detect.read(write(tmp_path, "\0\x1b[31mred\n"))


@pytest.mark.parametrize(
    ("data", "what"),
    [(b"\x1f\x8b\0\0", "compressed"), (b"JEPSEN\0", "export history.edn")],
)
def test_a_binary_file_is_told_what_to_do(data: bytes, what: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(detect.Unrecognised, match=what):
        detect.read(tmp_path / "file")


def test_two_formats_in_one_file_are_not_guessed(tmp_path: Path) -> None:
    path = write(tmp_path, texts.LOG + texts.REGISTER)
    with pytest.raises(HistoryError, match="could be loglines or edn: say which with --format"):
        detect.read(path)
    with pytest.raises(HistoryError, match="INFO is no operation"):
        detect.read(path, "jepsen")


# -- What real files contain: a few lines of each in wild/

WILD = {
    "history.txt": ("loglines", "register"),
    "workers.log": ("loglines", "register"),
    "dashes.log": ("loglines", "cas-register"),
    "txn.log": ("loglines", "list-append"),
    "list.edn": ("knossos", "register"),
    "exception.edn": ("jepsen", "register"),
    "compact.json": ("jsonlines", "register"),
    "pretty.json": ("jsonlines", "register"),
    "order.json": ("jsonlines", "register"),
    "nemesis.json": ("jsonlines", None),
    "comments.edn": ("knossos", "register"),
    "tall.edn": ("knossos", "register"),
    "bank.edn": ("knossos", "bank"),
    "kv.json": ("jsonlines", "kv"),
}


@pytest.mark.parametrize("name", WILD)
def test_what_real_files_contain_is_read(name: str) -> None:
    history = detect.read(Path(__file__).with_name("wild") / name)
    assert (history.format, history.model) == WILD[name]
    assert len(history.operations) in (1, 2)


def test_every_wild_file_is_read() -> None:
    assert {path.name for path in Path(__file__).with_name("wild").iterdir()} == set(WILD)


# -- Meaning


def test_log_lines(tmp_path: Path) -> None:
    noise = "2024-01-01 12:00:00,5{GMT} WARN [main] org.apache.zk: 3 sessions :expired\n"
    history = detect.read(
        write(tmp_path, noise + texts.LOG.replace("jepsen.util - 0", "jepsen.util: 0"))
    )
    assert table(history) == [
        (0, "read", None, None, None, "ok"),
        (1, "write", None, 3, None, "indeterminate"),
        (2, "cas", None, (3, 4), None, "fail"),
        (0, "read", None, None, None, "fail"),
    ]
    assert [o.line for o in history.operations] == [2, 3, 7, 8]
    assert history.operations[1].error == ":timed-out" and history.time_unit == "event"


def test_a_register_with_faults(tmp_path: Path) -> None:
    history = detect.read(write(tmp_path, texts.REGISTER))
    assert table(history) == [
        (0, "write", None, 1, None, "ok"),
        (1, "read", None, None, 1, "ok"),
        (0, "cas", None, (1, 2), None, "fail"),
    ]
    assert history.annotations == (
        Annotation(at=13, until=17, kind="fault", label='partition {"n1" #{"n2"}}'),
    )
    assert history.operations[2].error == "[:code 100]"


def test_kafka_transactions_are_groups(tmp_path: Path) -> None:
    history = detect.read(write(tmp_path, texts.KAFKA))
    assert table(history) == [
        (0, "append", "0", 1, 0, "ok"),
        (1, "subscribe", None, ("0", "1"), None, "ok"),
        (1, "fetch", "0", None, ((0, 1),), "indeterminate"),
        (1, "append", "1", 2, None, "indeterminate"),
        (2, "fetch", "0", None, ((0, 1),), "ok"),
        (2, "fetch", "1", None, (), "ok"),
        (3, "crash", None, (), None, "indeterminate"),
    ]
    assert [o.group for o in history.operations] == [0, 1, 2, 2, 3, 3, 4]


def test_equal_times_keep_the_order_of_lines(tmp_path: Path) -> None:
    text = texts.REGISTER.replace(":time 15", ":time 14").replace(":time 16", ":time 14")
    times = [(o.invoked, o.completed) for o in detect.read(write(tmp_path, text)).operations]
    assert times == [(10, 14), (12, 15), (16, 17)]


def test_independent_keys(tmp_path: Path) -> None:
    text = (
        "{:process 0, :type :invoke, :f :read, :value [3 nil]}\n"
        "{:process 0, :type :ok, :f :read, :value [3 5]}\n"
        "{:process 0, :type :invoke, :f :cas, :value [4 [1 2]]}\n"
        "{:process 0, :type :info, :f :cas, :value [4 [1 2]]}\n"
    )
    assert table(detect.read(write(tmp_path, text))) == [
        (0, "read", "3", None, 5, "ok"),
        (0, "cas", "4", (1, 2), None, "indeterminate"),
    ]


def test_a_process_that_timed_out_and_went_on_is_two(tmp_path: Path) -> None:
    text = (
        "{:process 0, :type :invoke, :f :write, :value 1}\n"
        "{:process 0, :type :info, :f :write, :value 1}\n"
        "{:process 0, :type :invoke, :f :write, :value 2}\n"
        "{:process 7, :type :invoke, :f :read, :value nil}\n"
        "{:process 0, :type :ok, :f :write, :value 2}\n"
    )
    assert [o.process for o in detect.read(write(tmp_path, text)).operations] == [0, 8, 7]


def test_two_values_at_one_offset_are_for_the_checker(tmp_path: Path) -> None:
    """What clients of a log that lost its tail do see is no damage of the recording."""
    text = texts.KAFKA.splitlines(keepends=True)[:2]
    other = [line.replace(":process 0", ":process 9").replace(" 1]", " 2]") for line in text]
    other = [line.replace(":index 0", ":index 2").replace(":index 1", ":index 3") for line in other]
    other = [line.replace(":time 5", ":time 7").replace(":time 6", ":time 8") for line in other]
    history = detect.read(write(tmp_path, "".join(text + other)))
    assert [(o.argument, o.result) for o in history.operations] == [(1, 0), (2, 0)]


def test_a_queue_is_drained_in_one_operation(tmp_path: Path) -> None:
    text = (
        "{:process 0, :type :invoke, :f :enqueue, :value 1}\n"
        "{:process 0, :type :ok, :f :enqueue, :value 1}\n"
        "{:process 0, :type :invoke, :f :drain, :value nil}\n"
        "{:process 0, :type :ok, :f :drain, :value [1 2]}\n"
    )
    assert [(o.f, o.result, o.group) for o in detect.read(write(tmp_path, text)).operations] == [
        ("enqueue", None, 0),
        ("dequeue", 1, 1),
        ("dequeue", 2, 1),
        ("dequeue", None, 1),
    ]


def test_a_leader_is_of_the_key_that_operations_name(tmp_path: Path) -> None:
    epoch = "{:process :nemesis, :type :info, :f :leader-epoch, :value nil, :key %s}\n"
    history = detect.read(write(tmp_path, texts.REGISTER + epoch % "1" + epoch % '"1"'))
    assert [each.key for each in history.annotations if each.kind == "leader epoch"] == ["1", '"1"']


@pytest.mark.parametrize(
    ("kind", "answers", "verdict"),
    [
        ("info", (2,), "holds"),
        ("info", (1, 2), "holds"),
        ("info", (None,), "holds"),
        ("info", (2, 1), "violated"),
        ("fail", (2,), "violated"),
        ("fail", (1,), "holds"),
    ],
)
def test_a_drain_without_an_answer_took_some_or_none(
    kind: str, answers: tuple[int | None, ...], verdict: str, tmp_path: Path
) -> None:
    events: list[tuple[int, str, str, int | None]] = []
    events += [(0, "invoke", "enqueue", 1), (0, "ok", "enqueue", 1)]
    events += [(0, "invoke", "enqueue", 2), (0, "ok", "enqueue", 2)]
    events += [(1, "invoke", "drain", None), (1, kind, "drain", None)]
    for answer in answers:
        events += [(0, "invoke", "dequeue", None), (0, "ok", "dequeue", answer)]
    text = "".join(
        f"{{:process {process}, :type :{type}, :f :{f}, :value {edn_text(value)}}}\n"
        for process, type, f, value in events
    )
    assert check_history(detect.read(write(tmp_path, text))).verdict == verdict


# -- EDN

A = Keyword(":a")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("nil true false", [None, True, False]),
        ("1 -2 +3 4N 0x1f 2.5 1e3 2M 1/2", [1, -2, 3, 4, 31, 2.5, 1000.0, 2.0, Symbol("1/2")]),
        (
            r'"a\n\"\\\u00e9\ud83d\ude00\101" \a \newline \u00e9',
            ['a\n"\\é😀A', *map(Symbol, ("\\a", "\\newline", "\\é"))],
        ),
        ("#{1 2} {:a [1 (2)]}", [frozenset({1, 2}), {A: (1, (2,))}]),
        ('#inst "2020" #a/b #c 1', [Tagged("inst", "2020"), Tagged("a/b", Tagged("c", 1))]),
        ("1 #_ 2 #_ #_ 3 4 5 {:a #_ 1 2}", [1, 5, {A: 2}]),
        ("1 ; [ two\n,,3", [1, 3]),
        ("[1 [2] 3]", [1, (2,), 3]),
        ("{{:a 1} 2}", [{Map(frozenset({(A, 1)})): 2}]),
    ],
)
def test_edn(text: str, values: list[object]) -> None:
    assert [value for _, value in read_forms(text, "file")] == values


def test_forms_know_their_lines() -> None:
    text = '[1\n\n"two\nlines" ; more\n 3\n #_ 4 {\n5 6}]'
    assert [line for line, _ in read_forms(text, "file")] == [1, 3, 5, 6]


def test_keywords_are_no_strings_of_the_writer() -> None:
    ((_, value),) = read_forms('[[:a ":a" a]]', "file")
    assert [type(each) for each in value][:2] == [Keyword, str]


# -- Our own traces


def test_a_trace_is_read_run_by_run() -> None:
    assert is_trace(GOLDEN)
    runs = dict(trace.histories(GOLDEN))
    assert trace.history(GOLDEN, 2).operations == runs[2].operations
    operations = [o for o in runs[0].operations if o.outcome == "ok" and o.f == "fetch"]
    for operation in operations:
        assert all(value != trace.CONTROL for _, value in operation.result)
        assert operation.end is not None and operation.end >= operation.argument
    with pytest.raises(HistoryError, match="has no run 99"):
        trace.history(GOLDEN, 99)


def test_a_damaged_trace_is_one_line(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN, tmp_path / "trace")
    (part,) = (tmp_path / "trace").glob("part-000000000-*.runs.parquet")
    part.write_bytes(part.read_bytes()[:-9])
    with pytest.raises(HistoryError, match="damaged: sha256 is") as caught:
        list(trace.histories(tmp_path / "trace"))
    assert caught.value.path == str(part)


def test_a_run_says_who_led_and_who_was_down() -> None:
    labels = {a.label: a for a in trace.history(GOLDEN, 0).annotations}
    assert labels["epoch 1: node 0 leads"].kind == "leader epoch"
    for annotation in labels.values():
        assert annotation.until is None or annotation.until >= annotation.at


# -- ShiViz


@pytest.mark.parametrize("run", range(4))
def test_shiviz_of_a_run_is_in_causal_order(run: int) -> None:
    """Each event follows the one before it on its host, and knows no event that is to come."""
    lines = "".join(shiviz.write_run(GOLDEN, run)).splitlines()[2:]
    seen: dict[str, int] = {}
    foreign = 0
    for line in lines[::2]:
        host, _, clock_text = line.partition(" ")
        clock = msgspec.json.decode(clock_text)
        assert clock[host] == seen.get(host, 0) + 1
        assert all(time <= seen.get(other, 0) for other, time in clock.items() if other != host)
        seen[host] = clock[host]
        foreign += len(clock) > 1
    assert len(lines) == 2 * sum(seen.values()) and foreign > 10


def test_shiviz_hosts_of_a_cluster_are_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Node 1 of the quorum, node 1 of a partition, and its controller hear nothing of each other
    but by messages.
    """

    def step(node: int, component: int, action: str) -> trace.Step:
        row = {"role": "Leader", "epoch": 4} if component == trace.QUORUM else {}
        return trace.Step(7, node, action, {}, row, (1, {"type": "Tick"}), (), component)

    steps = [step(1, trace.QUORUM, "A"), step(1, 1, "B"), step(shiviz.CONTROLLER, 1, "C")]
    monkeypatch.setattr(trace, "steps", lambda directory, run: iter(steps))
    assert "".join(shiviz.write_run(GOLDEN, 0)).splitlines()[2:] == [
        'controller-1 {"controller-1":1}',
        "0.000007 s A; Leader in epoch 4; sends 0",
        'node-1 {"node-1":1}',
        "0.000007 s B; sends 0",
        'controller {"controller":1}',
        "0.000007 s C; sends 0",
    ]


def test_shiviz_clocks_are_what_clients_can_know(tmp_path: Path) -> None:
    lines = "".join(shiviz.write(detect.read(write(tmp_path, texts.REGISTER)))).splitlines()
    assert lines[:2] == [shiviz.PARSER, ""]
    assert lines[2:] == [
        'process-0 {"process-0":1}',
        "write 1",
        'process-1 {"process-1":1}',
        "read",
        'process-0 {"process-0":2}',
        "write 1 -> ok",
        'process-1 {"process-1":2}',
        "read -> ok 1",
        'process-0 {"process-0":3,"process-1":2}',
        "cas [1 2]",
        'process-0 {"process-0":4,"process-1":2}',
        'cas [1 2] -> fail "[:code 100]"',
    ]


SENDS = (
    "{:process 0, :type :invoke, :f :send, :value [[:send 0 %s]]}\n"
    "{:process 0, :type %s, :f :send, :value [[:send 0 %s]]}\n"
)
PLACED = SENDS % ("[nil 7]", ":ok", "[3 7]")


@pytest.mark.parametrize(
    ("text", "argument", "result"),
    [
        (SENDS % ("[nil 1]", ":ok", "[0 [nil 1]]"), (None, 1), 0),
        (SENDS % ("[nil 1]", ":ok", "[nil 1]"), (None, 1), None),
        (SENDS % ("[nil 1]", ":info", "[nil 1]"), (None, 1), None),
        (SENDS % ("[nil nil 1]", ":ok", "[4 [nil nil 1]]"), (None, None, 1), 4),
        (PLACED, 7, 3),
        (SENDS % ("[nil 1]", ":info", "[nil 1]") + PLACED, 1, None),
        (SENDS % ("[nil 1]", ":ok", "[nil 1]") + PLACED, 1, None),
    ],
)
def test_a_value_that_is_a_list_may_begin_with_nil(
    text: str, argument: Any, result: int | None, tmp_path: Path
) -> None:
    """It is the place for an offset only where clients of the history send so."""
    path = tmp_path / "history.edn"
    path.write_text(text)
    first = detect.read(path).operations[0]
    assert (first.argument, first.result) == (argument, result)


def test_times_up_to_the_farthest_are_judged(tmp_path: Path) -> None:
    """Checkers double them, which fits just so."""
    path = tmp_path / "history.edn"
    lines = [
        "{:process 0, :type :invoke, :f :send, :value [[:send 0 1]], :time %d}",
        "{:process 0, :type :ok, :f :send, :value [[:send 0 [0 1]]], :time %d}",
        "{:process 0, :type :invoke, :f :poll, :value [[:poll]], :time %d}",
        "{:process 0, :type :ok, :f :poll, :value [[:poll {0 [[0 1]]}]], :time %d}",
    ]
    for first in (-(1 << 62), 0, (1 << 62) - 9):
        times = [first + at for at in range(3)]
        path.write_text("\n".join(lines) % (*times, (1 << 62) - 1))
        assert check_history(detect.read(path)).verdict == "holds"

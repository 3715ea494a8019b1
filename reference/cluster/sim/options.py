"""What a cluster's run is made of, and what may go wrong in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from kraftcheck.reference.cluster.topics import DEFAULT, NewTopic, TopicError, Topics
from kraftcheck.reference.cluster.types import ClusterConstants
from kraftcheck.reference.partition.directories.types import Constants as DirectoryConstants
from kraftcheck.reference.partition.moving.types import Constants as MovingConstants
from kraftcheck.reference.partition.sim import options as partition_options
from kraftcheck.reference.partition.sim.options import PartitionOptions
from kraftcheck.reference.partition.types import PartitionConstants
from kraftcheck.reference.quorum.sim import faults
from kraftcheck.reference.quorum.snapshots.sim.changes import constants_of as quorum_of
from kraftcheck.reference.sim.choices import Chooser
from kraftcheck.reference.sim.options import OptionSet, Palette

MOVING_BROKERS = 4
"""So many at least, where replicas move and it was not said how many."""
MOST_PARTITIONS = 8
MOST_DIRECTORIES = 4
FAILURES: Final = 4
"""So often directories fail, where there are several and it was not said how often."""
OF_QUORUM = "quorum_"
"""Options of the quorum are requested under their names behind this; those of brokers, network and
clients under their own."""


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """How large the cluster is, and what holds of it as a whole."""

    brokers: int = 3
    topics: int = 1
    topic_partitions: int = 2
    """Of each topic."""
    assignments: tuple[tuple[int, ...], ...] = ()
    """Who holds the partitions of each topic, instead of `topic_partitions` that are placed."""
    hot_topic: str = ""
    """The topic to which all records are sent, topic-0 and so on; or all alike."""
    stale_answers: bool = False
    """Whether a controller that was deposed and does not know it answers what needs no write."""
    observing: bool | msgspec.UnsetType = msgspec.UNSET
    """Whether each broker reads the metadata as an observer of the quorum: what that knows to be
    committed, and as one update what it has from a snapshot. On request alone, as what changes in
    the quorum."""
    reassignments: int | msgspec.UnsetType = msgspec.UNSET
    """So many times an administrator asks for other replicas of a partition, or gives that up, or
    asks for the preferred leader. On request alone, as are those that follow."""
    topic_changes: int | msgspec.UnsetType = msgspec.UNSET
    """So many times an administrator deletes a topic and makes it again, or adds a partition."""
    spare_partitions: int | msgspec.UnsetType = msgspec.UNSET
    """So many partitions may come to be, beside those of the first topics; unsaid, as many as two
    topics have, if topics change."""
    second_rack: tuple[int, ...] | msgspec.UnsetType = msgspec.UNSET
    """The brokers in another rack than the others. Where there are racks, the placer says where new
    partitions are."""
    unregistrations: int | msgspec.UnsetType = msgspec.UNSET
    """So many times an administrator has the controller forget a broker."""
    directories: int | msgspec.UnsetType = msgspec.UNSET
    """So many log directories each broker has; unsaid, one, of which nothing is told."""
    directory_failures: int | msgspec.UnsetType = msgspec.UNSET
    """So many times a directory fails of a broker that has others left; unsaid, four times where
    there are several."""
    reads: int | msgspec.UnsetType = msgspec.UNSET
    """So many times somebody asks a controller, whichever it is and whatever it knows, which
    reassignments are under way."""


class ClusterOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of one run."""

    shape: Shape = Shape()
    quorum: faults.Options = faults.OFF
    data: PartitionOptions = PartitionOptions()
    """Of brokers, clients and the network; each partition has these."""

    @property
    def watched(self) -> bool:
        return self.data.watched


class _Shapes(OptionSet[Shape]):
    def problem(self, options: Shape) -> str:
        if options.brokers > 7:
            return f"{options.brokers} brokers are more than 7"
        spare = _number(options.spare_partitions)
        partitions = _first_partitions(options) + spare
        if partitions > MOST_PARTITIONS:
            among = f", of which {spare} are spare," if spare else ""
            return f"{partitions} partitions{among} are more than {MOST_PARTITIONS}"
        if _number(options.topic_changes) and not spare:
            return "topic_changes need spare_partitions, which are 0"
        racks = options.second_rack
        if racks is not msgspec.UNSET and not {*racks} < {*range(options.brokers)}:
            return f"second_rack has not some of the brokers 0 to {options.brokers - 1}"
        return _wrong_with_directories(options)

    def settled(self, drawn: dict[str, Any], requested: Mapping[str, Any]) -> dict[str, Any]:
        if requested.get("reassignments"):
            drawn["brokers"] = max(drawn["brokers"], MOVING_BROKERS)
        if requested.get("topic_changes"):
            both = Shape(**{**drawn, **requested})
            room = max(0, MOST_PARTITIONS - _first_partitions(both))
            drawn["spare_partitions"] = min(room, 2 * _first_partitions(both) // both.topics)
        if _number(requested.get("directories", 0)) > 1:
            drawn["directory_failures"] = FAILURES
        return drawn


def _wrong_with_directories(options: Shape) -> str:
    """Why there cannot be so many, or empty."""
    count = options.directories
    if count is not msgspec.UNSET and not 2 <= count <= MOST_DIRECTORIES:
        return f"directories is {count}, which is none of 2 to {MOST_DIRECTORIES}"
    if options.directory_failures is not msgspec.UNSET and count is msgspec.UNSET:
        return "directory_failures need directories: ask for directories=2"
    return ""


def _number(option: int | msgspec.UnsetType) -> int:
    return 0 if option is msgspec.UNSET else option


def _first_partitions(shape: Shape) -> int:
    return shape.topics * (len(shape.assignments) or shape.topic_partitions)


OF_MOVING: Final = (
    *("reassignments", "topic_changes", "spare_partitions", "second_rack", "unregistrations"),
    *("directories", "directory_failures", "reads"),
)


def is_moving(requested: Mapping[str, Any]) -> bool:
    """Say whether partitions are of the protocol `moving`.

    They are by the options that are requested: where lists of replicas change, topics, or which
    brokers there are.
    """
    return any(option in requested for option in OF_MOVING) or bool(requested.get("shutdowns"))


def _is_moving(options: ClusterOptions) -> bool:
    shape = options.shape
    asked = [getattr(shape, option) is not msgspec.UNSET for option in OF_MOVING]
    return any(asked) or options.data.shutdowns > 0


SHAPES = _Shapes(
    Shape, {}, positive=("brokers", "topics", "topic_partitions"), shares=(), by_position=5
)


def draw(
    chooser: Chooser, palettes: Mapping[str, Mapping[str, Palette]], requested: Mapping[str, Any]
) -> ClusterOptions:
    """All options of a run: requested ones as they are, the others drawn.

    palettes: for `shape`, `quorum`, `data`. Raises ValueError: there is no such option, or it
    cannot have this value.
    """
    shapes = Shape.__struct_fields__
    of_shape = {name: value for name, value in requested.items() if name in shapes}
    of_quorum = {
        name.removeprefix(OF_QUORUM): value
        for name, value in requested.items()
        if name.startswith(OF_QUORUM)
    }
    of_data = {
        name: value
        for name, value in requested.items()
        if name not in shapes and not name.startswith(OF_QUORUM)
    }
    if "begins" in of_data:
        raise ValueError("option refused: begins is of runs of a partition alone")
    if "watched" in of_data:
        of_quorum["watched"] = of_data["watched"]
    shape = SHAPES.draw(chooser, palettes["shape"], of_shape)
    if shape.observing is True:
        of_quorum["brokers"] = shape.brokers
    options = ClusterOptions(
        shape=shape,
        quorum=faults.OPTIONS.draw(chooser, palettes["quorum"], of_quorum, OF_QUORUM),
        data=partition_options.OPTIONS.draw(chooser, palettes["data"], of_data),
    )
    try:
        topics = topics_of(options)
        if shape.hot_topic:
            topics.assignment(shape.hot_topic, 0)
        if shape.reassignments is not msgspec.UNSET:
            _refuse_still(options, topics)
    except TopicError as error:
        raise ValueError(f"option refused: {error}") from None
    return options


def topics_of(options: ClusterOptions) -> Topics:
    """The topics of the run, made one after the other. Raises TopicError: Kafka would refuse."""
    shape, data = options.shape, options.data
    topics = Topics(range(shape.brokers))
    for number in range(shape.topics):
        topics.create(
            NewTopic(
                name=f"topic-{number}",
                partitions=DEFAULT if shape.assignments else shape.topic_partitions,
                replication_factor=DEFAULT if shape.assignments else data.replicas,
                assignments=shape.assignments,
                min_insync_replicas=data.min_insync_replicas,
            )
        )
    return topics


def _refuse_still(options: ClusterOptions, topics: Topics) -> None:
    """Raises ValueError: there is no broker to which a replica could move."""
    replicas = max(len(each) for topic in topics.all for each in topic.assignments)
    if replicas >= options.shape.brokers:
        raise ValueError(
            f"option refused: reassignments need more brokers than replicas, which are {replicas}; "
            f"ask for brokers={replicas + 1}"
        )


def topics_written(options: ClusterOptions) -> Sequence[int]:
    """The topics to which records are sent, by their place among all."""
    names = [topic.name for topic in topics_of(options).all]
    hot = options.shape.hot_topic
    return [names.index(hot)] if hot else range(len(names))


def constants_of(options: ClusterOptions) -> ClusterConstants:
    """The constants of the run: the partitions of all its topics, one topic after the other."""
    data, shape = options.data, options.shape
    of: dict[str, Any] = {
        "min_insync_replicas": data.min_insync_replicas,
        "elr_enabled": data.elr,
        "unclean_election": data.unclean,
        "fetch_max_records": data.fetch_max_records,
    }
    lists = [assignment for topic in topics_of(options).all for assignment in topic.assignments]
    if not _is_moving(options):
        partitions = tuple([PartitionConstants(replicas=each, **of) for each in lists])
        return ClusterConstants(quorum_of(options.quorum), partitions)
    brokers = tuple(range(shape.brokers))
    lists += [()] * _number(shape.spare_partitions)
    if shape.second_rack is not msgspec.UNSET:
        of["second_rack"] = tuple(sorted({*shape.second_rack}))
    if shape.directories is not msgspec.UNSET:
        return ClusterConstants(quorum_of(options.quorum), _in_directories(options, lists, of))
    moving = tuple([MovingConstants(brokers, first_replicas=each, **of) for each in lists])
    return ClusterConstants(quorum_of(options.quorum), moving)


def _in_directories(
    options: ClusterOptions, lists: Sequence[tuple[int, ...]], of: Mapping[str, Any]
) -> tuple[DirectoryConstants, ...]:
    """Partitions take turns with the directories."""
    shape = options.shape
    count = _number(shape.directories)
    return tuple(
        [
            DirectoryConstants(
                tuple(range(shape.brokers)),
                first_replicas=each,
                directories=tuple(range(1, count + 1)),
                first_directory=1 + number % count,
                **of,
            )
            for number, each in enumerate(lists)
        ]
    )

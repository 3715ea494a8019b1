"""Which requests are served, in which versions, and Kafka's numbers for its errors.

Everything that Kafka's description of a served message has is read and written; what is not in the
table is answered as Kafka answers what it does not offer: the connection is closed (W3).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from kraftcheck.kafka.serve.codec import Versions, description

SERVED: Final = (
    *("Produce", "Fetch", "ListOffsets", "Metadata", "FindCoordinator", "ApiVersions"),
    *("CreateTopics", "DeleteTopics", "InitProducerId", "OffsetForLeaderEpoch"),
    *("OffsetCommit", "OffsetFetch", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"),
    *("ConsumerGroupHeartbeat", "DescribeGroups", "ConsumerGroupDescribe"),
    *("ListGroups", "DeleteGroups"),
    *("AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn"),
    *("SaslHandshake", "SaslAuthenticate"),
    *("DescribeConfigs", "DescribeCluster", "CreatePartitions", "IncrementalAlterConfigs"),
    *("DeleteRecords", "ElectLeaders", "AlterConfigs", "ListConfigResources"),
    *("DescribeTopicPartitions", "DescribeLogDirs", "ListPartitionReassignments"),
    *("DescribeProducers", "DescribeTransactions", "ListTransactions", "OffsetDelete"),
    *("DescribeAcls", "CreateAcls", "DeleteAcls", "DescribeQuorum"),
    *("DescribeUserScramCredentials", "AlterUserScramCredentials", "AlterPartitionReassignments"),
)

OFFERED_FROM: Final = {"Produce": 0}
"""KAFKA-18659: librdkafka takes it amiss if the oldest is not offered. Asked for it, we close."""

ERRORS: Final[Mapping[str, int]] = json.loads(
    Path(__file__).with_name("errors.json").read_text(encoding="utf-8")
)
"""Kafka's numbers of its errors (org.apache.kafka.common.protocol.Errors)."""

BY_KEY: Final = {description(f"{name}Request").key: name for name in SERVED}


@cache
def versions(name: str) -> Versions:
    """Those that are read."""
    return description(f"{name}Request").valid


@cache
def request_flexible(name: str, version: int) -> bool:
    return version in description(f"{name}Request").flexible


@cache
def response_flexible(name: str, version: int) -> bool:
    """Whether the header of the answer has tagged fields: that of ApiVersions never has (W1)."""
    return name != "ApiVersions" and version in description(f"{name}Response").flexible

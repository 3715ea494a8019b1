"""Which requests are served, in which versions, and Kafka's numbers for its errors.

Everything that Kafka's description of a served message has is read and written; what is not in the
table is answered as Kafka answers what it does not offer: the connection is closed (W3).
"""

from __future__ import annotations

from functools import cache
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

ERRORS: Final = {
    "NONE": 0,
    "UNKNOWN_SERVER_ERROR": -1,
    "OFFSET_OUT_OF_RANGE": 1,
    "CORRUPT_MESSAGE": 2,
    "UNKNOWN_TOPIC_OR_PARTITION": 3,
    "LEADER_NOT_AVAILABLE": 5,
    "NOT_LEADER_OR_FOLLOWER": 6,
    "REQUEST_TIMED_OUT": 7,
    "MESSAGE_TOO_LARGE": 10,
    "COORDINATOR_LOAD_IN_PROGRESS": 14,
    "COORDINATOR_NOT_AVAILABLE": 15,
    "NOT_COORDINATOR": 16,
    "INVALID_TOPIC_EXCEPTION": 17,
    "NOT_ENOUGH_REPLICAS": 19,
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": 20,
    "INVALID_REQUIRED_ACKS": 21,
    "ILLEGAL_GENERATION": 22,
    "INCONSISTENT_GROUP_PROTOCOL": 23,
    "INVALID_GROUP_ID": 24,
    "UNKNOWN_MEMBER_ID": 25,
    "INVALID_SESSION_TIMEOUT": 26,
    "REBALANCE_IN_PROGRESS": 27,
    "TOPIC_AUTHORIZATION_FAILED": 29,
    "GROUP_AUTHORIZATION_FAILED": 30,
    "CLUSTER_AUTHORIZATION_FAILED": 31,
    "UNSUPPORTED_SASL_MECHANISM": 33,
    "ILLEGAL_SASL_STATE": 34,
    "UNSUPPORTED_VERSION": 35,
    "TOPIC_ALREADY_EXISTS": 36,
    "INVALID_PARTITIONS": 37,
    "INVALID_REPLICATION_FACTOR": 38,
    "INVALID_REPLICA_ASSIGNMENT": 39,
    "INVALID_CONFIG": 40,
    "INVALID_REQUEST": 42,
    "OUT_OF_ORDER_SEQUENCE_NUMBER": 45,
    "INVALID_PRODUCER_EPOCH": 47,
    "INVALID_TXN_STATE": 48,
    "INVALID_PRODUCER_ID_MAPPING": 49,
    "INVALID_TRANSACTION_TIMEOUT": 50,
    "CONCURRENT_TRANSACTIONS": 51,
    "TRANSACTION_COORDINATOR_FENCED": 52,
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": 53,
    "SECURITY_DISABLED": 54,
    "OPERATION_NOT_ATTEMPTED": 55,
    "SASL_AUTHENTICATION_FAILED": 58,
    "NON_EMPTY_GROUP": 68,
    "GROUP_ID_NOT_FOUND": 69,
    "FETCH_SESSION_ID_NOT_FOUND": 70,
    "INVALID_FETCH_SESSION_EPOCH": 71,
    "FENCED_LEADER_EPOCH": 74,
    "UNKNOWN_LEADER_EPOCH": 75,
    "UNSUPPORTED_COMPRESSION_TYPE": 76,
    "OFFSET_NOT_AVAILABLE": 78,
    "MEMBER_ID_REQUIRED": 79,
    "PREFERRED_LEADER_NOT_AVAILABLE": 80,
    "FENCED_INSTANCE_ID": 82,
    "ELIGIBLE_LEADERS_NOT_AVAILABLE": 83,
    "ELECTION_NOT_NEEDED": 84,
    "NO_REASSIGNMENT_IN_PROGRESS": 85,
    "GROUP_SUBSCRIBED_TO_TOPIC": 86,
    "INVALID_RECORD": 87,
    "UNSTABLE_OFFSET_COMMIT": 88,
    "PRODUCER_FENCED": 90,
    "UNKNOWN_TOPIC_ID": 100,
    "TRANSACTIONAL_ID_NOT_FOUND": 105,
    "FETCH_SESSION_TOPIC_ID_ERROR": 106,
    "RESOURCE_NOT_FOUND": 91,
    "DUPLICATE_RESOURCE": 92,
    "UNACCEPTABLE_CREDENTIAL": 93,
    "FENCED_MEMBER_EPOCH": 110,
    "UNRELEASED_INSTANCE_ID": 111,
    "UNSUPPORTED_ASSIGNOR": 112,
    "STALE_MEMBER_EPOCH": 113,
    "TRANSACTION_ABORTABLE": 120,
    "INVALID_REGULAR_EXPRESSION": 128,
}

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

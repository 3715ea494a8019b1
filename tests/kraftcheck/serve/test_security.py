"""Who a client is, and what it may not."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from typing import Any

import pytest

from kraftcheck.kafka.serve.acls import Acls
from kraftcheck.kafka.serve.apis import ERRORS
from kraftcheck.kafka.serve.codec import Message
from tests.kraftcheck.serve.wire import Wire, answer, batch, frame, producing, with_topic

NONE, WRONG = ERRORS["NONE"], ERRORS["SASL_AUTHENTICATION_FAILED"]


@pytest.fixture
def wire() -> Wire:
    made = Wire(users=(("ann", "secret"), ("bob", "other")))
    made.create()
    made.create("u")
    return made


def handshake(wire: Wire, mechanism: str) -> int:
    error: int = wire.ask(0, "SaslHandshake", 1, mechanism=mechanism)["error_code"]
    return error


def told(wire: Wire, data: bytes) -> tuple[Message, bool]:
    """What is answered to a round, and whether the connection ends."""
    left = wire.send(0, frame("SaslAuthenticate", 2, {"auth_bytes": data}))
    return answer("SaslAuthenticate", 2, left[0]), left[1:] == [None]


def scram(wire: Wire, name: str, password: str, user: str = "ann") -> tuple[Message, bool]:
    """A client's side of RFC 5802. Checks the server's signature."""
    assert handshake(wire, f"SCRAM-SHA-{name}") == NONE
    bare = f"n={user},r=nonce"
    first, is_over = told(wire, f"n,,{bare}".encode())
    if first["error_code"]:
        return first, is_over
    said = first["auth_bytes"].decode()
    nonce, salt, rounds = (each[2:] for each in said.split(","))
    assert nonce.startswith("nonce")
    hash = f"sha{name}"
    key = hashlib.pbkdf2_hmac(hash, password.encode(), b64decode(salt), int(rounds))
    client = hmac.digest(key, b"Client Key", hash)
    without = f"c=biws,r={nonce}"
    whole = f"{bare},{said},{without}".encode()
    signed = hmac.digest(hashlib.new(hash, client).digest(), whole, hash)
    proof = bytes(a ^ b for a, b in zip(client, signed, strict=True))
    found, is_over = told(wire, f"{without},p={b64encode(proof).decode()}".encode())
    if not found["error_code"]:
        server = hmac.digest(hmac.digest(key, b"Server Key", hash), whole, hash)
        assert found["auth_bytes"] == b"v=" + b64encode(server)
    return found, is_over


def names(wire: Wire) -> list[str]:
    return [each["name"] for each in wire.ask(0, "Metadata", 4, topics=None)["topics"]]


def test_who_has_not_said_who_it_is_gets_nothing(wire: Wire) -> None:
    assert wire.ask(0, "ApiVersions", 0)["api_keys"]
    assert wire.send(0, frame("Metadata", 4, {"topics": None})) == [None]


def test_plain(wire: Wire) -> None:
    assert handshake(wire, "PLAIN") == NONE
    assert told(wire, b"\0ann\0secret")[0]["error_code"] == NONE
    assert names(wire) == ["t", "u"]


@pytest.mark.parametrize("name", ["256", "512"])
def test_scram(wire: Wire, name: str) -> None:
    assert scram(wire, name, "secret")[0]["error_code"] == NONE
    assert names(wire) == ["t", "u"]
    wire.taped.arrive("closed", wire.now, 0)
    wire.connect(0)
    assert wire.send(0, frame("Metadata", 4, {"topics": None})) == [None]


@pytest.mark.parametrize("name", ["256", "512"])
def test_scram_with_another_password_or_user(wire: Wire, name: str) -> None:
    for password, user in (("wrong", "ann"), ("secret", "eve"), ("secret", "bob")):
        found, is_over = scram(wire, name, password, user)
        assert (found["error_code"], is_over) == (WRONG, True)
        wire.connect(0)


@pytest.mark.parametrize(
    "data", [b"\0ann\0wrong", b"\0eve\0secret", b"\0ann\0", b"\0eve\0", b"ann", b"\xff\0\0"]
)
def test_what_plain_does_not_believe(wire: Wire, data: bytes) -> None:
    assert handshake(wire, "PLAIN") == NONE
    found, is_over = told(wire, data)
    assert (found["error_code"], is_over) == (WRONG, True)
    wire.connect(0)
    assert wire.send(0, frame("Metadata", 4, {"topics": None})) == [None]


def test_mechanisms_that_there_are_not(wire: Wire) -> None:
    left = wire.send(0, frame("SaslHandshake", 1, {"mechanism": "GSSAPI"}))
    said = answer("SaslHandshake", 1, left[0])
    assert said["error_code"] == ERRORS["UNSUPPORTED_SASL_MECHANISM"]
    assert (said["mechanisms"][0], left[1:]) == ("PLAIN", [None])
    wire.connect(0)
    found, is_over = told(wire, b"\0ann\0secret")
    assert (found["error_code"], is_over) == (ERRORS["ILLEGAL_SASL_STATE"], True)


# --- What is denied


@pytest.fixture
def known() -> Wire:
    """Without users: everybody is ANONYMOUS."""
    made = with_topic()
    made.create("u")
    return made


DENIED = ERRORS["TOPIC_AUTHORIZATION_FAILED"]


def test_one_topic_is_denied_and_the_other_is_not(known: Wire) -> None:
    assert known.do("deny", operation="Write", kind="topic", name="t") == ""
    rows = [{"index": 0, "records": batch(b"v")}]
    topics = [{"name": name, "partition_data": rows} for name in ("t", "u")]
    leader = known.leader("u")
    said = known.ask(leader, "Produce", 9, acks=-1, timeout_ms=5000, topic_data=topics)
    found = {r["name"]: r["partition_responses"][0]["error_code"] for r in said["responses"]}
    assert found == {"t": DENIED, "u": NONE}
    assert known.offset(-1)["offset"] == 0
    assert known.produce(batch(b"v"))["error_code"] == DENIED
    assert known.fetch(0)["error_code"] == NONE
    assert known.do("allow", operation="Write", kind="topic", name="t") == ""
    assert known.produce(batch(b"v"))["error_code"] == NONE


def test_reading_describing_and_making_are_denied(known: Wire) -> None:
    known.do("deny", kind="topic", name="t")
    assert known.fetch(0)["error_code"] == DENIED
    assert known.offset(-1)["error_code"] == DENIED
    asked = [{"name": "t"}, {"name": "u"}]
    said = known.ask(0, "Metadata", 9, topics=asked)
    assert {t["name"]: t["error_code"] for t in said["topics"]} == {"t": DENIED, "u": NONE}
    assert len(said["brokers"]) == 3
    known.do("deny", operation="Create", kind="topic", name="w")
    topic = {"name": "w", "num_partitions": 1, "replication_factor": 3}
    told = known.ask(0, "CreateTopics", 5, topics=[topic], timeout_ms=1000)
    assert told["topics"][0]["error_code"] == DENIED
    assert "w" not in known.core.world.topics


def test_groups_and_transactions_are_denied(known: Wire) -> None:
    known.do("deny", operation="Read", kind="group", name="g")
    said = known.ask(0, "Heartbeat", 3, group_id="g", generation_id=1, member_id="m")
    assert said["error_code"] == ERRORS["GROUP_AUTHORIZATION_FAILED"]
    known.do("deny", kind="transactional_id")
    body = {"transactional_id": "x", "transaction_timeout_ms": 1000}
    said = known.ask(0, "InitProducerId", 4, **body)
    assert said["error_code"] == ERRORS["TRANSACTIONAL_ID_AUTHORIZATION_FAILED"]
    body["transactional_id"] = None
    assert known.ask(0, "InitProducerId", 4, **body)["error_code"] == NONE


def test_one_user_is_denied_and_another_is_not(wire: Wire) -> None:
    wire.do("deny", user="ann", kind="topic", operation="Describe", name="t")
    for user, password, error in (("ann", "secret", DENIED), ("bob", "other", NONE)):
        assert scram(wire, "256", password, user)[0]["error_code"] == NONE
        said = wire.ask(0, "Metadata", 4, topics=[{"name": "t"}])
        assert said["topics"][0]["error_code"] == error
        wire.taped.arrive("closed", wire.now, 0)
        wire.connect(0)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({}, "'kind' is missing"),
        ({"kind": "cluster"}, "no kind 'cluster'"),
        ({"kind": "topic", "operation": "Fly"}, "no operation 'Fly'"),
        ({"kind": "topic", "user": "eve"}, "no user 'eve'"),
    ],
)
def test_denials_that_mean_nothing(wire: Wire, said: dict[str, str], why: str) -> None:
    assert why in wire.do("deny", **said)
    assert "is not denied" in wire.do("allow", kind="topic")


def test_credentials_are_altered_described_and_believed(wire: Wire) -> None:
    """KIP-554. ann has two, from the start."""
    plain = b"\0ann\0secret"
    assert handshake(wire, "PLAIN") == NONE
    assert told(wire, plain)[0]["error_code"] == NONE

    def described(*names: str) -> list[Message]:
        users = [{"name": name} for name in names]
        found: list[Message] = wire.ask(0, "DescribeUserScramCredentials", 0, users=users)[
            "results"
        ]
        return found

    def altered(*upserted: Message, deleted: tuple[Message, ...] = ()) -> list[int]:
        body = {"deletions": [*deleted], "upsertions": [*upserted]}
        results = wire.ask(0, "AlterUserScramCredentials", 0, **body)["results"]
        return [each["error_code"] for each in results]

    assert [each["user"] for each in described()] == ["ann", "bob"]
    (ann,) = described("ann")
    assert [(each["mechanism"], each["iterations"]) for each in ann["credential_infos"]] == [
        (1, 4096),
        (2, 4096),
    ]
    assert described("eve")[0]["error_code"] == ERRORS["RESOURCE_NOT_FOUND"]
    assert described("ann", "ann")[0]["error_code"] == ERRORS["DUPLICATE_RESOURCE"]
    salted = hashlib.pbkdf2_hmac("sha512", b"new", b"salt", 5000)
    eve = {"name": "eve", "mechanism": 2, "iterations": 5000}
    eve |= {"salt": b"salt", "salted_password": salted}
    assert altered(eve | {"iterations": 9}) == [ERRORS["UNACCEPTABLE_CREDENTIAL"]]
    assert altered(eve, eve) == [ERRORS["DUPLICATE_RESOURCE"]]
    assert altered(eve | {"mechanism": 3}) == [ERRORS["UNSUPPORTED_SASL_MECHANISM"]]
    assert altered(eve, deleted=({"name": "ann", "mechanism": 2},)) == [NONE, NONE]
    assert altered(deleted=({"name": "ann", "mechanism": 2},)) == [ERRORS["RESOURCE_NOT_FOUND"]]
    wire.taped.arrive("closed", wire.now, 0)
    for user, password, error in (
        ("eve", "new", NONE),
        ("eve", "old", WRONG),
        ("ann", "secret", WRONG),
    ):
        wire.connect(0)
        assert scram(wire, "512", password, user)[0]["error_code"] == error
        wire.taped.arrive("closed", wire.now, 0)


# --- ACLs


TOPIC, CLUSTER = 2, 4
READ, WRITE, ALTER, DESCRIBE, ALL = 3, 4, 7, 8, 2
DENY, ALLOW, LITERAL, PREFIXED = 2, 3, 3, 4
ANY = {"resource_type_filter": 1, "resource_name_filter": None, "pattern_type_filter": 1}
ANY |= {"principal_filter": None, "host_filter": None, "operation": 1, "permission_type": 1}


def acl(user: str, permission: int, operation: int, name: str, **more: object) -> Message:
    said: Message = {"resource_type": TOPIC, "resource_name": name, "host": "*"}
    said |= {"resource_pattern_type": LITERAL, "principal": f"User:{user}"}
    return said | {"operation": operation, "permission_type": permission} | more


class Named:
    """A cluster with users, each on a connection of its own to broker 0."""

    def __init__(self, **setup: Any) -> None:
        self.wire = Wire(users=(("ann", "secret"), ("bob", "other")), **setup)
        self.wire.create()
        self.wire.create("u")

    def login(self, user: str) -> None:
        self.wire.taped.arrive("closed", self.wire.now, 0)
        self.wire.connect(0)
        assert handshake(self.wire, "PLAIN") == NONE
        password = {"ann": b"secret", "bob": b"other"}[user]
        assert told(self.wire, b"\0" + user.encode() + b"\0" + password)[0]["error_code"] == NONE

    def create(self, *acls: Message) -> list[int]:
        results = self.wire.ask(0, "CreateAcls", 3, creations=[*acls])["results"]
        return [each["error_code"] for each in results]

    def described(self, **wanted: object) -> list[Message]:
        found: list[Message] = self.wire.ask(0, "DescribeAcls", 3, **(ANY | wanted))["resources"]
        return found

    def is_denied(self, api: str = "Fetch", name: str = "t") -> bool:
        """By what an answer says; who is not denied is told that somebody else leads, or NONE."""
        if api == "Metadata":
            topics = self.wire.ask(0, "Metadata", 4, topics=[{"name": name}])["topics"]
            return bool(topics[0]["error_code"] == DENIED)
        if api == "Produce":
            said = self.wire.ask(0, "Produce", 9, **producing(batch(b"v"), 1, topic=name))
            return bool(said["responses"][0]["partition_responses"][0]["error_code"] == DENIED)
        asked = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
        topics = [{"topic": name, "partitions": [asked]}]
        body = {"replica_id": -1, "max_wait_ms": 0, "min_bytes": 0, "topics": topics}
        (topic,) = self.wire.ask(0, "Fetch", 11, **body)["responses"]
        return bool(topic["partitions"][0]["error_code"] == DENIED)


@pytest.mark.parametrize(
    ("acls", "ann", "bob"),
    [
        ([], "", ""),
        # What has ACLs is nobody else's, and who may read or write may describe.
        ([("ann", ALLOW, READ, "t")], "Produce", "Fetch Produce Metadata"),
        ([("ann", ALLOW, WRITE, "t")], "Fetch", "Fetch Produce Metadata"),
        ([("ann", ALLOW, ALL, "t")], "", "Fetch Produce Metadata"),
        ([("*", ALLOW, ALL, "t")], "", ""),
        ([("*", ALLOW, ALL, "*")], "", ""),
        # To deny one is to deny nothing else.
        ([("*", ALLOW, ALL, "*"), ("ann", DENY, READ, "t")], "Fetch", ""),
        # Who denies counts, whoever allows.
        ([("ann", ALLOW, READ, "t"), ("*", DENY, ALL, "*")], *["Fetch Produce Metadata"] * 2),
        ([("bob", DENY, READ, "t")], *["Fetch Produce Metadata"] * 2),
        ([("ann", ALLOW, ALL, "tt")], "", ""),
    ],
)
def test_acls_say_who_may(acls: list[tuple[str, int, int, str]], ann: str, bob: str) -> None:
    """StandardAuthorizerData.authorize, with allow.everyone.if.no.acl.found."""
    named = Named()
    named.login("ann")
    assert named.create(*[acl(*each) for each in acls]) == [NONE] * len(acls)
    for user, denied in (("ann", ann), ("bob", bob)):
        named.login(user)
        found = [api for api in ("Fetch", "Produce", "Metadata") if named.is_denied(api)]
        assert found == denied.split(), user


def test_acls_of_names_that_begin_alike_and_of_hosts() -> None:
    named = Named()
    named.login("ann")
    named.create(acl("ann", ALLOW, READ, "t", resource_pattern_type=PREFIXED))
    named.create(acl("ann", ALLOW, WRITE, "t", host="127.0.0.1"))
    named.create(acl("ann", DENY, ALL, "t", host="127.0.0.2"))
    assert [named.is_denied(api) for api in ("Fetch", "Produce")] == [False, False]
    named.login("bob")
    assert named.is_denied("Fetch", "t")
    assert not named.is_denied("Fetch", "u")


def test_who_is_no_super_user_may_what_is_allowed() -> None:
    """As with Kafka's default, allow.everyone.if.no.acl.found=false."""
    named = Named(super_users=("ann",))
    named.login("bob")
    assert named.is_denied("Metadata")
    refused = ERRORS["CLUSTER_AUTHORIZATION_FAILED"]
    assert named.create(acl("bob", ALLOW, ALL, "*")) == [refused]
    assert named.wire.ask(0, "DescribeAcls", 3, **ANY)["error_code"] == refused
    (gone,) = named.wire.ask(0, "DeleteAcls", 3, filters=[ANY])["filter_results"]
    assert gone["error_code"] == refused
    named.login("ann")
    assert not named.is_denied("Produce")
    cluster = {"resource_type": CLUSTER, "resource_name": "kafka-cluster"}
    assert named.create(acl("bob", ALLOW, ALTER, "", **cluster)) == [NONE]
    named.login("bob")
    assert named.create(acl("bob", ALLOW, ALL, "*")) == [NONE]
    assert not named.is_denied("Produce")
    # Who may alter the cluster may describe it.
    assert len(named.described()) == 2
    assert named.wire.core.world.broken == []


def test_acls_are_made_told_and_deleted() -> None:
    """KIP-140, KIP-290; AclControlManager, and the matches of filters."""
    named = Named()
    named.login("ann")
    one, other = acl("ann", DENY, READ, "t"), acl("bob", ALLOW, WRITE, "t")
    whole = acl("*", ALLOW, DESCRIBE, "*")
    prefixed = acl("ann", ALLOW, READ, "te", resource_pattern_type=PREFIXED)
    refused = [acl("ann", 1, READ, "t"), acl("ann", DENY, READ, ""), acl("ann", DENY, 9, "t")]
    refused += [one | {"principal": "ann"}, one | {"resource_pattern_type": 2}]
    wrong = ERRORS["INVALID_REQUEST"]
    assert named.create(*refused) == [wrong] * len(refused)
    assert named.create(one, other, whole, prefixed, one) == [NONE] * 5
    assert [len(each["acls"]) for each in named.described()] == [2, 1, 1]
    assert named.described()[0]["acls"] == [
        {key: each[key] for key in ("principal", "host", "operation", "permission_type")}
        for each in (one, other)
    ]
    match = {"pattern_type_filter": 2, "resource_name_filter": "test"}
    assert [each["resource_name"] for each in named.described(**match)] == ["*", "te"]
    literal = {"pattern_type_filter": LITERAL, "resource_name_filter": "t"}
    assert [each["resource_name"] for each in named.described(**literal)] == ["t"]
    filters = [ANY | literal | {"permission_type": DENY}, ANY | {"principal_filter": "User:eve"}]
    gone, nothing = named.wire.ask(0, "DeleteAcls", 3, filters=filters)["filter_results"]
    assert [each["principal"] for each in gone["matching_acls"]] == ["User:ann"]
    assert nothing["matching_acls"] == []
    assert len(named.described()[0]["acls"]) == 1
    # By hand is something else, and is not told.
    assert named.wire.do("deny", user="bob", operation="Write", kind="topic", name="u") == ""
    assert len(named.described()) == 3


def test_an_authorizer_that_allows_first_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: whoever is allowed may, though somebody denies it."""
    right = Acls.permit

    def wrong(self: Acls, user: str, operation: str, kind: str, name: str) -> bool:
        made = [each for each in self._all if each.allows and each.covers(name)]
        return bool(made) or right(self, user, operation, kind, name)

    monkeypatch.setattr(Acls, "permit", wrong)
    with pytest.raises(AssertionError):
        test_acls_say_who_may([("ann", ALLOW, READ, "t"), ("*", DENY, ALL, "*")], "Fetch", "")

"""Who a client is, and what it may not: SASL (W14), and a list of what is denied.

Where a cluster has users, a connection has to say who it is before it asks for anything else: by
PLAIN, or by SCRAM (RFC 5802), whose nonces come from the cluster's seed. Everything is allowed that
is not denied, by hand or by ACLs (acls.py); of a request for several topics only the denied ones
are refused. Kafka's SaslServerAuthenticator, ScramSaslServer and AuthHelper.

Law of this file: no chance but from the seed; passwords are those of a test, and on its tape.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from kraftcheck.kafka.serve.acls import CLUSTER, Acls, refused
from kraftcheck.kafka.serve.apis import ERRORS
from kraftcheck.kafka.serve.codec import Message
from kraftcheck.kafka.serve.core import Closed, Core
from kraftcheck.kafka.serve.faults import INVENTED
from kraftcheck.kafka.serve.requests import Request, Serve, Waiting

ITERATIONS: Final = 4096
ITERATIONS_MAX: Final = 16384
_HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
MECHANISMS: Final = ("PLAIN", *_HASHES)
_BEFORE: Final = ("ApiVersions", "SaslHandshake", "SaslAuthenticate")
"""What a client may ask for before it has said who it is."""
ANONYMOUS: Final = "ANONYMOUS"

OF_TOPICS: Final = {
    **{"Produce": "Write", "Fetch": "Read", "ListOffsets": "Describe", "Metadata": "Describe"},
    **{"OffsetCommit": "Read", "TxnOffsetCommit": "Read", "CreateTopics": "Create"},
}
OF_GROUPS: Final = {
    **{"JoinGroup": "Read", "SyncGroup": "Read", "Heartbeat": "Read", "LeaveGroup": "Read"},
    **{"ConsumerGroupHeartbeat": "Read"},
}
OF_TRANSACTIONS: Final = {"InitProducerId": "Write", "EndTxn": "Write", "AddOffsetsToTxn": "Write"}
OPERATIONS: Final = ("All", "Create", "Describe", "Read", "Write")
KINDS: Final = ("topic", "group", "transactional_id")
"""Of what is denied by hand."""
OF_CLUSTER: Final = {"DescribeAcls": "Describe", "CreateAcls": "Alter", "DeleteAcls": "Alter"}


class Denied(NamedTuple):
    """user, name: any, where `*`."""

    user: str
    operation: str
    """All, or one of Kafka's."""
    kind: str
    name: str


class Credential(NamedTuple):
    """Of a user, for one mechanism of SCRAM."""

    salt: bytes
    iterations: int
    key: bytes
    """The salted password."""


class Refused(Exception):
    """Who says who it is is not believed."""


class Scram:
    """One exchange, of two rounds."""

    def __init__(
        self, mechanism: str, credential: Callable[[str, str], Credential | None], nonce: str
    ) -> None:
        """credential: of a user, for a mechanism."""
        self._mechanism = mechanism
        self._hash = _HASHES[mechanism]
        self._credential = credential
        self._nonce = nonce
        self._said = ""
        """What both have said so far."""
        self._key = b""
        self.user = ""

    def first(self, data: bytes) -> bytes:
        """Raises Refused."""
        head, _, bare = data.decode().partition(",,")
        said = _attributes(bare)
        user, nonce = said.get("n", ""), said.get("r", "")
        found = self._credential(user, self._mechanism)
        if head not in ("n", "y") or found is None or not nonce:
            raise Refused(f"no user {user!r}")
        self.user = user
        self._nonce = nonce + self._nonce
        self._key = found.key
        salt = b64encode(found.salt).decode()
        answer = f"r={self._nonce},s={salt},i={found.iterations}"
        self._said = f"{bare},{answer}"
        return answer.encode()

    def final(self, data: bytes) -> bytes:
        """Raises Refused."""
        without, _, proof = data.decode().rpartition(",p=")
        if _attributes(without).get("r") != self._nonce:
            raise Refused("the nonce is another")
        said = f"{self._said},{without}".encode()
        client = self._mac(self._key, b"Client Key")
        stored = hashlib.new(self._hash, client).digest()
        signed = self._mac(stored, said)
        right = bytes([a ^ b for a, b in zip(client, signed, strict=True)])
        if not hmac.compare_digest(b64decode(proof), right):
            raise Refused(f"the proof of {self.user!r} is wrong")
        server = self._mac(self._mac(self._key, b"Server Key"), said)
        return b"v=" + b64encode(server)

    def _mac(self, key: bytes, data: bytes) -> bytes:
        return hmac.digest(key, data, self._hash)


def _attributes(said: str) -> dict[str, str]:
    return {each[:1]: each[2:] for each in said.split(",")}


class Security:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._users = dict(core.setup.users)
        self._credentials = {
            (user, mechanism): self._salted(password, mechanism, core.setup.uuid(f"scram/{user}"))
            for user, password in self._users.items()
            for mechanism in _HASHES
        }
        """By user and mechanism of SCRAM."""
        self._mechanism: dict[int, str] = {}
        self._scram: dict[int, Scram] = {}
        self._known: dict[int, str] = {}
        """Users, by connection."""
        self.denied: dict[Denied, None] = {}
        """By hand."""
        supers = core.setup.super_users
        self.acls = Acls(supers, core.setup.host)
        core.on_closed = self._forget
        core.faults.commands |= {"deny": self._deny, "allow": self._allow}
        self.served: dict[str, Serve] = {
            "SaslHandshake": self._handshake,
            "SaslAuthenticate": self._authenticate,
            "DescribeUserScramCredentials": self._describe_credentials,
            "AlterUserScramCredentials": self._alter_credentials,
        }
        if self._users or supers:
            # Else there is no authorizer, and administrators.py says so.
            self.served |= {
                "DescribeAcls": self.acls.describe,
                "CreateAcls": self.acls.create,
                "DeleteAcls": self.acls.delete,
            }

    def _forget(self, connection: int) -> None:
        for known in (self._mechanism, self._scram, self._known):
            known.pop(connection, None)

    # --- Who it is

    def _handshake(self, request: Request) -> Message:
        mechanism = request.body["mechanism"]
        answer: Message = {"mechanisms": list(MECHANISMS)}
        if not self._users or request.connection in self._known:
            return answer | {"error_code": ERRORS["ILLEGAL_SASL_STATE"]}
        if mechanism not in MECHANISMS or request.version == 0:
            # Of version 0 what follows would be no requests.
            request.cut = "then"
            return answer | {"error_code": ERRORS["UNSUPPORTED_SASL_MECHANISM"]}
        self._mechanism[request.connection] = mechanism
        return answer

    def _authenticate(self, request: Request) -> Message:
        at = request.connection
        if at not in self._mechanism:
            request.cut = "then"
            return {"error_code": ERRORS["ILLEGAL_SASL_STATE"]}
        try:
            user, data = self._round(at, request.body["auth_bytes"])
        except (Refused, ValueError) as error:
            request.cut = "then"
            why = f"Authentication failed: {error}"
            return {"error_code": ERRORS["SASL_AUTHENTICATION_FAILED"], "error_message": why}
        if user:
            self._known[at] = user
            del self._mechanism[at]
        return {"auth_bytes": data}

    def _round(self, connection: int, data: bytes) -> tuple[str, bytes]:
        """The user, if that is known now, and what is answered. Raises Refused, ValueError."""
        mechanism = self._mechanism[connection]
        if mechanism == "PLAIN":
            _, user, password = data.decode().split("\0")
            if not hmac.compare_digest(self._users.get(user, ""), password) or not password:
                raise Refused(f"no user {user!r} with this password")
            return user, b""
        scram = self._scram.pop(connection, None)
        if scram is not None:
            return scram.user, scram.final(data)
        secret = self._core.setup.uuid(f"scram/{self._core.requests}")
        scram = Scram(mechanism, lambda *of: self._credentials.get(of), secret.hex())
        self._scram[connection] = scram
        return "", scram.first(data)

    # --- Credentials: KIP-554, ScramControlManager

    def _salted(self, password: str, mechanism: str, salt: bytes) -> Credential:
        key = hashlib.pbkdf2_hmac(_HASHES[mechanism], password.encode(), salt, ITERATIONS)
        return Credential(salt, ITERATIONS, key)

    def _describe_credentials(self, request: Request) -> Message:
        asked, known = request.body["users"], sorted({user for user, _ in self._credentials})
        # No list, and an empty one, are all.
        names = [each["name"] for each in asked or ()] or known
        results = []
        for name in dict.fromkeys(names):
            infos = [
                {"mechanism": at, "iterations": self._credentials[name, mechanism].iterations}
                for at, mechanism in enumerate(_HASHES, 1)
                if (name, mechanism) in self._credentials
            ]
            error, why = "NONE", None
            if names.count(name) > 1:
                error, why, infos = "DUPLICATE_RESOURCE", _TWICE.format(name), []
            elif not infos:
                error, why = "RESOURCE_NOT_FOUND", _NOT_DESCRIBED.format(name)
            told = {"user": name, "credential_infos": infos}
            results.append(told | {"error_code": ERRORS[error], "error_message": why})
        return {"error_code": ERRORS["NONE"], "results": results}

    def _alter_credentials(self, request: Request) -> Message:
        alters = [*request.body["deletions"], *request.body["upsertions"]]
        results = []
        for name in dict.fromkeys(each["name"] for each in alters):
            of_user = [each for each in alters if each["name"] == name]
            each, *more = of_user
            error, why = self._wrong(each) or ("NONE", None)
            if more and error == "NONE":
                error, why = "DUPLICATE_RESOURCE", _ALTERED_TWICE
            if error == "NONE":
                of = name, tuple(_HASHES)[each["mechanism"] - 1]
                if "salt" in each:
                    key = each["salted_password"]
                    self._credentials[of] = Credential(each["salt"], each["iterations"], key)
                else:
                    del self._credentials[of]
            told = {"user": name, "error_code": ERRORS[error], "error_message": why}
            results.append(told)
        return {"results": results}

    def _wrong(self, each: Message) -> tuple[str, str] | None:
        """An error, and Kafka's words for it."""
        name, mechanisms = each["name"], tuple(_HASHES)
        if not name:
            return "UNACCEPTABLE_CREDENTIAL", "Username must not be empty"
        if not 1 <= each["mechanism"] <= len(mechanisms):
            return "UNSUPPORTED_SASL_MECHANISM", "Unknown SCRAM mechanism"
        if "salt" not in each:
            if (name, mechanisms[each["mechanism"] - 1]) not in self._credentials:
                return "RESOURCE_NOT_FOUND", _NOT_DELETED
        elif each["iterations"] < ITERATIONS:
            return "UNACCEPTABLE_CREDENTIAL", "Too few iterations"
        elif each["iterations"] > ITERATIONS_MAX:
            return "UNACCEPTABLE_CREDENTIAL", "Too many iterations"
        return None

    # --- What it may not

    def _deny(self, said: Mapping[str, Any]) -> None:
        self.denied[self._of(said)] = None

    def _allow(self, said: Mapping[str, Any]) -> str:
        found = self._of(said)
        if found not in self.denied:
            return f"{tuple(found)} is not denied"
        del self.denied[found]
        return ""

    def _of(self, said: Mapping[str, Any]) -> Denied:
        found = Denied(
            str(said.get("user", "*")),
            str(said.get("operation", "All")),
            str(said["kind"]),
            str(said.get("name", "*")),
        )
        if found.operation not in OPERATIONS:
            raise ValueError(f"no operation {found.operation!r}; there are {OPERATIONS}")
        if found.kind not in KINDS:
            raise ValueError(f"no kind {found.kind!r}; there are {KINDS}")
        if self._users and found.user not in ("*", *self._users):
            raise ValueError(f"no user {found.user!r}")
        return found

    def _is_denied(self, request: Request, operation: str, kind: str, name: str) -> bool:
        user = self._known.get(request.connection, ANONYMOUS)
        by_hand = any(
            each.user in ("*", user)
            and each.operation in ("All", operation)
            and each.kind == kind
            and each.name in ("*", name)
            for each in self.denied
        )
        if by_hand or self.acls.permit(user, operation, kind, name):
            return by_hand
        # Who may make topics of the cluster may make each.
        return operation != "Create" or not self.acls.permit(user, operation, "cluster", CLUSTER)

    def gate(self, request: Request) -> Message | Waiting | None:
        """Serves a request as far as it is allowed. Raises Closed."""
        api = request.api
        serve = self._core.served[api]
        if self._users and request.connection not in self._known and api not in _BEFORE:
            raise Closed(f"{api} before authentication")
        if not (self.denied or self.acls):
            return serve(request)
        if api in OF_CLUSTER and self._is_denied(request, OF_CLUSTER[api], "cluster", CLUSTER):
            return refused(request, "CLUSTER_AUTHORIZATION_FAILED", _OF_CLUSTER)
        for table, kind, field, error in (
            (OF_GROUPS, "group", "group_id", "GROUP_AUTHORIZATION_FAILED"),
            (OF_TRANSACTIONS, "transactional_id", "transactional_id", _OF_ID),
        ):
            name = request.body.get(field)
            if api in table and name and self._is_denied(request, table[api], kind, name):
                return {"error_code": ERRORS[error]}
        return self._of_topics(request, serve) if api in OF_TOPICS else serve(request)

    def _of_topics(self, request: Request, serve: Serve) -> Message | Waiting | None:
        body, operation = request.body, OF_TOPICS[request.api]
        field = "topic_data" if request.api == "Produce" else "topics"
        asked = body[field] or []
        called = self._core.world.called
        denied = [e for e in asked if self._is_denied(request, operation, "topic", called(e))]
        if not denied:
            return serve(request)
        rest = [each for each in asked if each not in denied]
        told = self._refused(request, {**body, field: denied})
        if not rest:
            if body.get("acks") == 0:
                raise Closed("a produce without acks is not authorized")
            return told
        request.body = {**body, field: rest}
        request.finish = lambda answer: _merged(answer, told)
        return serve(request)

    def _refused(self, request: Request, body: Message) -> Message:
        code = ERRORS["TOPIC_AUTHORIZATION_FAILED"]
        if request.api in INVENTED:
            return INVENTED[request.api](body, code)
        called = self._core.world.called
        told = [{"name": called(each), "error_code": code} for each in body["topics"]]
        if request.api == "Metadata":
            # Who may ask for brokers may know them.
            known = self._core.served["Metadata"]
            request.body = {**body, "topics": []}
            if request.version == 0:
                return {"topics": told}
            there = known(request)
            assert isinstance(there, dict), "no topic is made"
            return there | {"topics": told}
        return {"topics": told}


_TWICE: Final = "Cannot describe SCRAM credentials for the same user twice in a single request: {}"
_ALTERED_TWICE: Final = "A user credential cannot be altered twice in the same request"
_NOT_DESCRIBED: Final = "Attempt to describe a user credential that does not exist: {}"
_NOT_DELETED: Final = "Attempt to delete a user credential that does not exist"
_OF_CLUSTER: Final = "Cluster authorization failed."
_OF_ID: Final = "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"


def _merged(answer: Message, denied: Message) -> Message:
    field = "responses" if "responses" in answer else "topics"
    return answer | {field: [*answer.get(field, ()), *denied.get(field, ())]}

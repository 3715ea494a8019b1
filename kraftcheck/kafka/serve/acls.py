"""ACLs as Kafka has them: made, told and deleted by requests (KIP-140, KIP-290), and what they say.

Kafka's StandardAuthorizer: a super user may do anything; who is denied may not, whoever allows it;
then who is allowed may; what has ACLs, of which none speaks of the request, is nobody else's; and
what has none is everybody's where there are no super users (`allow.everyone.if.no.acl.found`), and
nobody's where there are, which is Kafka's default.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from kraftcheck.kafka.serve.apis import ERRORS
from kraftcheck.kafka.serve.codec import Message
from kraftcheck.kafka.serve.requests import Request

OPERATIONS: Final = {"All": 2, "Read": 3, "Write": 4, "Create": 5, "Alter": 7, "Describe": 8}
KINDS: Final = {"topic": 2, "group": 3, "cluster": 4, "transactional_id": 5}
"""Kafka's numbers (AclOperation, ResourceType), of what is asked somewhere."""
CLUSTER: Final = "kafka-cluster"
_ANY, _MATCH, _LITERAL, _PREFIXED = 1, 2, 3, 4
_DENY, _ALLOW = 2, 3
_DESCRIBES: Final = ("Read", "Write", "Alter", "Describe")
"""Whoever is allowed one of these may describe as well."""


class Acl(NamedTuple):
    """user, host: any, where `*`. operation, kind: those of OPERATIONS and KINDS."""

    kind: str
    name: str
    """Of what; any, where `*`; the beginning of it, if prefixed."""
    prefixed: bool
    user: str
    host: str
    operation: str
    allows: bool

    def covers(self, name: str) -> bool:
        if self.prefixed:
            return name.startswith(self.name)
        return self.name in ("*", name)

    def speaks_of(self, user: str, host: str, operation: str) -> bool:
        """Whether it says anything of this, where it covers the name."""
        if self.user not in ("*", user) or self.host not in ("*", host):
            return False
        if self.operation in ("All", operation):
            return True
        return self.allows and operation == "Describe" and self.operation in _DESCRIBES

    def message(self) -> Message:
        return {
            "principal": f"User:{self.user}",
            "host": self.host,
            "operation": OPERATIONS[self.operation],
            "permission_type": _ALLOW if self.allows else _DENY,
        }

    def resource(self) -> Message:
        return {
            "resource_type": KINDS[self.kind],
            "resource_name": self.name,
            "pattern_type": _PREFIXED if self.prefixed else _LITERAL,
        }


class Acls:
    def __init__(self, supers: Collection[str], host: str) -> None:
        """supers: users who may do anything. host: that of all clients."""
        self._supers = supers
        self._host = host
        self._all: dict[Acl, None] = {}

    def __bool__(self) -> bool:
        """Whether they may forbid anything."""
        return bool(self._all or self._supers)

    def permit(self, user: str, operation: str, kind: str, name: str) -> bool:
        if user in self._supers:
            return True
        found = [each for each in self._all if each.kind == kind and each.covers(name)]
        if not found:
            return not self._supers
        told = {each.allows for each in found if each.speaks_of(user, self._host, operation)}
        return told == {True}

    def describe(self, request: Request) -> Message:
        resources: dict[tuple[str, str, bool], Message] = {}
        for each in self._matching(request.body):
            found = resources.setdefault(each[:3], {**each.resource(), "acls": []})
            found["acls"].append(each.message())
        return {"error_code": ERRORS["NONE"], "resources": list(resources.values())}

    def create(self, request: Request) -> Message:
        results: list[Message] = []
        for asked in request.body["creations"]:
            found = _made(asked)
            if isinstance(found, Acl):
                self._all[found] = None
                results.append({"error_code": ERRORS["NONE"]})
            else:
                results.append({"error_code": ERRORS["INVALID_REQUEST"], "error_message": found})
        return {"results": results}

    def delete(self, request: Request) -> Message:
        results = []
        for asked in request.body["filters"]:
            gone = self._matching(asked)
            for each in gone:
                del self._all[each]
            told = [{**each.resource(), **each.message()} for each in gone]
            results.append({"error_code": ERRORS["NONE"], "matching_acls": told})
        return {"filter_results": results}

    def _matching(self, asked: Message) -> list[Acl]:
        """Those that fit a filter, of which each part may be any."""
        return [each for each in self._all if _fits(each, asked)]


def refused(request: Request, error: str, why: str) -> Message:
    """The answer to a request about ACLs that is refused."""
    told = {"error_code": ERRORS[error], "error_message": why}
    if request.api == "DescribeAcls":
        return {**told, "resources": []}
    if request.api == "CreateAcls":
        return {"results": [told for _ in request.body["creations"]]}
    return {"filter_results": [{**told, "matching_acls": []} for _ in request.body["filters"]]}


def _made(asked: Message) -> Acl | str:
    """Make an ACL, or say why it is refused (AclControlManager.validateNewAcl).

    What is asked nowhere here would be without effect.
    """
    kinds = {number: kind for kind, number in KINDS.items()}
    operations = {number: name for name, number in OPERATIONS.items()}
    pattern = asked.get("resource_pattern_type", _LITERAL)
    if asked["permission_type"] not in (_DENY, _ALLOW):
        return f"Invalid permissionType {asked['permission_type']}"
    if pattern not in (_LITERAL, _PREFIXED):
        return f"Invalid patternType {pattern}"
    if not asked["resource_name"]:
        return "Resource name should not be empty"
    if asked["resource_type"] not in kinds or asked["operation"] not in operations:
        return f"Served are {', '.join(OPERATIONS)} of {', '.join(KINDS)}"
    kind, _, user = asked["principal"].partition(":")
    if kind != "User" or not user:
        return "A principal is User:NAME"
    return Acl(
        kinds[asked["resource_type"]],
        asked["resource_name"],
        pattern == _PREFIXED,
        user,
        asked["host"],
        operations[asked["operation"]],
        asked["permission_type"] == _ALLOW,
    )


def _fits(acl: Acl, asked: Message) -> bool:
    """ResourcePatternFilter.matches, AccessControlEntryFilter.matches."""
    told = {**acl.resource(), **acl.message()}
    pattern = asked.get("pattern_type_filter", _LITERAL)
    name = asked["resource_name_filter"]
    if pattern not in (_ANY, _MATCH, told["pattern_type"]):
        return False
    if name is not None and not (acl.covers(name) if pattern == _MATCH else acl.name == name):
        return False
    return (
        asked["resource_type_filter"] in (_ANY, told["resource_type"])
        and asked["principal_filter"] in (None, told["principal"])
        and asked["host_filter"] in (None, told["host"])
        and asked["operation"] in (_ANY, told["operation"])
        and asked["permission_type"] in (_ANY, told["permission_type"])
    )

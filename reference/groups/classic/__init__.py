"""A consumer group of the classic protocol, as in specs/groups/classic (docs/reference/groups.md).

In reading order: messages, types, rules, coordinator, member, properties, protocol.
"""

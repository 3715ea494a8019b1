"""A consumer group of the classic protocol (docs/groups.md), as the specs in specs/classic have it.

In reading order: messages, types, rules, coordinator, member, properties, protocol.
"""

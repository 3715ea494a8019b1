"""A consumer group (KIP-848): its coordinator, whose log may move, and its members.

Names and order are those of specs/groups; rule ids (G3 ...) are those of
docs/reference/protocol-rules.md. There is one group; each partition is a topic of its own.
"""

"""Producers of one transactional id, its coordinators, and the partitions that it writes to.

Names and order are those of specs/transactions; rule ids (X1 ...) are those of
docs/reference/protocol-rules.md. There is one transactional id with one producer id.
"""

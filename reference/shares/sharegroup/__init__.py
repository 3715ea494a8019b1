"""The group coordinator's part in share groups (KIP-932): state is initialized, altered, deleted.

Reading order: messages.py, types.py, rules.py, group.py, store.py, leader.py, properties.py,
protocol.py. docs/reference/shares.md says what is promised, and what is left out.
"""

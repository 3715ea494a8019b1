"""A share group's partition (KIP-932): its leader, the share coordinator, consumers.

Reading order: messages.py, types.py, rules.py, cells.py, leader.py, coordinator.py, consumer.py,
properties.py, protocol.py. docs/reference/shares.md says what is promised, and what is left out.
"""

"""A broker whose replica follows the metadata (KRaft's `ReplicaManager.applyDelta`, KIP-858).

It reads records and snapshots, and its directories may fail.

Reading order: types.py, messages.py, rules.py, handlers.py, properties.py, protocol.py. What the
controller decides is `reference/partition/reassignment`'s.
"""

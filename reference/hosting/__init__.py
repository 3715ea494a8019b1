"""A broker whose replica follows the metadata, by records and by snapshots, in directories that
fail (KRaft's `ReplicaManager.applyDelta`, KIP-858).

Reading order: types.py, messages.py, rules.py, handlers.py, properties.py, protocol.py. What the
controller decides is `reference/reassignment`'s.
"""

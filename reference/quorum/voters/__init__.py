"""Controllers that join and leave the voters of a quorum, one at a time (KIP-853).

Reading order: types.py, messages.py, rules.py, handlers.py, properties.py, protocol.py. What a
voter does under one set is `reference/quorum`'s, and is not said again.
"""

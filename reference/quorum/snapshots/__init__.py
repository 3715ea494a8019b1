"""Snapshots of the metadata log: made, cleaned, fetched and loaded (KIP-630).

Reading order: types.py, messages.py, rules.py, handlers.py, properties.py, protocol.py. What a
controller does besides, and an observer, is `reference/quorum/voters`', and is not said again.
"""

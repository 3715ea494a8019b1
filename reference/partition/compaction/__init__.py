"""A broker's replica of a compacted partition (Kafka's `LogCleaner`, `CoordinatorLoaderImpl`).

It is cleaned while others write, fetch and load it.

Reading order: types.py, messages.py, rules.py, handlers.py, properties.py, protocol.py; keys.py
says which keys the records of a coordinator have. What replicates the log is
`reference/partition`'s.
"""

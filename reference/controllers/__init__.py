"""Controllers that decide ahead of what is committed, and answer after it (C0).

Reading order: messages.py, types.py, rules.py, handlers.py, properties.py, protocol.py. What a
decision is, and how the quorum elects and replicates, is `reference/partition` and
`reference/quorum`.
"""

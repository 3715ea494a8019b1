"""Consumer groups with the offsets that all members commit, in one piece.

Reading order: messages.py, types.py, rules.py, handlers.py, properties.py, protocol.py. What is the
same as in `reference/groups` is not said again.
"""

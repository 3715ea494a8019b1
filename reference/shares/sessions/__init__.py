"""Share sessions (KIP-932, "Share sessions"): a broker's session cache, and consumers.

Reading order: messages.py, types.py, rules.py, broker.py, client.py, properties.py, protocol.py.
docs/reference/shares.md says what is promised, and what is left out.
"""

"""The controller quorum by the rules of Apache Kafka 4.1 and later (KIP-1166, KAFKA-17030).

Reading order: messages.py, types.py, rules.py, handlers.py, protocol.py. What is the same as in
`reference/quorum` is not said again.
"""

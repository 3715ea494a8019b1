"""The protocol without IO: values, rules, handlers, timers and invariants.

Reading order: log, messages, types, rules, quorum; then timers, properties, invariants. Each
imports only from those before it, the standard library and msgspec. No clock, chance, disk or
network.
"""

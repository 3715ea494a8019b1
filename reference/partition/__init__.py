"""A partition: brokers and their controller without IO, the known bugs, and its runs.

Reading order: log, messages, types, rules, row; controller, isr, replication, broker; then
properties, invariants; protocol says what there is. replay: the controller's state from its log
alone. sim: a world around them. steered: runs that are told every move. proof: what holds beyond
bounds.
"""

"""The controller quorum: its voters without IO, their known bugs, and its runs.

Reading order: messages, types, rules, handlers; then timers, properties, invariants; protocol says
what there is. sim: a world around them. steered: runs by a script of moves. proof: what holds
beyond bounds.
"""

"""Replay TLC's counterexamples as moves of the reference; judge and shrink schedules of moves.

Reading order: search; rows, readings; following, plain; moves; relation (whether TLC refuses a step
of a schedule) with departures; minimising; endings; retold. How the models of a protocol are read
stands in its folder (reference/quorum/counterexamples.py).

The reduced models fuse moves and forget what no handler can notice, so a counterexample does not
say which moves were made. They are searched for: between two states of TLC the shortest sequence of
moves of the reference that leads from what the first shows to what the second shows.
"""

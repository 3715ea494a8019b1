"""What a deterministic world is made of, whatever the protocol; runs of one that has no other.

Reading order: choices, options; network, events; interning, memo, recorder; headed,
schedules; plain. The worlds of protocols lie with them, and reference/runner is what others call.
"""

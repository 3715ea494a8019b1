"""What a deterministic world is made of, whatever the protocol.

Reading order: choices, options; network, events; interning, memo, recorder; headed, schedules;
family, genomes, begun. The worlds of protocols lie with them, and reference/runner is what others
call.
"""

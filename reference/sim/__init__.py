"""A deterministic world for the reference: network, disks, clocks, faults, clients, a scheduler.

Reading order: choices, faults, scenario; network, disk, clock, workload; memo, recorder; scheduler,
run; narrate. `run` is what others call.
"""

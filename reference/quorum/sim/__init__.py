"""A world around voters: network, disks, clocks, faults, clients, a scheduler.

Reading order: faults, scenario; disk, clock, workload; machine, trouble, progress; scheduler.
"""

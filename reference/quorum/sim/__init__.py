"""A world around voters: network, disks, clocks, faults, clients, a scheduler.

Reading order: faults, scenario; run, disk, workload; machine, trouble, progress; scheduler.
"""

"""The world of reference/quorum/sim around controllers whose voters change, observers and snapshots.

Reading order: machine, administrator, scheduler.
"""

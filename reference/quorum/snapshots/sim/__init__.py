"""The world of reference/quorum/sim around voters that change, observers and snapshots.

Reading order: changes, machine, administrator, scheduler; family.
"""

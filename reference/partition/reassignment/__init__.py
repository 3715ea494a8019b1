"""The controller of a topic whose partitions move (KIP-455, KIP-860, KIP-858).

Reading order: types.py, messages.py, rules.py, handlers.py, properties.py, protocol.py. Who leads
under one list of replicas is chosen by `reference/partition`, and is not said again.
"""

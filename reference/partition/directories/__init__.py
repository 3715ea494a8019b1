"""A partition whose replicas move, on brokers with log directories that fail.

Reading order: types, messages, handlers, properties, protocol; what a run needs is in sim.
"""

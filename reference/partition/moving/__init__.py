"""A partition whose replicas move between brokers, with its records, brokers and controller.

Reading order: types, messages, rules, handlers, properties, protocol; what a run needs is in sim.
"""

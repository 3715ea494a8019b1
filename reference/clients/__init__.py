"""Clients without IO, whatever log they talk to, and what they may count on.

Reading order: promises; partitioner, producer, consumer.
"""

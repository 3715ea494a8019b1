"""The protocol without IO: values, rules, handlers, timers and invariants.

The quorum, in reading order: log, messages, types, rules, quorum; then timers, properties,
invariants. A partition: partition_log, partition_messages, partition_types, partition_rules,
partition_row; controller, isr, replication, broker; then partition_properties and
partition_invariants. Both: cluster_types, replay, topics. Clients: producer, consumer, partitioner;
what they may count on: promises. Each imports only from those before it, the standard library and
msgspec. No clock, chance, disk or network.
"""

"""A cluster: a quorum whose log is the metadata, brokers, and several partitions of topics."""

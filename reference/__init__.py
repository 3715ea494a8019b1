"""A compact, deterministic reference of Kafka's replicated logs in KRaft mode."""

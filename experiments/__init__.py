"""Experiments on real Apache Kafka clusters: what the specs predict, tried on the original."""

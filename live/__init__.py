"""Real Apache Kafka clusters: run them, disturb them, record what their clients see."""

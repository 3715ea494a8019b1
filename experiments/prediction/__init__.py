"""What the reference predicts, and what Apache Kafka does: situations, outcomes, both sides.

Reading order: situations, outcomes; expected (the reference), observed (Kafka); store, page.
"""

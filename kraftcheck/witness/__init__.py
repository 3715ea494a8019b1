"""Apache Kafka's own classes as one more implementation: driven by our schedules, judged by the
same specs. docs/witness.md is about it; live/witness has the JVM.

Order of reading: kafka.py (which classes); of a quorum of real Kafka, speech.py (words),
schedule.py (its moves), chance.py (runs), quorum.py (the verbs).
"""

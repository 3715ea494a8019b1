"""Apache Kafka's own classes as one more implementation: driven by our schedules, judged by the
same specs. docs/witness.md is about it; live/witness has the JVM.

Order of reading: speech.py (words), schedule.py (a quorum of real Kafka), chance.py (runs).
"""

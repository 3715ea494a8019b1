"""Drive Apache Kafka's own classes by our schedules, and judge them by the same specs.

docs/witness.md is about it; kraftcheck/live/witness has the JVM.

Order of reading: kafka.py (which classes), speech.py (words), driving.py (runs), replaying.py
(schedules), shrinking.py (small ones), covering.py (graphs), following.py and departures.py behind
them; of a quorum, schedule.py (its moves), chance.py (runs), quorum_graphs.py, quorum.py; of a
partition, partition.py.
"""

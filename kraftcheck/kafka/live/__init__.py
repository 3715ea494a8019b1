"""Real Apache Kafka clusters: run them, disturb them, record what their clients see.

Reading order. A cluster: artifacts.py (Kafka, fetched), islands.py (hosts on this machine),
cluster.py, faults.py, rest.py. Clients: journal.py (what is written down), library.py and its two
libraries (confluent.py, kafka_python.py), clients.py, workloads.py, crew.py. What is recorded
besides: metadata.py, datalog.py, polling.py with broker.py, facts.py. recording.py is all of it.
proxy.py and interpose.py stand in the way on purpose.

kraftcheck/kafka/observed judges what comes of it, and needs nothing of this.
"""

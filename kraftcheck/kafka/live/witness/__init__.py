"""Real classes of Apache Kafka in one JVM, told every input: what a move is, Kafka says.

Order of reading: jars.py (where the classes come from), host.py (the JVM, and how it is asked),
java/ (the host itself: Host, then Node, then a component, such as Voter or Broker).
"""

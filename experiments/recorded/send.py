"""Sends records with confluent-kafka until it is ended: send.py TOPIC NAME=VALUE ..."""

from __future__ import annotations

import sys
import time

import confluent_kafka

topic, *settings = sys.argv[1:]
producer = confluent_kafka.Producer(dict(each.split("=", 1) for each in settings))
end = time.monotonic() + 600
number = 0
while time.monotonic() < end:
    producer.produce(topic, str(number))
    producer.poll(0)
    number += 1
    time.sleep(0.005)
producer.flush()

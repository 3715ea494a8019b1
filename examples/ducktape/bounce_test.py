"""Produce, consume and validate while brokers are bounced, in the form of Kafka's system tests.

These tests wait until all is consumed. What was consumed, `kraftcheck check` judges afterwards.
"""

import time

from ducktape.mark import matrix
from ducktape.tests.test import Test
from ducktape.utils.util import wait_until
from services import ConsoleConsumer, Kafka, VerifiableConsumer, VerifiableProducer

TOPIC = "t"


class BounceTest(Test):
    def setup(self):
        self.kafka = Kafka(self.test_context)
        self.kafka.start()

    @matrix(how=["stop", "kill"])
    def test_bounce(self, how):
        """how: by SIGTERM, with consumers of a group; by SIGKILL, with the console consumer."""
        self.kafka.create_topic(TOPIC, partitions=2)
        producer = VerifiableProducer(self.test_context, self.kafka, TOPIC)
        kind = VerifiableConsumer if how == "stop" else ConsoleConsumer
        consumer = kind(self.test_context, self.kafka, TOPIC)
        consumer.start()
        producer.start()
        wait_until(lambda: producer.acked() > 100, timeout_sec=120, err_msg="nothing was acked")
        for broker in Kafka.BROKERS:
            self.kafka.bounce(broker, how)
            time.sleep(3)
        producer.stop()
        wait_until(lambda: consumer.consumed() >= producer.acked(), timeout_sec=120, backoff_sec=1)
        consumer.stop()

// The CPU time that a producer takes for a record: without an interceptor, with one that only adds a
// header as long as the recorder's, with the recorder, and with the recorder without a header. Four
// producers of one JVM, in turn. Prints a line for each round, in nanoseconds of the JVM:
//
//     java -cp 'libs/*' Interceptor.java BOOTSTRAP HISTORY BYTES RECORDS ROUNDS

import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import kraftcheck.clients.ProducerRecorder;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerInterceptor;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class Interceptor {
    /** What the recorder's header costs alone. */
    public static class Header implements ProducerInterceptor<byte[], byte[]> {
        @Override
        public ProducerRecord<byte[], byte[]> onSend(ProducerRecord<byte[], byte[]> record) {
            record.headers().add("~k", new byte[7]);
            return record;
        }

        @Override
        public void onAcknowledgement(RecordMetadata metadata, Exception exception) {}

        @Override
        public void close() {}

        @Override
        public void configure(Map<String, ?> configs) {}
    }

    private static final com.sun.management.OperatingSystemMXBean SYSTEM =
        (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    public static void main(String[] args) {
        int bytes = Integer.parseInt(args[2]);
        int records = Integer.parseInt(args[3]);
        Map<String, Object> plain = Map.of("bootstrap.servers", args[0], "acks", "all",
            "batch.size", 16384, "linger.ms", 5, "key.serializer", ByteArraySerializer.class,
            "value.serializer", ByteArraySerializer.class);
        Map<String, Object> named = new HashMap<>(plain);
        named.put("interceptor.classes", List.of(Header.class));
        Map<String, Object> recorded = new HashMap<>(plain);
        recorded.put("interceptor.classes", ProducerRecorder.class.getName());
        recorded.put("kraftcheck.history.path", args[1]);
        Map<String, Object> bare = new HashMap<>(recorded);
        bare.put("kraftcheck.history.header", "false");
        try (var first = new KafkaProducer<byte[], byte[]>(plain);
                var second = new KafkaProducer<byte[], byte[]>(named);
                var third = new KafkaProducer<byte[], byte[]>(recorded);
                var fourth = new KafkaProducer<byte[], byte[]>(bare)) {
            for (int round = 0; round < Integer.parseInt(args[4]); round++) {
                System.out.println(cost(first, bytes, records) + " " + cost(second, bytes, records)
                    + " " + cost(third, bytes, records) + " " + cost(fourth, bytes, records));
            }
        }
    }

    private static long cost(KafkaProducer<byte[], byte[]> producer, int bytes, int records) {
        Random random = new Random(bytes);
        AtomicLong failed = new AtomicLong();
        long before = SYSTEM.getProcessCpuTime();
        for (int record = 0; record < records; record++) {
            byte[] value = new byte[bytes];
            random.nextBytes(value);
            producer.send(new ProducerRecord<>("t", value), (metadata, exception) -> {
                if (exception != null) {
                    failed.incrementAndGet();
                }
            });
        }
        producer.flush();
        if (failed.get() > 0) {
            throw new IllegalStateException(failed + " records were not acknowledged");
        }
        return (SYSTEM.getProcessCpuTime() - before) / records;
    }
}

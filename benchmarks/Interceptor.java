// The processor's time that a producer takes for a record, without and with the interceptor: two
// producers of one JVM, in turn. Prints a line of both for each round, in nanoseconds of the JVM:
//
//     java -cp 'libs/*' Interceptor.java BOOTSTRAP HISTORY BYTES RECORDS ROUNDS

import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import kraftcheck.clients.ProducerRecorder;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class Interceptor {
    private static final com.sun.management.OperatingSystemMXBean SYSTEM =
        (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    public static void main(String[] args) {
        int bytes = Integer.parseInt(args[2]);
        int records = Integer.parseInt(args[3]);
        Map<String, Object> plain = Map.of("bootstrap.servers", args[0], "acks", "all",
            "batch.size", 16384, "linger.ms", 5, "key.serializer", ByteArraySerializer.class,
            "value.serializer", ByteArraySerializer.class);
        Map<String, Object> recorded = new HashMap<>(plain);
        recorded.put("interceptor.classes", ProducerRecorder.class.getName());
        recorded.put("kraftcheck.history.path", args[1]);
        try (var first = new KafkaProducer<byte[], byte[]>(plain);
                var second = new KafkaProducer<byte[], byte[]>(recorded)) {
            for (int round = 0; round < Integer.parseInt(args[4]); round++) {
                System.out.println(cost(first, bytes, records) + " " + cost(second, bytes, records));
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

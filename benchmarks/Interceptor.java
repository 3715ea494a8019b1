// The processor's time that the interceptor takes for a record, without a broker: a send and its
// acknowledgement, in batches of 16. Prints nanoseconds of the application's thread, and of the JVM.
//
//     java -cp 'libs/*' Interceptor.java HISTORY

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import kraftcheck.clients.ProducerRecorder;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;

public class Interceptor {
    private static final int ROUNDS = 6;
    private static final int BATCHES = 25_000;
    private static final int BATCH = 16;

    public static void main(String[] args) {
        var threads = ManagementFactory.getThreadMXBean();
        var system =
            (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        var recorder = new ProducerRecorder();
        recorder.configure(Map.of("kraftcheck.history.path", args[0]));
        var place = new TopicPartition("t", 0);
        long offset = 0;
        for (int round = 0; round < ROUNDS; round++) {
            long thread = threads.getCurrentThreadCpuTime();
            long all = system.getProcessCpuTime();
            for (int batch = 0; batch < BATCHES; batch++) {
                List<ProducerRecord<Object, Object>> sent = new ArrayList<>(BATCH);
                for (int at = 0; at < BATCH; at++) {
                    sent.add(recorder.onSend(new ProducerRecord<>("t", "v")));
                }
                for (var each : sent) {
                    var metadata = new RecordMetadata(place, offset++, 0, 0, 1, 1);
                    recorder.onAcknowledgement(metadata, null, each.headers());
                }
            }
            long records = (long) BATCHES * BATCH;
            System.out.println((threads.getCurrentThreadCpuTime() - thread) / records + " "
                + (system.getProcessCpuTime() - all) / records);
        }
        recorder.close();
    }
}

// Two producers with Kafka's own settings and one transactional.id. The first begins a transaction,
// writes for half a second, commits, and goes on so for ever; where it is told that it has to abort,
// it aborts and goes on. Two seconds later the second one comes, and initialises.
//
// Prints a line of JSON: what came of the second one, after how many ms; how many transactions the
// first one committed and aborted meanwhile, and what ended it, if anything did.
//
//     java -cp 'libs/*' Insist.java BOOTSTRAP TOPIC TRANSACTIONAL_ID

import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.StringSerializer;

public class Insist {
    static volatile int committed, aborted;
    static volatile boolean over;

    static KafkaProducer<String, String> producer(String[] args) {
        var text = new StringSerializer();
        Map<String, Object> properties =
            Map.of("bootstrap.servers", args[0], "transactional.id", args[2]);
        return new KafkaProducer<>(properties, text, text);
    }

    static void insist(KafkaProducer<String, String> producer, String topic) throws Exception {
        while (!over) {
            try {
                producer.beginTransaction();
                long until = System.currentTimeMillis() + 500;
                while (System.currentTimeMillis() < until) {
                    producer.send(new ProducerRecord<>(topic, 0, null, "x")).get();
                }
                producer.commitTransaction();
                committed++;
            } catch (KafkaException | java.util.concurrent.ExecutionException error) {
                producer.abortTransaction(); // throws as well where the producer is unusable
                aborted++;
            }
        }
    }

    public static void main(String[] args) throws Exception {
        var ended = new AtomicReference<Throwable>();
        var first = producer(args);
        first.initTransactions();
        var busy = new Thread(() -> {
            try {
                insist(first, args[1]);
            } catch (Throwable error) {
                ended.set(error);
            }
        });
        busy.start();
        Thread.sleep(2000);
        int before = aborted;
        long began = System.currentTimeMillis();
        String came = "initialised";
        var second = producer(args);
        try {
            second.initTransactions();
        } catch (KafkaException error) {
            came = error.getClass().getSimpleName();
        }
        long took = System.currentTimeMillis() - began;
        int aborts = aborted - before;
        over = true;
        busy.join();
        var by = ended.get() == null ? "" : ended.get().getClass().getSimpleName();
        System.out.printf(
            "{\"second\":\"%s\",\"ms\":%d,\"committed\":%d,\"aborted\":%d,\"first\":\"%s\"}%n",
            came, took, committed, aborts, by);
        System.exit(0);
    }
}

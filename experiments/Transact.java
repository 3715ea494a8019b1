// Kafka's producer with its own settings and a transactional.id, told step by step what to do: each
// line of input is "begin", "send VALUE [PARTITION]" (of partition 0, if none is said), "batch COUNT"
// (values 0 and so on, at once), "commit" or "abort". Each is answered by a line of JSON, once it is done, and so is the start.
//
//     java -cp 'libs/*' Transact.java BOOTSTRAP TOPIC TRANSACTIONAL_ID [NAME=VALUE ...]

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

public class Transact {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final int SENT_S = 150; // delivery.timeout.ms ends no wait for the coordinator

    public static void main(String[] args) throws Exception {
        var text = new StringSerializer();
        Map<String, Object> properties =
            new HashMap<>(Map.of("bootstrap.servers", args[0], "transactional.id", args[2]));
        for (int at = 3; at < args.length; at++) {
            properties.put(args[at].split("=", 2)[0], args[at].split("=", 2)[1]);
        }
        var input = new BufferedReader(new InputStreamReader(System.in));
        var producer = new KafkaProducer<>(properties, text, text);
        int status = 0;
        try {
            producer.initTransactions();
            String line = "init";
            do {
                var words = line.split(" ");
                int partition = words.length < 3 ? 0 : Integer.parseInt(words[2]);
                long offset = -1;
                switch (words[0]) {
                    case "begin" -> producer.beginTransaction();
                    case "commit" -> producer.commitTransaction();
                    case "abort" -> producer.abortTransaction();
                    case "batch" -> {
                        for (int value = 0; value < Integer.parseInt(words[1]); value++) {
                            producer.send(new ProducerRecord<>(args[1], 0, null, "" + value));
                        }
                        producer.flush();
                    }
                    case "send" -> offset = producer.send(
                        new ProducerRecord<>(args[1], partition, null, words[1]))
                        .get(SENT_S, TimeUnit.SECONDS).offset();
                }
                System.out.println("{\"did\":\"%s\",\"offset\":%d}".formatted(line, offset));
                line = input.readLine();
            } while (line != null);
        } catch (Exception error) { // which Java's launcher of sources may fail to print
            System.out.println(error);
            status = 1;
        }
        producer.close(PATIENCE); // one whose transaction cannot end would wait for ever
        System.exit(status);
    }
}

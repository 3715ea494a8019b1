// Producers of Kafka's own client, told line by line what to do:
//
//     NAME new KEY=VALUE ...                a producer with these properties
//     NAME init                             before its first transaction
//     NAME send TOPIC PARTITION VALUE       one record, outside of transactions
//     NAME write TOPIC PARTITION VALUE ...  begins a transaction, and sends these records
//     NAME commit, NAME abort, NAME close
//
// VALUE is in hexadecimal. Each line is answered by one, NAME and then a word for each record, or
// one: an offset, "ok", or the simple name of the exception behind a "!". A commit that was refused
// is "aborted" or "unknown", before its exception. Producers do not wait for each other. The end of
// the input is the end of the program.
//
//     java -cp 'libs/*' Producers.java

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class Producers {
    private static final Duration PATIENCE = Duration.ofSeconds(5);

    private KafkaProducer<byte[], byte[]> producer;

    public static void main(String[] args) throws Exception {
        Map<String, Producers> producers = new HashMap<>();
        Map<String, ExecutorService> threads = new HashMap<>();
        var input = new BufferedReader(new InputStreamReader(System.in));
        say("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            Producers own = producers.computeIfAbsent(words[0], name -> new Producers());
            threads.computeIfAbsent(words[0], name -> Executors.newSingleThreadExecutor())
                .execute(() -> say(words[0] + " " + own.answer(words)));
            if (words[1].equals("close")) {
                producers.remove(words[0]);
                threads.remove(words[0]).shutdown();
            }
        }
        System.exit(0);
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private String answer(String[] words) {
        try {
            return done(words);
        } catch (RuntimeException problem) {
            return "!" + problem.getClass().getSimpleName();
        }
    }

    private String done(String[] words) {
        switch (words[1]) {
            case "new" -> {
                Map<String, Object> properties = new HashMap<>();
                for (int i = 2; i < words.length; i++) {
                    String[] pair = words[i].split("=", 2);
                    properties.put(pair[0], pair[1]);
                }
                var bytes = new ByteArraySerializer();
                producer = new KafkaProducer<>(properties, bytes, bytes);
            }
            case "init" -> producer.initTransactions();
            case "send" -> {
                return told(sent(words));
            }
            case "write" -> {
                producer.beginTransaction();
                var futures = sent(words);
                producer.flush();
                return told(futures);
            }
            case "commit" -> {
                return committed();
            }
            case "abort" -> producer.abortTransaction();
            case "close" -> {
                if (producer != null) {
                    producer.close(PATIENCE);
                }
            }
            default -> throw new IllegalArgumentException(words[1]);
        }
        return "ok";
    }

    private List<Future<RecordMetadata>> sent(String[] words) {
        List<Future<RecordMetadata>> futures = new ArrayList<>();
        for (int i = 3; i < words.length; i += 2) {
            byte[] value = HexFormat.of().parseHex(words[i + 1]);
            futures.add(producer.send(
                new ProducerRecord<>(words[2], Integer.parseInt(words[i]), null, value)));
        }
        return futures;
    }

    private static String told(List<Future<RecordMetadata>> futures) {
        List<String> told = new ArrayList<>();
        for (var future : futures) {
            try {
                told.add(Long.toString(future.get().offset()));
            } catch (ExecutionException problem) {
                told.add("!" + problem.getCause().getClass().getSimpleName());
            } catch (InterruptedException problem) {
                told.add("!" + problem.getClass().getSimpleName());
            }
        }
        return String.join(" ", told);
    }

    // What times out may happen yet, and nothing but the same may be asked again. After any other
    // refusal of a commit the client says by itself whether it can still be aborted.
    private String committed() {
        try {
            producer.commitTransaction();
            return "ok";
        } catch (TimeoutException | InterruptException problem) {
            return "unknown !" + problem.getClass().getSimpleName();
        } catch (RuntimeException problem) {
            String name = "!" + problem.getClass().getSimpleName();
            try {
                producer.abortTransaction();
                return "aborted " + name;
            } catch (RuntimeException refused) {
                return "unknown " + name;
            }
        }
    }
}

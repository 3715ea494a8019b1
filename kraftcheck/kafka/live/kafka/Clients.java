// Producers and share consumers of Kafka's own client, told line by line what to do:
//
//     NAME new KEY=VALUE ...                     a producer with these properties
//     NAME init                                  before its first transaction
//     NAME send TOPIC PARTITION VALUE            one record, outside of transactions
//     NAME write TOPIC PARTITION VALUE ...       begins a transaction, and sends these records
//     NAME commit, NAME abort, NAME close
//
//     NAME share KEY=VALUE ...                   a share consumer with these properties
//     NAME earliest GROUP                        the group begins at the start of each log
//     NAME subscribe TOPIC
//     NAME poll MILLISECONDS
//     NAME acknowledge PARTITION OFFSET TYPE ... records of the last poll
//     NAME commit, NAME close
//
// VALUE is in hexadecimal. Each line is answered by one, NAME and then words. Clients do not wait
// for each other. The end of the input is the end of the program.
//
// To a producer the answer is a word for each record, or one: an offset, "ok", or the simple name of
// the exception behind a "!". A commit that was refused is "aborted" or "unknown", before its
// exception.
//
// To a share consumer a poll has a word for each record, "record:PARTITION:OFFSET:COUNT:VALUE"; a
// commit one for each partition, "committed:PARTITION:RESULT". Any has "acked:PARTITION:OFFSET:RESULT"
// for each acknowledgement that was answered meanwhile. RESULT is "ok" or the simple name of an
// exception. The last word is "ok", or the simple name of the exception behind a "!".
//
//     java -cp 'libs/*' Clients.java

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
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public abstract class Clients {
    static final Duration PATIENCE = Duration.ofSeconds(5);

    public static void main(String[] args) throws Exception {
        Map<String, Clients> clients = new HashMap<>();
        Map<String, ExecutorService> threads = new HashMap<>();
        var input = new BufferedReader(new InputStreamReader(System.in));
        say("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            Clients own = clients.computeIfAbsent(words[0], name ->
                words[1].equals("share") ? new ShareConsumer() : new Producer());
            threads.computeIfAbsent(words[0], name -> Executors.newSingleThreadExecutor())
                .execute(() -> say(words[0] + " " + own.answer(words)));
            if (words[1].equals("close")) {
                clients.remove(words[0]);
                threads.remove(words[0]).shutdown();
            }
        }
        System.exit(0);
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    abstract String answer(String[] words);

    static Map<String, Object> properties(String[] words) {
        Map<String, Object> properties = new HashMap<>();
        for (int i = 2; i < words.length; i++) {
            String[] pair = words[i].split("=", 2);
            properties.put(pair[0], pair[1]);
        }
        return properties;
    }
}

final class Producer extends Clients {
    private KafkaProducer<byte[], byte[]> producer;

    @Override
    String answer(String[] words) {
        try {
            return done(words);
        } catch (RuntimeException problem) {
            return "!" + problem.getClass().getSimpleName();
        }
    }

    private String done(String[] words) {
        switch (words[1]) {
            case "new" -> {
                var bytes = new ByteArraySerializer();
                producer = new KafkaProducer<>(properties(words), bytes, bytes);
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

final class ShareConsumer extends Clients {
    private final Map<String, ConsumerRecord<byte[], byte[]>> shown = new HashMap<>();
    private final List<String> told = new ArrayList<>();
    private Map<String, Object> properties;
    private KafkaShareConsumer<byte[], byte[]> consumer;

    @Override
    String answer(String[] words) {
        String last = "ok";
        try {
            done(words);
        } catch (Exception problem) {
            last = "!" + problem.getClass().getSimpleName();
        }
        told.add(last);
        String answer = String.join(" ", told);
        told.clear();
        return answer;
    }

    private void done(String[] words) throws Exception {
        switch (words[1]) {
            case "share" -> {
                properties = properties(words);
                var bytes = new ByteArrayDeserializer();
                consumer = new KafkaShareConsumer<>(properties, bytes, bytes);
                consumer.setAcknowledgementCommitCallback((offsets, problem) ->
                    offsets.forEach((place, all) -> all.forEach(offset ->
                        acked(place.partition(), offset, problem))));
            }
            case "earliest" -> {
                var group = new ConfigResource(ConfigResource.Type.GROUP, words[2]);
                var entry = new ConfigEntry("share.auto.offset.reset", "earliest");
                var change = List.of(new AlterConfigOp(entry, AlterConfigOp.OpType.SET));
                var server = properties.get("bootstrap.servers");
                try (var admin = Admin.create(Map.of("bootstrap.servers", server))) {
                    admin.incrementalAlterConfigs(Map.of(group, change)).all().get();
                }
            }
            case "subscribe" -> consumer.subscribe(List.of(words[2]));
            case "poll" -> {
                shown.clear();
                for (var each : consumer.poll(Duration.ofMillis(Long.parseLong(words[2])))) {
                    shown.put(each.partition() + ":" + each.offset(), each);
                    told.add("record:" + each.partition() + ":" + each.offset() + ":"
                        + each.deliveryCount().orElse((short) 0) + ":"
                        + HexFormat.of().formatHex(each.value()));
                }
            }
            case "acknowledge" -> {
                for (int i = 2; i < words.length; i += 3) {
                    var type = AcknowledgeType.valueOf(words[i + 2].toUpperCase());
                    consumer.acknowledge(shown.get(words[i] + ":" + words[i + 1]), type);
                }
            }
            case "commit" -> consumer.commitSync().forEach((place, problem) -> told.add(
                "committed:" + place.partition() + ":" + result(problem.orElse(null))));
            case "close" -> {
                if (consumer != null) {
                    consumer.close(PATIENCE);
                }
            }
            default -> throw new IllegalArgumentException(words[1]);
        }
    }

    private void acked(int partition, long offset, Exception problem) {
        told.add("acked:" + partition + ":" + offset + ":" + result(problem));
    }

    private static String result(Exception problem) {
        return problem == null ? "ok" : problem.getClass().getSimpleName();
    }
}

// Share consumers of Kafka's own client, told line by line what to do:
//
//     NAME new KEY=VALUE ...                     a consumer with these properties
//     NAME earliest GROUP                        the group begins at the start of each log
//     NAME subscribe TOPIC
//     NAME poll MILLISECONDS
//     NAME acknowledge PARTITION OFFSET TYPE ... records of the last poll
//     NAME commit
//     NAME close
//
// Each line is answered by one, NAME and then words. A poll has a word for each record,
// "record:PARTITION:OFFSET:COUNT:VALUE" (VALUE in hexadecimal); a commit one for each partition,
// "committed:PARTITION:RESULT". Any has "acked:PARTITION:OFFSET:RESULT" for each acknowledgement
// that was answered meanwhile. RESULT is "ok" or the simple name of an exception. The last word is
// "ok", or the simple name of the exception behind a "!". Consumers do not wait for each other.
// The end of the input is the end of the program.
//
//     java -cp 'libs/*' ShareConsumers.java

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

public class ShareConsumers {
    private static final Duration PATIENCE = Duration.ofSeconds(5);

    private final Map<String, Object> properties = new HashMap<>();
    private final Map<String, ConsumerRecord<byte[], byte[]>> shown = new HashMap<>();
    private final List<String> told = new ArrayList<>();
    private KafkaShareConsumer<byte[], byte[]> consumer;

    public static void main(String[] args) throws Exception {
        Map<String, ShareConsumers> consumers = new HashMap<>();
        Map<String, ExecutorService> threads = new HashMap<>();
        var input = new BufferedReader(new InputStreamReader(System.in));
        say("ready");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            var own = consumers.computeIfAbsent(words[0], name -> new ShareConsumers());
            threads.computeIfAbsent(words[0], name -> Executors.newSingleThreadExecutor())
                .execute(() -> say(words[0] + " " + own.answer(words)));
            if (words[1].equals("close")) {
                consumers.remove(words[0]);
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
            case "new" -> {
                for (int i = 2; i < words.length; i++) {
                    String[] pair = words[i].split("=", 2);
                    properties.put(pair[0], pair[1]);
                }
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

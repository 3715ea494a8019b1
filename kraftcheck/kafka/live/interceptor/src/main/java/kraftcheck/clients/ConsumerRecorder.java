package kraftcheck.clients;

import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerInterceptor;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/**
 * Records what a consumer is given and what it commits, by configuration alone:
 * {@code interceptor.classes=kraftcheck.clients.ConsumerRecorder}.
 *
 * <p>Not visible here: polls that return nothing, seeks, and which partitions are assigned.
 */
public final class ConsumerRecorder implements ConsumerInterceptor<Object, Object> {
    private Recorder recorder;

    @Override
    public void configure(Map<String, ?> configs) {
        recorder = new Recorder(configs, line -> {
            line.raw(",\"role\":\"consumer\"");
            field(line, configs, "id", ConsumerConfig.CLIENT_ID_CONFIG);
            field(line, configs, "group", ConsumerConfig.GROUP_ID_CONFIG);
            field(line, configs, "isolation", ConsumerConfig.ISOLATION_LEVEL_CONFIG);
            field(line, configs, "reset", ConsumerConfig.AUTO_OFFSET_RESET_CONFIG);
        });
    }

    private static void field(Line line, Map<String, ?> configs, String name, String setting) {
        ProducerRecorder.field(line, name, Recorder.setting(configs, setting));
    }

    @Override
    public ConsumerRecords<Object, Object> onConsume(ConsumerRecords<Object, Object> records) {
        if (!recorder.records() || records.isEmpty()) {
            return records;
        }
        long now = System.nanoTime();
        for (TopicPartition place : records.partitions()) {
            List<ConsumerRecord<Object, Object>> read = records.records(place);
            long[] offsets = new long[read.size()];
            byte[][] ids = new byte[read.size()][];
            for (int at = 0; at < offsets.length; at++) {
                ConsumerRecord<Object, Object> record = read.get(at);
                offsets[at] = record.offset();
                ids[at] = RecordId.of(record.headers());
            }
            recorder.put(line -> {
                recorder.begin(line, "read", now).raw(",\"topic\":").text(place.topic())
                    .raw(",\"partition\":").number(place.partition()).raw(",\"records\":[");
                for (int at = 0; at < offsets.length; at++) {
                    line.raw(at == 0 ? "[" : ",[").number(offsets[at]).raw(",").id(ids[at]).raw("]");
                }
                line.raw("]}");
            });
        }
        return records;
    }

    @Override
    public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {
        if (!recorder.records()) {
            return;
        }
        long now = System.nanoTime();
        Map<TopicPartition, OffsetAndMetadata> committed = Map.copyOf(offsets);
        recorder.put(line -> {
            recorder.begin(line, "committed", now).raw(",\"offsets\":[");
            String between = "";
            for (Map.Entry<TopicPartition, OffsetAndMetadata> each : committed.entrySet()) {
                line.raw(between).raw("[").text(each.getKey().topic()).raw(",")
                    .number(each.getKey().partition()).raw(",")
                    .number(each.getValue().offset()).raw("]");
                between = ",";
            }
            line.raw("]}");
        });
    }

    @Override
    public void close() {
        if (recorder != null) {
            recorder.close();
        }
    }
}

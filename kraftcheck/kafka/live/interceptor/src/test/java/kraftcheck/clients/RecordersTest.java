package kraftcheck.clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RecordersTest {
    @TempDir Path folder;

    private Map<String, Object> settings(String name) {
        Map<String, Object> settings = new HashMap<>();
        settings.put(Recorder.PATH, folder.resolve(name).toString());
        return settings;
    }

    private ProducerRecorder producer(Map<String, Object> settings) {
        ProducerRecorder producer = new ProducerRecorder();
        producer.configure(settings);
        return producer;
    }

    private List<String> lines(String name) throws IOException {
        return Files.readAllLines(folder.resolve(name)).stream()
            .filter(line -> !line.isBlank()).collect(Collectors.toList());
    }

    private long count(String name, String event) throws IOException {
        return lines(name).stream().filter(line -> line.contains("\"" + event + "\"")).count();
    }

    /** How many records lines of this event are about. */
    private long records(String name, String event) throws IOException {
        return lines(name).stream().filter(line -> line.contains("\"" + event + "\""))
            .mapToLong(line -> line.contains("\"count\":")
                ? Long.parseLong(line.replaceAll(".*\"count\":(\\d+).*", "$1")) : 1)
            .sum();
    }

    private static ProducerRecord<Object, Object> record() {
        return new ProducerRecord<>("t", "value");
    }

    private static RecordMetadata at(long offset) {
        return new RecordMetadata(new TopicPartition("t", 0), offset, 0, 0, 1, 1);
    }

    @Test
    void aSendIsNamedAndItsAcknowledgementBearsTheName() throws IOException {
        ProducerRecorder producer = producer(settings("a"));
        ProducerRecord<Object, Object> sent = producer.onSend(record());
        assertNotNull(RecordId.of(sent.headers()));
        producer.onAcknowledgement(at(7), null, sent.headers());
        producer.onAcknowledgement(at(8), null);
        producer.onAcknowledgement(at(-1), new TimeoutException("late"), sent.headers());
        producer.close();
        assertEquals(1, count("a", "send"));
        String id = "\"id\":\"" + RecordId.jvm() + "-";
        List<String> acked = lines("a").stream()
            .filter(line -> line.contains("acked")).collect(Collectors.toList());
        assertTrue(acked.get(0).contains(id) && acked.get(0).contains("\"offset\":7"));
        assertFalse(acked.get(1).contains(id));
        assertEquals(1, count("a", "failed"));
        assertEquals("{\"event\":\"end\",\"jvm\":\"" + RecordId.jvm() + "\"}",
            lines("a").get(lines("a").size() - 1));
    }

    @Test
    void withoutAHeaderRecordsAreCountedAndBearNothing() throws IOException {
        Map<String, Object> settings = settings("h");
        settings.put(Recorder.HEADER, "false");
        ProducerRecorder producer = producer(settings);
        ProducerRecorder naming = producer(settings("n"));
        ProducerRecord<Object, Object> forwarded = naming.onSend(record());
        naming.close();
        for (ProducerRecord<Object, Object> each : List.of(record(), forwarded)) {
            ProducerRecord<Object, Object> sent = producer.onSend(each);
            assertEquals(0, sent.headers().toArray().length);
            producer.onAcknowledgement(at(7), null, sent.headers());
        }
        producer.close();
        assertEquals(2, records("h", "send"));
        assertEquals(2, records("h", "acked"));
        assertTrue(lines("h").stream().anyMatch(line -> line.contains("\"header\":\"false\"")));
        assertTrue(lines("h").stream().noneMatch(line -> line.contains("\"id\"")));
    }

    @Test
    void anIdIsAsShortAsItsNumber() {
        for (long number : new long[] {0, 255, 256, 0xffff_ffffL, 0x7fff_ffff_ffff_ffffL}) {
            byte[] id = RecordId.encode(number);
            assertEquals(number, RecordId.counter(id));
            assertEquals(4 + (Math.max(1, Long.toHexString(number).length()) + 1) / 2, id.length);
            RecordHeaders headers = new RecordHeaders();
            headers.add(RecordId.HEADER, id);
            assertEquals(number, RecordId.own(headers));
        }
    }

    @Test
    void aRecordThatIsSentAgainGetsANameOfItsOwn() {
        ProducerRecorder producer = producer(settings("b"));
        ProducerRecord<Object, Object> record = record();
        ProducerRecord<Object, Object> first = producer.onSend(record);
        long id = RecordId.own(first.headers());
        ((RecordHeaders) first.headers()).setReadOnly();
        ProducerRecord<Object, Object> second = producer.onSend(record);
        assertTrue(RecordId.own(second.headers()) > id);
        assertEquals(1, second.headers().toArray().length);
        assertEquals(id, RecordId.own(first.headers()));
        producer.close();
    }

    @Test
    void recordsThatFollowEachOtherShareALine() throws IOException {
        ProducerRecorder producer = producer(settings("f"));
        for (int at = 0; at < 1000; at++) {
            ProducerRecord<Object, Object> sent = producer.onSend(record());
            // Every hundredth acknowledgement does not follow the one before it.
            producer.onAcknowledgement(at(at + at / 100), null, sent.headers());
        }
        for (int at = 0; at < 1000; at++) {
            producer.onAcknowledgement(at(5000 + at), null);
        }
        producer.close();
        assertEquals(1000, records("f", "send"));
        assertEquals(2000, records("f", "acked"));
        assertTrue(count("f", "acked") < 2000);
    }

    @Test
    void threadsShareAProducerAndNoSendIsLostOrTwice() throws Exception {
        ProducerRecorder producer = producer(settings("g"));
        Thread[] threads = new Thread[4];
        for (int at = 0; at < threads.length; at++) {
            threads[at] = new Thread(() -> {
                for (int send = 0; send < 20_000; send++) {
                    producer.onSend(record());
                }
            });
            threads[at].start();
        }
        for (Thread each : threads) {
            each.join();
        }
        producer.close();
        Set<Long> sent = new HashSet<>();
        for (String line : lines("g")) {
            if (line.contains("\"send\"")) {
                long first = Long.parseLong(line.replaceAll(".*-(\\d+)\".*", "$1"));
                long many = line.contains("\"count\":")
                    ? Long.parseLong(line.replaceAll(".*\"count\":(\\d+).*", "$1")) : 1;
                for (long at = 0; at < many; at++) {
                    assertTrue(sent.add(first + at), line);
                }
            }
        }
        assertEquals(80_000, sent.size());
    }

    @Test
    void aLineIsOfOneThread() throws Exception {
        ProducerRecorder producer = producer(settings("i"));
        for (int at = 0; at < 3; at++) {
            producer.onSend(record());
            Thread other = new Thread(() -> producer.onSend(record()));
            other.start();
            other.join();
        }
        producer.close();
        assertEquals(6, count("i", "send"));
        assertEquals(6, records("i", "send"));
        String own = "\"thread\":" + Thread.currentThread().getId() + "}";
        assertEquals(3, lines("i").stream().filter(line -> line.endsWith(own)).count());
    }

    @Test
    void whatFindsNoRoomIsDroppedAndCounted() throws Exception {
        Map<String, Object> settings = settings("c");
        settings.put(Recorder.BUFFER, "4");
        settings.put(Recorder.BLOCK, "20");
        ProducerRecorder producer = producer(settings);
        HistoryFile file = HistoryFile.open(folder.resolve("c"), 4);
        CountDownLatch held = new CountDownLatch(1);
        CountDownLatch writing = new CountDownLatch(1);
        file.put(line -> {
            writing.countDown();
            try {
                held.await(10, TimeUnit.SECONDS);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
            line.raw("{\"event\":\"end\",\"jvm\":\"held\"}");
        }, 0);
        assertTrue(writing.await(5, TimeUnit.SECONDS));
        long begin = System.nanoTime();
        int named = 0;
        for (int at = 0; at < 1000; at++) {
            // No line can cover records of two topics.
            ProducerRecord<Object, Object> record = new ProducerRecord<>("t" + at % 2, "value");
            named += RecordId.of(producer.onSend(record).headers()) == null ? 0 : 1;
        }
        // It waited once for the bound, and then no more.
        assertTrue(System.nanoTime() - begin < TimeUnit.MILLISECONDS.toNanos(1000));
        assertEquals(4, named);
        held.countDown();
        file.release();
        producer.close();
        assertEquals(4, records("c", "send"));
        long dropped = lines("c").stream().filter(line -> line.contains("dropped"))
            .mapToLong(line -> Long.parseLong(line.replaceAll(".*\"events\":(\\d+).*", "$1"))).sum();
        assertTrue(dropped >= 996, "dropped " + dropped);
    }

    @Test
    void anApplicationGoesOnWhereNothingCanBeRecorded() {
        for (Object path : new Object[] {null, " ", "/nowhere/at/all", folder.toString(), "a\0b"}) {
            Map<String, Object> settings = new HashMap<>();
            settings.put(Recorder.PATH, path);
            ProducerRecorder producer = producer(settings);
            ProducerRecord<Object, Object> record = record();
            assertSame(record, producer.onSend(record));
            assertNull(RecordId.of(record.headers()));
            producer.onAcknowledgement(at(1), null, record.headers());
            producer.close();
        }
        Map<String, Object> settings = settings("d");
        settings.put(Recorder.HEADER, "no");
        assertNull(RecordId.of(producer(settings).onSend(record()).headers()));
    }

    @Test
    void textIsEscapedAndNumbersAreWhole() {
        Line line = new Line();
        line.text("a\"b\\c\n\u00e9").raw(" ").number(0).raw(" ").number(Long.MAX_VALUE).raw(" ")
            .number(-5);
        String written = new String(line.array(), 0, line.length(), java.nio.charset.StandardCharsets.UTF_8);
        assertEquals("\"a\\\"b\\\\c\\u000a\u00e9\" 0 9223372036854775807 -5", written);
    }

    @Test
    void twoClientsShareAFileAndTheLastOneEndsIt() throws IOException {
        ProducerRecorder one = producer(settings("e"));
        ProducerRecorder other = producer(settings("e"));
        one.close();
        assertEquals(0, count("e", "end"));
        other.onSend(record());
        other.close();
        assertEquals(1, count("e", "begin"));
        assertEquals(1, count("e", "end"));
    }
}

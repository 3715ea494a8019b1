// A Streams application that copies topic IN to topic OUT. It knows nothing of kraftcheck.
//
//     java -cp 'libs/*' Stream.java STREAMS.properties IN OUT

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;

public class Stream {
    public static void main(String[] args) throws Exception {
        var properties = new Properties();
        try (var file = Files.newBufferedReader(Path.of(args[0]))) {
            properties.load(file);
        }
        var builder = new StreamsBuilder();
        builder.stream(args[1]).to(args[2]);
        var streams = new KafkaStreams(builder.build(), properties);
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
        streams.start();
    }
}

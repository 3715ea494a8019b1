package kraftcheck.witness;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.util.RawValue;

import java.io.IOException;
import java.io.StringWriter;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;

/** JSON as text, by the library that Kafka has. Fields stand in the order in which they are given. */
public final class Json {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private Json() {}

    public static JsonNode read(String text) {
        try {
            return MAPPER.readTree(text);
        } catch (JsonProcessingException e) {
            throw new Refusal("no JSON: " + text);
        }
    }

    public static Map<String, Object> fields(Object... namesAndValues) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            map.put((String) namesAndValues[i], namesAndValues[i + 1]);
        }
        return map;
    }

    public static String text(Map<String, ?> fields) {
        StringWriter text = new StringWriter();
        try (JsonGenerator out = MAPPER.getFactory().createGenerator(text)) {
            write(out, fields);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
        return text.toString();
    }

    /** As the mapper would, which looks for the serializer of each value: twice the time of a row. */
    private static void write(JsonGenerator out, Object value) throws IOException {
        if (value instanceof Map<?, ?> fields) {
            out.writeStartObject();
            for (Map.Entry<?, ?> each : fields.entrySet()) {
                out.writeFieldName(each.getKey().toString());
                write(out, each.getValue());
            }
            out.writeEndObject();
        } else if (value instanceof Collection<?> values) {
            out.writeStartArray();
            for (Object each : values) {
                write(out, each);
            }
            out.writeEndArray();
        } else if (value instanceof RawValue raw) {
            out.writeRawValue((String) raw.rawValue());
        } else if (value instanceof String text) {
            out.writeString(text);
        } else {
            MAPPER.writeValue(out, value);
        }
    }

    /** Text that is JSON already, as a value. */
    public static RawValue raw(String text) {
        return new RawValue(text);
    }
}

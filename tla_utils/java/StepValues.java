import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.zip.CRC32;
import tlc2.value.impl.BoolValue;
import tlc2.value.impl.FcnRcdValue;
import tlc2.value.impl.IntValue;
import tlc2.value.impl.ModelValue;
import tlc2.value.impl.RecordValue;
import tlc2.value.impl.SetEnumValue;
import tlc2.value.impl.StringValue;
import tlc2.value.impl.TupleValue;
import tlc2.value.impl.Value;
import util.UniqueString;

/**
 * The operators of the module StepValues: recorded steps as values of TLC, read from a file.
 *
 * <p>A step is one MessagePack value for each column. A column has a shape, which says what value of
 * the specification an encoded value is: arrays may be sequences, sets, functions or records, and
 * fields have other names there. `tla_utils/stepvalues.py` writes the file and documents its form.
 *
 * <p>Steps are decoded when TLC asks for them. Few are alive at a time, so the heap stays small.
 * Everything that is not of the announced shape is an error, never a guess.
 */
public final class StepValues {
  private static final int PLAIN = 0;
  private static final int SCALAR = 1;
  private static final int SEQUENCE = 2;
  private static final int SET = 3;
  private static final int FUNCTION = 4;
  private static final int RECORD = 5;
  private static final int UNION = 6;
  private static final int EXT_SET = 1;
  private static final int EXT_FUNCTION = 2;
  private static final int EXT_MODEL_VALUE = 3;

  private static byte[] data;
  private static int at;
  private static int[] starts;
  private static Shape[] shapes;
  private static int[][] forms;
  private static Fields columns;
  private static int lastStep = -1;
  private static Value last;
  private static final Map<Text, StringValue> strings = new HashMap<>();
  private static final Text probe = new Text();

  private StepValues() {}

  /** Whether the file of the batch was read: the one with this checksum, with so many steps. */
  public static Value SB_Loaded(Value checksum, Value count) throws IOException {
    byte[] read = Files.readAllBytes(Path.of("StepBatch.values"));
    CRC32 sum = new CRC32();
    sum.update(read);
    String found = Long.toHexString(sum.getValue());
    if (!found.equals(((StringValue) checksum).val.toString())) {
      return BoolValue.ValFalse;
    }
    data = read;
    at = 0;
    lastStep = -1;
    open();
    return starts.length - 1 == ((IntValue) count).val ? BoolValue.ValTrue : BoolValue.ValFalse;
  }

  /** Step number i, counted from 1, as a record with one field per column. */
  public static synchronized Value SB_step(Value number) {
    int i = ((IntValue) number).val;
    if (i != lastStep) {
      try {
        last = step(i);
      } catch (IllegalArgumentException | ArithmeticException | IndexOutOfBoundsException error) {
        throw new IllegalStateException("SB_undecoded: step " + i + ": " + error.getMessage());
      }
      lastStep = i;
    }
    return last;
  }

  private static Value step(int i) {
    at = starts[i - 1];
    int form = number();
    Value[] values = new Value[columns.size];
    for (int k = 0; k < values.length; k++) {
      values[columns.place[k]] = value(shapes[forms[form][k]]);
    }
    if (at != starts[i]) {
      throw new IllegalArgumentException("it does not end where the next one begins");
    }
    return columns.record(values);
  }

  private static void open() {
    int steps = number();
    starts = new int[steps + 1];
    ByteBuffer lengths = ByteBuffer.wrap(data, at, 4 * steps);
    at += 4 * steps;
    for (int i = 0; i < steps; i++) {
      starts[i + 1] = starts[i] + lengths.getInt();
    }
    String[] names = names(array());
    columns = new Fields(names);
    shapes = new Shape[array()];
    for (int i = 0; i < shapes.length; i++) {
      shapes[i] = shape();
    }
    forms = new int[array()][];
    for (int i = 0; i < forms.length; i++) {
      forms[i] = numbers(array());
    }
    for (int i = 0; i <= steps; i++) {
      starts[i] += at;
    }
    if (starts[steps] != data.length) {
      throw new IllegalArgumentException("the steps do not end where the file ends");
    }
  }

  /** Names of fields, and the order in which TLC has those of a record. */
  private static final class Fields {
    final int size;
    final int[] place;
    final UniqueString[] sorted;

    Fields(String[] names) {
      size = names.length;
      UniqueString[] given = new UniqueString[size];
      for (int i = 0; i < size; i++) {
        given[i] = UniqueString.uniqueStringOf(names[i]);
      }
      sorted = given.clone();
      Arrays.sort(sorted, (one, other) -> one.compareTo(other));
      place = new int[size];
      for (int i = 0; i < size; i++) {
        place[i] = Arrays.asList(sorted).indexOf(given[i]);
      }
    }

    Value record(Value[] inPlace) {
      return new RecordValue(sorted, inPlace, true);
    }
  }

  private static final class Shape {
    int kind;
    int member; // of a sequence, set or function: the shape of what it holds
    Value[] arguments; // of a function
    boolean isSequence; // of a function: its arguments are 1..n
    boolean isArray; // of a record: its fields have no names in the file
    int tagged; // of a record: 1 if a tag comes first in the file, else 0
    byte[] tagField;
    Value tag;
    byte[][] encoded; // of a record: the names of its fields in the file
    int[] fields; // of a record: their shapes
    int[] defaults; // of a record: where the default of a field is, or -1
    Fields names; // of a record: the tag's, if it has one, and the fields'
    Map<Text, Integer> cases; // of a union: by tag
    int untagged; // of a union: the shape of what has no tag, or -1
  }

  private static Shape shape() {
    Shape shape = new Shape();
    array();
    shape.kind = number();
    switch (shape.kind) {
      case PLAIN:
      case SCALAR:
        break;
      case SEQUENCE:
      case SET:
        shape.member = number();
        break;
      case FUNCTION:
        shape.member = number();
        int[] arguments = numbers(array());
        shape.arguments = new Value[arguments.length];
        shape.isSequence = true;
        for (int i = 0; i < arguments.length; i++) {
          shape.arguments[i] = IntValue.gen(arguments[i]);
          shape.isSequence &= arguments[i] == i + 1;
        }
        break;
      case RECORD:
        shape.isArray = number() == 1;
        shape.tagField = text().getBytes(StandardCharsets.UTF_8);
        shape.tagged = shape.tagField.length > 0 ? 1 : 0;
        shape.tag = new StringValue(text());
        int size = array();
        String[] names = new String[size + shape.tagged];
        if (shape.tagged == 1) {
          names[0] = new String(shape.tagField, StandardCharsets.UTF_8);
        }
        shape.encoded = new byte[size][];
        shape.fields = new int[size];
        shape.defaults = new int[size];
        for (int i = 0; i < size; i++) {
          array();
          shape.encoded[i] = text().getBytes(StandardCharsets.UTF_8);
          names[i + shape.tagged] = text();
          shape.fields[i] = number();
          int length = bytes();
          shape.defaults[i] = length == 0 ? -1 : at;
          at += length;
        }
        shape.names = new Fields(names);
        break;
      case UNION:
        shape.untagged = number();
        shape.tagField = text().getBytes(StandardCharsets.UTF_8);
        shape.cases = new HashMap<>();
        for (int i = array(); i > 0; i--) {
          array();
          Text tag = new Text(text().getBytes(StandardCharsets.UTF_8));
          shape.cases.put(tag, number());
        }
        break;
      default:
        throw new IllegalArgumentException("no shape has the number " + shape.kind);
    }
    return shape;
  }

  private static Value value(Shape shape) {
    switch (shape.kind) {
      case PLAIN:
        return plain();
      case SCALAR:
        return scalar(data[at++] & 0xff);
      case SEQUENCE:
        return sequence(shape);
      case SET:
        return set(members(shape, array()));
      case FUNCTION:
        return function(shape);
      case RECORD:
        return record(shape);
      default:
        return value(caseOf(shape));
    }
  }

  private static Value sequence(Shape shape) {
    int size = array();
    return size == 0 ? TupleValue.EmptyTuple : new TupleValue(members(shape, size));
  }

  private static Value[] members(Shape shape, int size) {
    Shape member = shapes[shape.member];
    Value[] members = new Value[size];
    for (int i = 0; i < size; i++) {
      members[i] = value(member);
    }
    return members;
  }

  private static Value set(Value[] members) {
    int size = members.length;
    SetEnumValue set = new SetEnumValue(members, size < 2);
    set.normalize();
    if (set.size() != size) {
      throw new IllegalArgumentException("a set has a member that occurs twice");
    }
    return set;
  }

  private static Value function(Shape shape) {
    int size = array();
    if (size != shape.arguments.length) {
      throw new IllegalArgumentException(
          "a function has " + size + " values for " + shape.arguments.length + " arguments");
    }
    Value[] values = members(shape, size);
    if (shape.isSequence) {
      return new TupleValue(values);
    }
    return new FcnRcdValue(shape.arguments.clone(), values, false).normalize();
  }

  private static Value record(Shape shape) {
    int there = shape.isArray ? array() : map();
    int size = shape.fields.length;
    Fields names = shape.names;
    Value[] values = new Value[names.size];
    if (shape.tagged == 1) {
      if (!shape.isArray && !skip(shape.tagField)) {
        throw new IllegalArgumentException("a record without its tag");
      }
      values[names.place[0]] = string(stringLength(data[at++] & 0xff));
      if (!values[names.place[0]].equals(shape.tag)) {
        throw new IllegalArgumentException("a record with the tag of another");
      }
      there--;
    }
    for (int i = 0; i < size; i++) {
      Value value;
      if (shape.isArray || (there > 0 && skip(shape.encoded[i]))) {
        value = value(shapes[shape.fields[i]]);
        there--;
      } else if (shape.defaults[i] >= 0) {
        int behind = at;
        at = shape.defaults[i];
        value = value(shapes[shape.fields[i]]);
        at = behind;
      } else {
        throw new IllegalArgumentException(
            "a record without " + new String(shape.encoded[i], StandardCharsets.UTF_8));
      }
      values[names.place[i + shape.tagged]] = value;
    }
    if (there != 0) {
      throw new IllegalArgumentException("a record with other fields than its shape");
    }
    return names.record(values);
  }

  /** Whether this name comes next; if so, it is behind us. */
  private static boolean skip(byte[] name) {
    int begin = at;
    int length = stringLength(data[at++] & 0xff);
    if (length == name.length && Arrays.equals(data, at, at + length, name, 0, length)) {
      at += length;
      return true;
    }
    at = begin;
    return false;
  }

  private static Shape caseOf(Shape shape) {
    int begin = at;
    int code = data[at] & 0xff;
    boolean isMap = (code & 0xf0) == 0x80 || code == 0xde || code == 0xdf;
    boolean isArray = (code & 0xf0) == 0x90 || code == 0xdc || code == 0xdd;
    Integer found = null;
    if (isMap ? map() > 0 && skip(shape.tagField) : isArray && array() > 0 && isString()) {
      int length = stringLength(data[at++] & 0xff);
      probe.set(data, at, length);
      found = shape.cases.get(probe);
    }
    at = begin;
    if (found == null && shape.untagged < 0) {
      throw new IllegalArgumentException("a record with a tag that its shape does not have");
    }
    return shapes[found == null ? shape.untagged : found];
  }

  private static boolean isString() {
    int code = data[at] & 0xff;
    return (code & 0xe0) == 0xa0 || (code >= 0xd9 && code <= 0xdb);
  }

  /** A value that says itself what it is. */
  private static Value plain() {
    int code = data[at] & 0xff;
    if ((code & 0xf0) == 0x90 || code == 0xdc || code == 0xdd) {
      Value[] members = plains(array());
      return members.length == 0 ? TupleValue.EmptyTuple : new TupleValue(members);
    }
    if ((code & 0xf0) == 0x80 || code == 0xde || code == 0xdf) {
      int size = map();
      UniqueString[] names = new UniqueString[size];
      Value[] values = new Value[size];
      for (int i = 0; i < size; i++) {
        names[i] = ((StringValue) string(stringLength(data[at++] & 0xff))).val;
        values[i] = plain();
      }
      return new RecordValue(names, values, false).normalize();
    }
    if ((code >= 0xc7 && code <= 0xc9) || (code >= 0xd4 && code <= 0xd8)) {
      at++;
      int length = code >= 0xd4 ? 1 << (code - 0xd4) : unsigned(1 << (code - 0xc7));
      switch (data[at++]) {
        case EXT_SET:
          return set(plains(array()));
        case EXT_FUNCTION:
          Value[] parts = plains(array());
          Value[] arguments = new Value[parts.length / 2];
          Value[] values = new Value[parts.length / 2];
          for (int i = 0; i < arguments.length; i++) {
            arguments[i] = parts[2 * i];
            values[i] = parts[2 * i + 1];
          }
          return new FcnRcdValue(arguments, values, false).normalize();
        case EXT_MODEL_VALUE:
          String name = new String(data, at, length, StandardCharsets.UTF_8);
          at += length;
          return ModelValue.make(name);
        default:
          throw new IllegalArgumentException("an extension of MessagePack that is not ours");
      }
    }
    at++;
    return scalar(code);
  }

  private static Value[] plains(int size) {
    Value[] members = new Value[size];
    for (int i = 0; i < size; i++) {
      members[i] = plain();
    }
    return members;
  }

  private static Value scalar(int code) {
    if (code == 0xc2) {
      return BoolValue.ValFalse;
    }
    if (code == 0xc3) {
      return BoolValue.ValTrue;
    }
    if ((code & 0xe0) == 0xa0 || (code >= 0xd9 && code <= 0xdb)) {
      return string(stringLength(code));
    }
    return IntValue.gen(integer(code));
  }

  private static Value string(int length) {
    probe.set(data, at, length);
    StringValue known = strings.get(probe);
    if (known == null) {
      byte[] own = Arrays.copyOfRange(data, at, at + length);
      known = new StringValue(new String(own, StandardCharsets.UTF_8));
      strings.put(new Text(own), known);
    }
    at += length;
    return known;
  }

  private static int integer(int code) {
    if (code < 0x80) {
      return code;
    }
    if (code >= 0xe0) {
      return (byte) code;
    }
    long found;
    switch (code) {
      case 0xcc:
        return unsigned(1);
      case 0xcd:
        return unsigned(2);
      case 0xce:
        found = ByteBuffer.wrap(data, at, 4).getInt() & 0xffffffffL;
        at += 4;
        break;
      case 0xd0:
        return data[at++];
      case 0xd1:
        return (short) unsigned(2);
      case 0xd2:
        found = ByteBuffer.wrap(data, at, 4).getInt();
        at += 4;
        break;
      case 0xd3:
        found = ByteBuffer.wrap(data, at, 8).getLong();
        at += 8;
        break;
      default:
        throw new IllegalArgumentException(
            "no number, string or truth value begins with " + Integer.toHexString(code));
    }
    return Math.toIntExact(found);
  }

  private static int unsigned(int bytes) {
    int found = 0;
    for (int i = 0; i < bytes; i++) {
      found = (found << 8) | (data[at++] & 0xff);
    }
    return found;
  }

  private static int stringLength(int code) {
    if ((code & 0xe0) == 0xa0) {
      return code & 0x1f;
    }
    if (code < 0xd9 || code > 0xdb) {
      throw new IllegalArgumentException("no string begins with " + Integer.toHexString(code));
    }
    return unsigned(1 << (code - 0xd9));
  }

  private static int array() {
    int code = data[at++] & 0xff;
    if ((code & 0xf0) == 0x90) {
      return code & 0x0f;
    }
    if (code != 0xdc && code != 0xdd) {
      throw new IllegalArgumentException("no array begins with " + Integer.toHexString(code));
    }
    return unsigned(2 << (code - 0xdc));
  }

  private static int map() {
    int code = data[at++] & 0xff;
    if ((code & 0xf0) == 0x80) {
      return code & 0x0f;
    }
    if (code != 0xde && code != 0xdf) {
      throw new IllegalArgumentException("no map begins with " + Integer.toHexString(code));
    }
    return unsigned(2 << (code - 0xde));
  }

  private static int bytes() {
    int code = data[at++] & 0xff;
    if (code < 0xc4 || code > 0xc6) {
      throw new IllegalArgumentException("no bytes begin with " + Integer.toHexString(code));
    }
    return unsigned(1 << (code - 0xc4));
  }

  private static int number() {
    return integer(data[at++] & 0xff);
  }

  private static int[] numbers(int size) {
    int[] found = new int[size];
    for (int i = 0; i < size; i++) {
      found[i] = number();
    }
    return found;
  }

  private static String text() {
    int length = stringLength(data[at++] & 0xff);
    String found = new String(data, at, length, StandardCharsets.UTF_8);
    at += length;
    return found;
  }

  private static String[] names(int size) {
    String[] found = new String[size];
    for (int i = 0; i < size; i++) {
      found[i] = text();
    }
    return found;
  }

  /** Bytes by content: a key that can be looked for without a copy. */
  private static final class Text {
    private byte[] bytes;
    private int begin;
    private int length;
    private int hash;

    Text() {}

    Text(byte[] own) {
      set(own, 0, own.length);
    }

    void set(byte[] of, int from, int size) {
      bytes = of;
      begin = from;
      length = size;
      hash = size;
      for (int i = from; i < from + size; i++) {
        hash = 31 * hash + of[i];
      }
    }

    @Override
    public int hashCode() {
      return hash;
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Text
          && Arrays.equals(
              bytes, begin, begin + length, ((Text) other).bytes, ((Text) other).begin,
              ((Text) other).begin + ((Text) other).length);
    }
  }
}

package kafka.cluster;

import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.jdk.javaapi.OptionConverters;

import java.util.Optional;
import java.util.Set;

/** What is Scala's in one version of Kafka and Java's in the next, as Java's. */
@SuppressWarnings("unchecked")
final class Forms {
    private Forms() {}

    /** An Option or an Optional, with what a number is boxed in. */
    static <T> Optional<T> optional(Object either) {
        return either instanceof Option<?> scala ? (Optional<T>) OptionConverters.toJava(scala) : (Optional<T>) either;
    }

    static Set<Integer> set(Object either) {
        return either instanceof scala.collection.Set<?> scala
                ? (Set<Integer>) CollectionConverters.asJava(scala) : (Set<Integer>) either;
    }
}

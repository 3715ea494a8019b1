package kraftcheck.storage;

import org.apache.kafka.common.utils.Time;

import java.util.function.Supplier;

/** A clock that stands. */
final class Clock implements Time {
    long now;

    @Override
    public long milliseconds() {
        return now;
    }

    @Override
    public long nanoseconds() {
        return now * 1_000_000;
    }

    @Override
    public void sleep(long ms) {}

    @Override
    public void waitObject(Object obj, Supplier<Boolean> condition, long deadlineMs) {}
}

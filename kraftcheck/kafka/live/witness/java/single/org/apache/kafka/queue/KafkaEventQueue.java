package org.apache.kafka.queue;

import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/**
 * In place of Kafka's class of this name: a queue whose events happen at once, one after the other,
 * on the thread of whoever puts them in, and those that are to happen later when they are told to.
 */
public final class KafkaEventQueue implements EventQueue {
    public static final String EVENT_HANDLER_THREAD_SUFFIX = "event-handler";

    private final Time time;
    private final Event last;
    private final Deque<Event> now = new ArrayDeque<>();
    private final Map<String, Event> later = new HashMap<>();
    private boolean runs;
    private boolean ending;

    public KafkaEventQueue(Time time, LogContext context, String prefix) {
        this(time, context, prefix, VoidEvent.INSTANCE);
    }

    public KafkaEventQueue(Time time, LogContext context, String prefix, Event cleanupEvent) {
        this.time = time;
        last = cleanupEvent;
    }

    public KafkaEventQueue(Time time, LogContext context, String prefix, Event cleanupEvent, BiConsumer<Long, Long> idle) {
        this(time, context, prefix, cleanupEvent);
    }

    public Time time() {
        return time;
    }

    public void enqueue(EventInsertionType where, String tag, UnaryOperator<OptionalLong> deadline, Event event) {
        put(where, tag, event);
    }

    /** So called until 4.0. */
    public void enqueue(EventInsertionType where, String tag, Function<OptionalLong, OptionalLong> deadline, Event event) {
        put(where, tag, event);
    }

    private void put(EventInsertionType where, String tag, Event event) {
        if (ending) {
            event.handleException(new RejectedExecutionException("The event queue is shutting down"));
        } else if (where == EventInsertionType.DEFERRED) {
            later.put(tag, event);
        } else if (where == EventInsertionType.PREPEND) {
            now.addFirst(event);
        } else {
            now.addLast(event);
        }
        happen();
    }

    /** What was to happen later does now; whether there was something of this tag. */
    public boolean happens(String tag) {
        Event event = later.remove(tag);
        if (event != null) {
            now.addLast(event);
            happen();
        }
        return event != null;
    }

    private void happen() {
        if (runs) {
            return;
        }
        runs = true;
        while (!now.isEmpty()) {
            done(now.removeFirst());
        }
        runs = false;
    }

    private static void done(Event event) {
        try {
            event.run();
        } catch (Exception e) {
            event.handleException(e);
        }
    }

    @Override
    public void cancelDeferred(String tag) {
        later.remove(tag);
    }

    @Override
    public void beginShutdown(String source) {
        if (!ending) {
            ending = true;
            now.addLast(last);
            happen();
        }
    }

    @Override
    public int size() {
        return now.size() + later.size();
    }

    @Override
    public void wakeup() { }

    @Override
    public void close() {
        beginShutdown("close");
    }

    public Optional<Event> firstDeferredIfIdling() {
        return later.values().stream().findFirst();
    }
}

package kraftcheck.storage;

import org.apache.kafka.server.util.Scheduler;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ScheduledFuture;

/** What Kafka would do later waits until it is told, in the order in which it came. */
final class Later implements Scheduler {
    private List<Runnable> tasks = new ArrayList<>();

    @Override
    public void startup() {}

    @Override
    public void shutdown() {}

    @Override
    public void resizeThreadPool(int size) {}

    @Override
    public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
        if (periodMs < 0) {
            tasks.add(task);
        }
        return (ScheduledFuture<?>) Proxy.newProxyInstance(
            Later.class.getClassLoader(),
            new Class<?>[] {ScheduledFuture.class},
            (proxy, method, arguments) -> method.getReturnType() == boolean.class ? false : null);
    }

    void run() {
        List<Runnable> due = tasks;
        tasks = new ArrayList<>();
        due.forEach(Runnable::run);
    }
}

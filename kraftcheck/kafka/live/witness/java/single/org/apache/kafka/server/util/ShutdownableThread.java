package org.apache.kafka.server.util;

import org.apache.kafka.common.utils.LogContext;
import org.slf4j.Logger;

import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * In place of Kafka's class of this name: a thread that does a round of its work when it is told to,
 * and waits where it waits for an answer. Whoever tells it stands still meanwhile, so that only one
 * of all threads runs at any time.
 */
public abstract class ShutdownableThread extends Thread {
    public final String logPrefix;
    protected final Logger log;
    private final Semaphore turn = new Semaphore(0);
    private final Semaphore back = new Semaphore(0);
    private boolean begun;
    private boolean waits;
    private boolean stopping;
    private boolean over;
    private Throwable failed;

    public ShutdownableThread(String name) {
        this(name, true);
    }

    public ShutdownableThread(String name, boolean isInterruptible) {
        this(name, isInterruptible, "[" + name + "]: ");
    }

    @SuppressWarnings("this-escape")
    public ShutdownableThread(String name, boolean isInterruptible, String logPrefix) {
        super(name);
        this.logPrefix = logPrefix;
        log = new LogContext(logPrefix).logger(getClass());
        setDaemon(true);
    }

    /** It runs when it has its turn. */
    @Override
    public void start() { }

    public abstract void doWork();

    /** A round of its work, or what is left of it behind a wait; until it waits, or the round is over. */
    public final void goOn() {
        if (!begun) {
            begun = true;
            super.start();
        }
        turn.release();
        back.acquireUninterruptibly();
        if (failed instanceof RuntimeException thrown) {
            failed = null;
            throw thrown;
        }
        if (failed != null) {
            throw new AssertionError(failed);
        }
    }

    /** Of the thread whose turn it is: until the next. */
    public static void standStill() {
        ShutdownableThread self = (ShutdownableThread) Thread.currentThread();
        self.waits = true;
        self.back.release();
        self.turn.acquireUninterruptibly();
        self.waits = false;
    }

    @Override
    public void run() {
        while (!over) {
            turn.acquireUninterruptibly();
            if (!stopping) {
                try {
                    doWork();
                } catch (Throwable e) {
                    failed = e;
                }
            }
            over = stopping;
            back.release();
        }
    }

    public void shutdown() throws InterruptedException {
        initiateShutdown();
        awaitShutdown();
    }

    public boolean initiateShutdown() {
        boolean ran = !stopping;
        stopping = true;
        return ran;
    }

    /** Whoever waits comes to its end, and the thread is gone: it would keep its whole broker. */
    public void awaitShutdown() throws InterruptedException {
        if (begun && !over) {
            goOn();
        }
    }

    public boolean isRunning() {
        return !stopping;
    }

    public boolean isShutdownInitiated() {
        return stopping;
    }

    public boolean isShutdownComplete() {
        return stopping && !waits;
    }

    public boolean isStarted() {
        return begun;
    }

    public boolean isThreadFailed() {
        return false;
    }

    public void pause(long timeout, TimeUnit unit) { }
}

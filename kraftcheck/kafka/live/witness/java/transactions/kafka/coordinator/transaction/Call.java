package kafka.coordinator.transaction;

import java.util.concurrent.Semaphore;

/** A call that may stand still where nothing is locked: it has a thread, and of all threads one runs. */
final class Call extends Thread {
    /** The run is over while it stands still. */
    private static final class Over extends Error { }

    private final Semaphore turn = new Semaphore(0);
    private final Semaphore back = new Semaphore(0);
    private final Runnable what;
    private boolean begun;
    private boolean over;
    private RuntimeException failed;

    Call(Runnable what) {
        this.what = what;
        setDaemon(true);
    }

    /** Until it stands still, or is over. Throws what it throws. */
    void goOn() {
        if (begun) {
            turn.release();
        } else {
            begun = true;
            start();
        }
        back.acquireUninterruptibly();
        if (failed != null) {
            throw failed;
        }
    }

    /** Of the call whose turn it is. */
    void standStill() {
        back.release();
        turn.acquireUninterruptibly();
        if (over) {
            throw new Over();
        }
    }

    /** It goes no further. */
    void drop() {
        over = true;
        turn.release();
    }

    @Override
    public void run() {
        try {
            what.run();
        } catch (RuntimeException e) {
            failed = e;
        } catch (Over e) {
            return;
        }
        over = true;
        back.release();
    }
}

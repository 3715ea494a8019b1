// A debugger of a broker that lets a thread stand still: the one that is about to note a follower's fetch,
// where Partition.fetchRecords has let go of its lock (the breakpoint is the first line of
// updateFollowerFetchState). Other threads go on. It asks for no partition, so there should be one topic.
//
//     java HoldFetch.java PORT
//
// It is told what to do line by line, and answers each by one line of JSON:
//
//     hold BROKER OFFSET    the next fetch by that follower of that offset is to stand still
//     await OFFSET          {"held": whether it does}, within half a minute
//     release OFFSET        it goes on
//
// At the end of its input it goes, and what is held goes on.

import com.sun.jdi.Bootstrap;
import com.sun.jdi.IntegerValue;
import com.sun.jdi.LongValue;
import com.sun.jdi.ObjectReference;
import com.sun.jdi.ReferenceType;
import com.sun.jdi.ThreadReference;
import com.sun.jdi.Value;
import com.sun.jdi.VMDisconnectedException;
import com.sun.jdi.VirtualMachine;
import com.sun.jdi.connect.AttachingConnector;
import com.sun.jdi.event.BreakpointEvent;
import com.sun.jdi.event.Event;
import com.sun.jdi.event.EventSet;
import com.sun.jdi.request.BreakpointRequest;
import com.sun.jdi.request.EventRequest;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

public class HoldFetch {
    private static final String CLASS = "kafka.cluster.Partition";
    private static final String METHOD = "updateFollowerFetchState";
    private static final long PATIENCE_MS = 30_000;

    private final VirtualMachine broker;
    private final Map<Long, Integer> wanted = new HashMap<>();
    private final Map<Long, ThreadReference> held = new HashMap<>();

    public static void main(String[] args) throws Exception {
        HoldFetch holder = new HoldFetch(args[0]);
        Thread events = new Thread(holder::listen);
        events.setDaemon(true);
        events.start();
        BufferedReader steps = new BufferedReader(new InputStreamReader(System.in));
        for (String line = steps.readLine(); line != null; line = steps.readLine()) {
            String[] words = line.split(" ");
            System.out.println(switch (words[0]) {
                case "hold" -> holder.hold(Integer.parseInt(words[1]), Long.parseLong(words[2]));
                case "await" -> holder.await(Long.parseLong(words[1]));
                case "release" -> holder.release(Long.parseLong(words[1]));
                default -> throw new IllegalArgumentException(line);
            });
        }
        holder.leave();
    }

    private HoldFetch(String port) throws Exception {
        AttachingConnector connector = Bootstrap.virtualMachineManager().attachingConnectors().stream()
            .filter(each -> each.transport().name().equals("dt_socket") && each.defaultArguments().containsKey("port"))
            .findFirst().orElseThrow();
        var how = connector.defaultArguments();
        how.get("hostname").setValue("127.0.0.1");
        how.get("port").setValue(port);
        broker = connector.attach(how);
        List<ReferenceType> found = broker.classesByName(CLASS);
        if (found.isEmpty()) {
            throw new IllegalStateException("the broker has no partition yet");
        }
        BreakpointRequest request = broker.eventRequestManager().createBreakpointRequest(
            found.get(0).methodsByName(METHOD).get(0).location());
        request.setSuspendPolicy(EventRequest.SUSPEND_EVENT_THREAD);
        request.enable();
    }

    private void listen() {
        try {
            while (true) {
                EventSet events = broker.eventQueue().remove();
                for (Event event : events) {
                    if (!(event instanceof BreakpointEvent there && stays(there.thread()))) {
                        events.resume();
                    }
                }
            }
        } catch (InterruptedException | VMDisconnectedException end) {
            return; // the broker has ended, or this debugger has left
        } catch (Exception error) {
            System.out.println(error); // else the script would wait for nothing
            System.exit(1);
        }
    }

    private synchronized boolean stays(ThreadReference thread) throws Exception {
        List<Value> given = thread.frame(0).getArgumentValues();
        int follower = ((IntegerValue) field(given.get(0), "brokerId")).value();
        long offset = ((LongValue) field(given.get(1), "messageOffset")).value();
        if (!wanted.remove(offset, follower)) {
            return false;
        }
        held.put(offset, thread);
        notifyAll();
        return true;
    }

    private static Value field(Value of, String name) {
        ObjectReference object = (ObjectReference) of;
        return object.getValue(object.referenceType().fieldByName(name));
    }

    private synchronized String hold(int follower, long offset) {
        wanted.put(offset, follower);
        return "{\"waits\":true}";
    }

    private synchronized String await(long offset) throws InterruptedException {
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        for (long left = PATIENCE_MS; left > 0 && !held.containsKey(offset); ) {
            wait(left);
            left = deadline - System.currentTimeMillis();
        }
        return "{\"held\":%b}".formatted(held.containsKey(offset));
    }

    private synchronized String release(long offset) {
        held.remove(offset).resume();
        return "{\"went\":true}";
    }

    private void leave() {
        try {
            broker.dispose();
        } catch (VMDisconnectedException gone) {
            return; // the broker was killed
        }
    }
}

package kraftcheck.witness;

import javassist.util.proxy.ProxyFactory;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Stream;

/**
 * All reflection. What is private in Kafka is read here by its name, a few timers and timestamps are
 * set, and what is called otherwise in other versions is called by name. A name that is not there
 * ends the host, and is told.
 */
@SuppressWarnings("unchecked")
public final class Mirror {
    /** By class and name; empty: there is none. A key of both in one text costs more than the access. */
    private static final Map<Class<?>, Map<String, Optional<Field>>> FIELDS = new HashMap<>();
    /** By class, name, and number of arguments. */
    private static final Map<Class<?>, Map<String, Method[]>> METHODS = new HashMap<>();
    private static final int MOST_ARGUMENTS = 16;

    private Mirror() {}

    /** A Kafka that this host was not written for: no fault of Kafka, so no RuntimeException. */
    public static final class Unknown extends Error {
        Unknown(String what) {
            super(what);
        }

        @Override
        public String toString() {
            return getMessage();
        }
    }

    public static <T> T get(Object owner, String name) {
        return (T) tried(() -> field(owner.getClass(), name).get(owner));
    }

    public static <T> T constant(Class<?> type, String name) {
        return (T) tried(() -> field(type, name).get(null));
    }

    public static void set(Object owner, String name, Object value) {
        tried(() -> {
            field(owner.getClass(), name).set(owner, value);
            return null;
        });
    }

    public static boolean has(Object owner, String name) {
        return find(owner.getClass(), name) != null;
    }

    /** Whether a type, or that of an object, has a public method of this name with so many arguments. */
    public static boolean has(Object owner, String name, int arguments) {
        Class<?> type = owner instanceof Class<?> itself ? itself : owner.getClass();
        return Arrays.stream(type.getMethods())
                .anyMatch(m -> m.getName().equals(name) && m.getParameterCount() == arguments);
    }

    /** Whether an object has a public method of this name whose only argument is of this type. */
    public static boolean takes(Object owner, String name, Class<?> what) {
        return Arrays.stream(owner.getClass().getMethods()).anyMatch(m ->
                m.getName().equals(name) && Arrays.equals(m.getParameterTypes(), new Class<?>[] {what}));
    }

    /** Whether a type is named within those of the arguments of the public method of this name. */
    public static boolean takesIn(Class<?> type, String name, Class<?> what) {
        return Arrays.stream(type.getMethods()).filter(m -> m.getName().equals(name))
                .flatMap(m -> Arrays.stream(m.getGenericParameterTypes()))
                .anyMatch(of -> of.getTypeName().contains(what.getName() + '<'));
    }

    /** The constants of a type that are of this one. */
    public static <T> List<T> constants(Class<?> type, Class<T> what) {
        return Arrays.stream(type.getFields()).filter(each -> each.getType() == what)
                .map(each -> what.cast(tried(() -> each.get(null)))).toList();
    }

    /** Whether the public methods of this name return something of this type. */
    public static boolean returns(Class<?> type, String name, Class<?> what) {
        return Arrays.stream(type.getMethods())
                .allMatch(m -> !m.getName().equals(name) || what.isAssignableFrom(m.getReturnType()));
    }

    /** Calls the one public method that there is of these, which have one argument, and are called otherwise elsewhere. */
    public static <T> T callOne(Object owner, Object argument, String... names) {
        for (String name : names) {
            if (has(owner, name, 1)) {
                return call(owner, name, argument);
            }
        }
        throw new Unknown(owner.getClass().getName() + " has no method " + String.join(" or ", names));
    }

    /** How many arguments the methods of this name have at most, which need not be public. */
    public static int arguments(Class<?> type, String name) {
        return Arrays.stream(type.getDeclaredMethods()).filter(m -> m.getName().equals(name))
                .mapToInt(Method::getParameterCount).max()
                .orElseThrow(() -> new Unknown(type.getName() + " has no method " + name));
    }

    /** What a method returns, which is the only one of its name with so many arguments; a public one, if one is. */
    public static <T> T call(Object owner, String name, Object... arguments) {
        return called(owner.getClass(), owner, name, arguments);
    }

    /** The same of a static method. */
    public static <T> T called(Class<?> type, String name, Object... arguments) {
        return called(type, null, name, arguments);
    }

    private static <T> T called(Class<?> type, Object owner, String name, Object[] arguments) {
        Method[] alike = METHODS.computeIfAbsent(type, each -> new HashMap<>())
                .computeIfAbsent(name, each -> new Method[MOST_ARGUMENTS]);
        int count = arguments.length;
        if (alike[count] == null) {
            alike[count] = Stream.of(type.getMethods(), type.getDeclaredMethods()).flatMap(Arrays::stream)
                    .filter(m -> m.getName().equals(name) && m.getParameterCount() == count && !m.isBridge())
                    .findFirst().orElseThrow(() -> new Unknown(type.getName() + " has no method " + name));
            alike[count].setAccessible(true);
        }
        Method known = alike[count];
        return (T) tried(() -> known.invoke(owner, arguments));
    }

    /** Closes a log as it is, as when its process is gone; since 4.4 indexes are cut to what is in them. */
    public static void drop(Object log) {
        call(log, has(log, "closeHandlers", 0) ? "closeHandlers" : "closeQuietly");
    }

    /** The first of these classes that there is. */
    public static Class<?> type(String... names) {
        for (String name : names) {
            try {
                return Class.forName(name);
            } catch (ClassNotFoundException e) {
                continue;
            }
        }
        throw new Unknown("there is no class " + String.join(" or ", names));
    }

    /** A new object by the longest constructor, each parameter being the next of these that fits it. */
    public static <T> T made(Class<T> type, Object... arguments) {
        Constructor<?> longest = Arrays.stream(type.getDeclaredConstructors())
                .max((a, b) -> a.getParameterCount() - b.getParameterCount()).orElseThrow();
        List<Object> left = new ArrayList<>(Arrays.asList(arguments));
        Object[] taken = new Object[longest.getParameterCount()];
        for (int i = 0; i < taken.length; i++) {
            Class<?> wanted = boxed(longest.getParameterTypes()[i]);
            taken[i] = left.stream().filter(wanted::isInstance).findFirst().orElseThrow(() ->
                    new Unknown(type.getName() + " is made with a " + wanted.getName()));
            left.remove(taken[i]);
        }
        longest.setAccessible(true);
        return (T) tried(() -> longest.newInstance(taken));
    }

    /** An object of which no constructor was run: what is asked of it a subclass of ours has. */
    public static <T> T bare(Class<T> type) {
        return (T) tried(() -> {
            Class<?> unsafe = Class.forName("sun.misc.Unsafe");
            return unsafe.getMethod("allocateInstance", Class.class)
                    .invoke(field(unsafe, "theUnsafe").get(null), type);
        });
    }

    /** What stands for an object of an interface, whose methods have other arguments in other versions. */
    public static <T> T standIn(Class<?> type, InvocationHandler called) {
        return (T) Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, in) ->
                method.getName().equals("equals") ? (Object) (self == in[0]) : called.invoke(self, method, in));
    }

    /**
     * The same of a class, whose constructors differ from version to version: none of them is run. Its defaults of
     * arguments, which Scala has as methods, are asked of itself.
     */
    public static <T> T standInOf(Class<T> type, InvocationHandler called) {
        ProxyFactory factory = new ProxyFactory();
        factory.setSuperclass(type);
        factory.setFilter(method -> !method.getName().equals("finalize") && !method.getName().contains("$"));
        T made = (T) bare(factory.createClass());
        ((javassist.util.proxy.Proxy) made).setHandler((self, method, proceed, in) -> called.invoke(self, method, in));
        return made;
    }

    private static Class<?> boxed(Class<?> type) {
        return type == int.class ? Integer.class : type == boolean.class ? Boolean.class
                : type == long.class ? Long.class : type == short.class ? Short.class : type;
    }

    private static Field field(Class<?> type, String name) {
        Field found = find(type, name);
        if (found == null) {
            throw new Unknown(type.getName() + " has no field " + name);
        }
        return found;
    }

    private static Field find(Class<?> type, String name) {
        return FIELDS.computeIfAbsent(type, each -> new HashMap<>())
                .computeIfAbsent(name, each -> Optional.ofNullable(declared(type, name))).orElse(null);
    }

    private static Field declared(Class<?> type, String name) {
        for (Class<?> at = type; at != null; at = at.getSuperclass()) {
            for (Field each : at.getDeclaredFields()) {
                if (each.getName().equals(name)) {
                    each.setAccessible(true);
                    return each;
                }
            }
        }
        return null;
    }

    private static Object tried(Callable<?> what) {
        try {
            return what.call();
        } catch (InvocationTargetException e) {
            // What Kafka throws is Kafka's.
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            if (e.getCause() instanceof Error cause) {
                throw cause;
            }
            throw new Unknown(String.valueOf(e.getCause()));
        } catch (Exception e) {
            throw new Unknown(e.toString());
        }
    }
}

package kraftcheck.witness;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarFile;
import java.util.stream.Stream;

/** Which class of a user's build does not load: of a file that is cut short the JVM does not say it. */
final class Broken {
    private static final String END = ".class";

    private Broken() {}

    /** Its name and a colon; empty: nothing of the kind was thrown, or none is found. own: a folder, or empty. */
    static String of(Throwable thrown, String own) throws IOException {
        if (!own.isEmpty() && thrown instanceof ClassFormatError) {
            for (String name : names(Path.of(own))) {
                try {
                    Class.forName(name, false, Broken.class.getClassLoader());
                } catch (ClassFormatError e) {
                    return name + ": ";
                } catch (ClassNotFoundException | LinkageError e) {
                    continue;  // another class would be to blame
                }
            }
        }
        return "";
    }

    private static List<String> names(Path own) throws IOException {
        List<String> found = new ArrayList<>();
        try (Stream<Path> files = Files.walk(own)) {
            files.forEach(each -> found.add(own.relativize(each).toString()));
        }
        for (String jar : found.stream().filter(each -> each.endsWith(".jar")).toList()) {
            try (JarFile open = new JarFile(own.resolve(jar).toFile())) {
                open.stream().forEach(each -> found.add(each.getName()));
            }
        }
        return found.stream().filter(each -> each.endsWith(END)).sorted()
                .map(each -> each.substring(0, each.length() - END.length()).replace('/', '.')).toList();
    }
}

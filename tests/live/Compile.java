// Compiles files one by one, each into a folder of its own, in one JVM: a compiler that is warm takes
// a quarter of the time.
//
//     java Compile.java CLASSPATH FILE FOLDER [FILE FOLDER ...]

import javax.tools.ToolProvider;

public class Compile {
    public static void main(String[] args) {
        var compiler = ToolProvider.getSystemJavaCompiler();
        for (int at = 1; at < args.length; at += 2) {
            int wrong = compiler.run(
                null, null, null, "-nowarn", "-proc:none", "-cp", args[0], "-d", args[at + 1], args[at]);
            if (wrong != 0) {
                System.exit(wrong);
            }
        }
    }
}

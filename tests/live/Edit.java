// Puts another body in place of that of a method, in classes that are there as byte code only, such
// as those of Scala. javassist comes with Kafka.
//
//     java -cp CLASSPATH Edit.java CLASS METHOD BODY FOLDER [CLASS METHOD BODY FOLDER ...]

import javassist.ClassPool;
import javassist.CtClass;
import javassist.CtMethod;

public class Edit {
    public static void main(String[] args) throws Exception {
        for (int at = 0; at < args.length; at += 4) {
            CtClass type = new ClassPool(true).get(args[at]);
            CtMethod method = type.getDeclaredMethod(args[at + 1]);
            method.setBody(args[at + 2]);
            type.writeFile(args[at + 3]);
        }
    }
}

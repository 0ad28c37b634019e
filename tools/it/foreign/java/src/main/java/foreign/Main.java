package foreign;

import java.util.Map;

/**
 * SMPP clients and servers made of jsmpp and Cloudhopper. The first argument names one, the others are its options, {@code name=value}.
 *
 * <p>What happens is said on standard output, one JSON object a line. An ESME does what it reads on standard input, one
 * command a line: a verb and {@code name=value}, with tabs between. Every one ends with its standard input.
 */
final class Main {
    private Main() {}

    public static void main(String[] args) throws Exception {
        Map<String, String> options = Lines.options(args, 1);
        switch (args[0]) {
            case "jsmpp-smsc" -> new JsmppSmsc(new SmscOptions(options)).run();
            case "jsmpp-esme" -> new JsmppEsme(options).run();
            case "cloudhopper-smsc" -> new CloudhopperSmsc(new SmscOptions(options)).run();
            case "cloudhopper-esme" -> new CloudhopperEsme(options).run();
            default -> throw new IllegalArgumentException("no peer named " + args[0]);
        }
        System.exit(0);
    }
}

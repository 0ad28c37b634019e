package foreign;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;

/** Standard input and output: commands in, events out. */
final class Lines {
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    private static final BufferedReader IN =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));

    private Lines() {}

    /** What does the commands of one line. */
    interface Doer {
        void act(String verb, Map<String, String> fields) throws Exception;
    }

    /** {@code name=value} from a place on. */
    static Map<String, String> options(String[] words, int from) {
        Map<String, String> options = new LinkedHashMap<>();
        for (int at = from; at < words.length; at++) {
            int equals = words[at].indexOf('=');
            options.put(words[at].substring(0, equals), words[at].substring(equals + 1));
        }
        return options;
    }

    /** Does every command that comes, until no more can come. */
    static void act(Doer doer) throws IOException {
        for (String line = IN.readLine(); line != null; line = IN.readLine()) {
            String[] words = line.split("\t");
            Map<String, String> fields = options(words, 1);
            try {
                doer.act(words[0], fields);
            } catch (Exception error) {
                say("failed", "tag", fields.get("tag"), "error", error.toString());
            }
        }
    }

    /** Waits until nobody can say anything any more. */
    static void waitForEnd() throws IOException {
        act((verb, fields) -> {});
    }

    /** Says what happened: names and values by turns. Numbers stay numbers; octets become hexadecimal; nothing is left out. */
    static void say(String event, Object... fields) {
        StringBuilder line = new StringBuilder("{\"event\":").append(quoted(event));
        for (int at = 0; at < fields.length; at += 2) {
            Object value = fields[at + 1];
            if (value == null) {
                continue;
            }
            line.append(',').append(quoted((String) fields[at])).append(':');
            if (value instanceof Number || value instanceof Boolean) {
                line.append(value);
            } else if (value instanceof byte[] octets) {
                line.append(quoted(hex(octets)));
            } else {
                line.append(quoted(value.toString()));
            }
        }
        line.append("}\n");
        synchronized (OUT) {
            OUT.print(line);
            OUT.flush();
        }
    }

    static String hex(byte[] octets) {
        return HexFormat.of().formatHex(octets);
    }

    private static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char letter : text.toCharArray()) {
            // A lone half of a pair is no text; it would spoil the line.
            if (letter == '"' || letter == '\\' || letter < ' ' || Character.isSurrogate(letter)) {
                out.append(String.format("\\u%04x", (int) letter));
            } else {
                out.append(letter);
            }
        }
        return out.append('"').toString();
    }
}

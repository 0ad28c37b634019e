package foreign;

import com.cloudhopper.commons.charset.CharsetUtil;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/** Octets of texts and their parts. */
final class Texts {
    static final int UCS2 = 8;
    /** User data of one short message, and of a part behind its header of six octets (3GPP TS 23.040, 9.2.3.24.1). */
    static final int OCTETS_MAX = 140;
    static final int PART_MAX = 134;

    private Texts() {}

    /** A command's {@code hex}, or its {@code text} in its {@code coding}. */
    static byte[] octets(Map<String, String> fields, int coding) {
        if (fields.containsKey("hex")) {
            return HexFormat.of().parseHex(fields.get("hex"));
        }
        return encoded(fields.getOrDefault("text", ""), coding);
    }

    static byte[] encoded(String text, int coding) {
        return switch (coding) {
            case 0 -> CharsetUtil.encode(text, CharsetUtil.CHARSET_GSM);
            case UCS2 -> text.getBytes(StandardCharsets.UTF_16BE);
            default -> text.getBytes(StandardCharsets.ISO_8859_1);
        };
    }

    static String decoded(byte[] octets, int coding) {
        return switch (coding) {
            case 0 -> CharsetUtil.decode(octets, CharsetUtil.CHARSET_GSM);
            case UCS2 -> new String(octets, StandardCharsets.UTF_16BE);
            default -> new String(octets, StandardCharsets.ISO_8859_1);
        };
    }

    /** Pieces of at most so many octets. */
    static List<byte[]> pieces(byte[] octets, int max) {
        List<byte[]> pieces = new ArrayList<>();
        for (int at = 0; at < octets.length; at += max) {
            pieces.add(java.util.Arrays.copyOfRange(octets, at, Math.min(at + max, octets.length)));
        }
        return pieces;
    }

    /** Parts with a header of a 16-bit reference (3GPP TS 23.040, 9.2.3.24.8). */
    static List<byte[]> partsOf16(byte[] octets, int reference) {
        List<byte[]> parts = new ArrayList<>();
        List<byte[]> pieces = pieces(octets, PART_MAX - 2);
        for (byte[] piece : pieces) {
            ByteArrayOutputStream part = new ByteArrayOutputStream();
            part.writeBytes(new byte[] {6, 8, 4, (byte) (reference >> 8), (byte) reference});
            part.write(pieces.size());
            part.write(parts.size() + 1);
            part.writeBytes(piece);
            parts.add(part.toByteArray());
        }
        return parts;
    }

    /** The header of user data, if {@code esmClass} says that there is one. */
    static byte[] header(byte[] octets, int esmClass) {
        if ((esmClass & 0x40) == 0 || octets.length == 0) {
            return new byte[0];
        }
        return java.util.Arrays.copyOf(octets, Math.min(octets.length, 1 + (octets[0] & 0xff)));
    }

    /** What comes behind the header. */
    static byte[] body(byte[] octets, int esmClass) {
        return java.util.Arrays.copyOfRange(octets, header(octets, esmClass).length, octets.length);
    }
}

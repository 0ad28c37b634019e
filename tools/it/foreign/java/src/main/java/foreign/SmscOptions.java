package foreign;

import java.util.Map;

/** What an SMSC does. */
record SmscOptions(
        int port,
        String password,
        int receiptAfterMs,
        boolean textReceipts,
        String reply,
        int replyAfterMs) {
    SmscOptions(Map<String, String> options) {
        this(
                Integer.parseInt(options.get("port")),
                options.getOrDefault("password", "secret"),
                Integer.parseInt(options.getOrDefault("receipt_after_ms", "100")),
                Boolean.parseBoolean(options.getOrDefault("text_receipts", "false")),
                options.get("reply"),
                Integer.parseInt(options.getOrDefault("reply_after_ms", "100")));
    }

    /** A reply that the default alphabet has not. */
    int replyCoding() {
        return reply.chars().allMatch(letter -> letter < 128) ? 0 : Texts.UCS2;
    }
}

package foreign;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import org.jsmpp.bean.Address;
import org.jsmpp.bean.AlertNotification;
import org.jsmpp.bean.BindType;
import org.jsmpp.bean.DataSm;
import org.jsmpp.bean.DeliverSm;
import org.jsmpp.bean.DeliveryReceipt;
import org.jsmpp.bean.ESMClass;
import org.jsmpp.bean.InterfaceVersion;
import org.jsmpp.bean.NumberingPlanIndicator;
import org.jsmpp.bean.OptionalParameter;
import org.jsmpp.bean.OptionalParameters;
import org.jsmpp.bean.RawDataCoding;
import org.jsmpp.bean.RegisteredDelivery;
import org.jsmpp.bean.ReplaceIfPresentFlag;
import org.jsmpp.bean.TypeOfNumber;
import org.jsmpp.extra.NegativeResponseException;
import org.jsmpp.extra.ProcessRequestException;
import org.jsmpp.extra.SessionState;
import org.jsmpp.session.BindParameter;
import org.jsmpp.session.DataSmResult;
import org.jsmpp.session.MessageReceiverListener;
import org.jsmpp.session.QuerySmResult;
import org.jsmpp.session.SMPPSession;
import org.jsmpp.session.Session;
import org.jsmpp.session.SubmitMultiResult;
import org.jsmpp.session.SubmitSmResult;

/** An ESME made of jsmpp. */
final class JsmppEsme implements MessageReceiverListener {
    private static final int ANSWER_MAX_MS = 20_000;
    private static final TypeOfNumber TON = TypeOfNumber.INTERNATIONAL;
    private static final NumberingPlanIndicator NPI = NumberingPlanIndicator.ISDN;

    private final Map<String, String> options;
    private final SMPPSession session = new SMPPSession();
    private final ExecutorService workers = Executors.newFixedThreadPool(8);

    JsmppEsme(Map<String, String> options) {
        this.options = options;
    }

    void run() throws Exception {
        session.setMessageReceiverListener(this);
        session.setTransactionTimer(ANSWER_MAX_MS);
        session.addSessionStateListener((now, before, source) -> {
            if (now == SessionState.CLOSED) {
                Lines.say("closed");
            }
        });
        BindType mode = switch (options.getOrDefault("mode", "transceiver")) {
            case "transmitter" -> BindType.BIND_TX;
            case "receiver" -> BindType.BIND_RX;
            default -> BindType.BIND_TRX;
        };
        InterfaceVersion version = InterfaceVersion.valueOf("IF_" + options.getOrDefault("version", "34"));
        try {
            String peer = session.connectAndBind(
                    "127.0.0.1", Integer.parseInt(options.get("port")),
                    new BindParameter(
                            mode, options.get("system_id"), options.get("password"), "", TypeOfNumber.UNKNOWN,
                            NumberingPlanIndicator.UNKNOWN, null, version),
                    ANSWER_MAX_MS);
            Lines.say("bound", "mode", mode, "peer", peer);
        } catch (java.io.IOException error) {
            Integer status = error.getCause() instanceof NegativeResponseException refusal ? refusal.getCommandStatus() : null;
            Lines.say("refused", "status", status, "error", error.toString());
        }
        Lines.act((verb, fields) -> workers.execute(() -> doOne(verb, fields)));
        session.unbindAndClose();
    }

    private void doOne(String verb, Map<String, String> fields) {
        String tag = fields.get("tag");
        try {
            switch (verb) {
                case "submit" -> submit(fields);
                case "multi" -> multi(fields);
                case "data" -> data(fields);
                case "query" -> {
                    QuerySmResult result = session.queryShortMessage(fields.get("id"), TON, NPI, fields.get("from"));
                    Lines.say(
                            "answered", "tag", tag, "status", 0, "state", result.getMessageState(), "code",
                            result.getMessageState().value(), "final", result.getFinalDate());
                }
                case "cancel" -> {
                    session.cancelShortMessage("", fields.get("id"), TON, NPI, fields.get("from"), TON, NPI, fields.get("to"));
                    Lines.say("answered", "tag", tag, "status", 0);
                }
                case "replace" -> {
                    session.replaceShortMessage(
                            fields.get("id"), TON, NPI, fields.get("from"), "", "", new RegisteredDelivery(1), (byte) 0,
                            fields.get("text").getBytes());
                    Lines.say("answered", "tag", tag, "status", 0);
                }
                case "unbind" -> session.unbindAndClose();
                default -> Lines.say("failed", "tag", tag, "error", "jsmpp does not " + verb);
            }
        } catch (NegativeResponseException refusal) {
            Lines.say("answered", "tag", tag, "status", refusal.getCommandStatus());
        } catch (Exception error) {
            Lines.say("failed", "tag", tag, "error", error.toString());
        }
    }

    /** One submission, or several with the parameters of SAR, or one with a payload, as {@code long} says. */
    private void submit(Map<String, String> fields) throws Exception {
        int coding = coding(fields);
        byte[] octets = Texts.octets(fields, coding);
        String kind = fields.getOrDefault("long", "");
        if (kind.equals("payload")) {
            submitOne(fields, 0, new byte[0], new OptionalParameter.Message_payload(octets));
        } else if (kind.equals("sar")) {
            List<byte[]> pieces = Texts.pieces(octets, Texts.PART_MAX);
            int reference = ThreadLocalRandom.current().nextInt(0x10000);
            for (int at = 0; at < pieces.size(); at++) {
                submitOne(
                        fields, 0, pieces.get(at), OptionalParameters.newSarMsgRefNum((short) reference),
                        OptionalParameters.newSarSegmentSeqnum(at + 1), OptionalParameters.newSarTotalSegments(pieces.size()));
            }
        } else if (kind.equals("udh16")) {
            for (byte[] part : Texts.partsOf16(octets, ThreadLocalRandom.current().nextInt(0x10000))) {
                submitOne(fields, 0x40, part);
            }
        } else {
            submitOne(fields, Integer.parseInt(fields.getOrDefault("esm_class", "0")), octets);
        }
    }

    private void submitOne(Map<String, String> fields, int esmClass, byte[] octets, OptionalParameter... parameters)
            throws Exception {
        SubmitSmResult result = session.submitShortMessage(
                fields.getOrDefault("service_type", ""), TON, NPI, fields.get("from"), TON, NPI, fields.get("to"),
                new ESMClass(esmClass), (byte) 0, Byte.parseByte(fields.getOrDefault("priority", "0")),
                fields.getOrDefault("schedule", ""), fields.getOrDefault("validity", ""), registered(fields), (byte) 0,
                new RawDataCoding((byte) coding(fields)), (byte) 0, octets, parameters);
        Lines.say("answered", "tag", fields.get("tag"), "status", 0, "id", result.getMessageId());
    }

    private void multi(Map<String, String> fields) throws Exception {
        String[] numbers = fields.get("to").split(",");
        Address[] addresses = new Address[numbers.length];
        for (int at = 0; at < numbers.length; at++) {
            addresses[at] = new Address(TON, NPI, numbers[at]);
        }
        SubmitMultiResult result = session.submitMultiple(
                "", TON, NPI, fields.get("from"), addresses, new ESMClass(0), (byte) 0, (byte) 0, "", "",
                registered(fields), ReplaceIfPresentFlag.DONT_REPLACE, new RawDataCoding((byte) coding(fields)), (byte) 0,
                Texts.octets(fields, coding(fields)));
        Lines.say(
                "answered", "tag", fields.get("tag"), "status", 0, "id", result.getMessageId(), "refused",
                result.getUnsuccessDeliveries().length);
    }

    private void data(Map<String, String> fields) throws Exception {
        DataSmResult result = session.dataShortMessage(
                "", TON, NPI, fields.get("from"), TON, NPI, fields.get("to"), new ESMClass(0), registered(fields),
                new RawDataCoding((byte) coding(fields)),
                new OptionalParameter.Message_payload(Texts.octets(fields, coding(fields))));
        Lines.say("answered", "tag", fields.get("tag"), "status", 0, "id", result.getMessageId());
    }

    private static int coding(Map<String, String> fields) {
        return Integer.parseInt(fields.getOrDefault("coding", "0"));
    }

    private static RegisteredDelivery registered(Map<String, String> fields) {
        return new RegisteredDelivery(Integer.parseInt(fields.getOrDefault("receipt", "0")));
    }

    @Override
    public void onAcceptDeliverSm(DeliverSm sm) throws ProcessRequestException {
        byte[] octets = sm.getShortMessage();
        OptionalParameter.OctetString payload = (OptionalParameter.OctetString) sm.getOptionalParameter(OptionalParameter.Tag.MESSAGE_PAYLOAD);
        if (payload != null) {
            octets = payload.getValue();
        }
        if (sm.isSmscDeliveryReceipt()) {
            receipt(sm);
            return;
        }
        byte[] body = Texts.body(octets, sm.getEsmClass());
        Lines.say(
                "inbound", "from", sm.getSourceAddr(), "to", sm.getDestAddress(), "coding", sm.getDataCoding() & 0xff,
                "esm_class", sm.getEsmClass() & 0xff, "udh", Texts.header(octets, sm.getEsmClass()), "hex", body,
                "text", Texts.decoded(body, sm.getDataCoding() & 0xff));
    }

    private static void receipt(DeliverSm sm) {
        OptionalParameter.Receipted_message_id id = sm.getOptionalParameter(OptionalParameter.Receipted_message_id.class);
        OptionalParameter.Message_state state = sm.getOptionalParameter(OptionalParameter.Message_state.class);
        try {
            DeliveryReceipt receipt = sm.getShortMessageAsDeliveryReceipt();
            Lines.say(
                    "receipt", "id", receipt.getId(), "stat", receipt.getFinalStatus(), "err", receipt.getError(), "from",
                    sm.getSourceAddr(), "to", sm.getDestAddress(), "tlv_id", id == null ? null : id.getValueAsString(),
                    "tlv_state", state == null ? null : (int) state.getValue(), "text", new String(sm.getShortMessage()));
        } catch (org.jsmpp.util.InvalidDeliveryReceiptException error) {
            Lines.say("failed", "error", error.toString(), "text", new String(sm.getShortMessage()));
        }
    }

    @Override
    public void onAcceptAlertNotification(AlertNotification alert) {
        Lines.say("alert", "from", alert.getSourceAddr());
    }

    @Override
    public DataSmResult onAcceptDataSm(DataSm sm, Session source) throws ProcessRequestException {
        throw new ProcessRequestException("not here", org.jsmpp.SMPPConstant.STAT_ESME_RINVCMDID);
    }
}

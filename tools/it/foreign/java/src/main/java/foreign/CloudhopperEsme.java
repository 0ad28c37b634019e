package foreign;

import com.cloudhopper.commons.gsm.GsmUtil;
import com.cloudhopper.smpp.SmppBindType;
import com.cloudhopper.smpp.SmppConstants;
import com.cloudhopper.smpp.SmppSession;
import com.cloudhopper.smpp.SmppSessionConfiguration;
import com.cloudhopper.smpp.impl.DefaultSmppClient;
import com.cloudhopper.smpp.impl.DefaultSmppSessionHandler;
import com.cloudhopper.smpp.pdu.BaseSm;
import com.cloudhopper.smpp.pdu.BaseSmResp;
import com.cloudhopper.smpp.pdu.CancelSm;
import com.cloudhopper.smpp.pdu.DataSm;
import com.cloudhopper.smpp.pdu.DeliverSm;
import com.cloudhopper.smpp.pdu.EnquireLink;
import com.cloudhopper.smpp.pdu.PduRequest;
import com.cloudhopper.smpp.pdu.PduResponse;
import com.cloudhopper.smpp.pdu.QuerySm;
import com.cloudhopper.smpp.pdu.QuerySmResp;
import com.cloudhopper.smpp.pdu.ReplaceSm;
import com.cloudhopper.smpp.pdu.SubmitSm;
import com.cloudhopper.smpp.tlv.Tlv;
import com.cloudhopper.smpp.type.Address;
import com.cloudhopper.smpp.type.SmppBindException;
import com.cloudhopper.smpp.util.DeliveryReceipt;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import org.joda.time.DateTimeZone;

/** An ESME made of Cloudhopper. */
final class CloudhopperEsme extends DefaultSmppSessionHandler {
    private static final int ANSWER_MAX_MS = 20_000;
    private static final int WINDOW = 50;
    private static final byte INTERNATIONAL = 1;
    private static final byte ISDN = 1;

    private final Map<String, String> options;
    private final ExecutorService workers = Executors.newFixedThreadPool(8);
    private SmppSession session;

    CloudhopperEsme(Map<String, String> options) {
        this.options = options;
    }

    void run() throws Exception {
        SmppSessionConfiguration configuration = new SmppSessionConfiguration();
        configuration.setType(SmppBindType.valueOf(options.getOrDefault("mode", "transceiver").toUpperCase()));
        configuration.setHost("127.0.0.1");
        configuration.setPort(Integer.parseInt(options.get("port")));
        configuration.setSystemId(options.get("system_id"));
        configuration.setPassword(options.get("password"));
        configuration.setInterfaceVersion(Byte.parseByte(options.getOrDefault("version", "34"), 16));
        configuration.setWindowSize(WINDOW);
        configuration.setBindTimeout(ANSWER_MAX_MS);
        DefaultSmppClient client = new DefaultSmppClient(Executors.newCachedThreadPool(), 1);
        try {
            session = client.bind(configuration, this);
            Lines.say("bound", "mode", configuration.getType(), "version", (int) session.getInterfaceVersion());
        } catch (SmppBindException refusal) {
            Lines.say("refused", "status", refusal.getBindResponse().getCommandStatus());
        } catch (Exception error) {
            Lines.say("refused", "error", error.toString());
        }
        Lines.act((verb, fields) -> workers.execute(() -> doOne(verb, fields)));
        if (session != null) {
            session.unbind(ANSWER_MAX_MS);
        }
    }

    private void doOne(String verb, Map<String, String> fields) {
        String tag = fields.get("tag");
        try {
            switch (verb) {
                case "submit" -> submit(fields);
                case "data" -> {
                    DataSm data = new DataSm();
                    address(data, fields);
                    data.addOptionalParameter(
                            new Tlv(SmppConstants.TAG_MESSAGE_PAYLOAD, Texts.octets(fields, coding(fields))));
                    answered(tag, answer(data));
                }
                case "query" -> {
                    QuerySm query = new QuerySm();
                    query.setMessageId(fields.get("id"));
                    query.setSourceAddress(number(fields.get("from")));
                    QuerySmResp answer = (QuerySmResp) answer(query);
                    Lines.say(
                            "answered", "tag", tag, "status", answer.getCommandStatus(), "code", answer.getMessageState(),
                            "final", answer.getFinalDate());
                }
                case "cancel" -> {
                    CancelSm cancel = new CancelSm();
                    cancel.setMessageId(fields.get("id"));
                    cancel.setSourceAddress(number(fields.get("from")));
                    cancel.setDestAddress(number(fields.get("to")));
                    answered(tag, answer(cancel));
                }
                case "replace" -> {
                    ReplaceSm replace = new ReplaceSm();
                    replace.setMessageId(fields.get("id"));
                    replace.setSourceAddress(number(fields.get("from")));
                    replace.setRegisteredDelivery((byte) 1);
                    replace.setShortMessage(Texts.octets(fields, coding(fields)));
                    answered(tag, answer(replace));
                }
                case "enquire" -> answered(tag, answer(new EnquireLink()));
                case "unbind" -> {
                    session.unbind(ANSWER_MAX_MS);
                    Lines.say("closed");
                }
                default -> Lines.say("failed", "tag", tag, "error", "Cloudhopper does not " + verb);
            }
        } catch (Exception error) {
            Lines.say("failed", "tag", tag, "error", error.toString());
        }
    }

    /** One submission, or several with headers, or one with a payload, as {@code long} says. */
    private void submit(Map<String, String> fields) throws Exception {
        byte[] octets = Texts.octets(fields, coding(fields));
        switch (fields.getOrDefault("long", "")) {
            case "payload" -> {
                SubmitSm sm = submission(fields, 0, new byte[0]);
                sm.addOptionalParameter(new Tlv(SmppConstants.TAG_MESSAGE_PAYLOAD, octets));
                answered(fields.get("tag"), answer(sm));
            }
            case "udh8" -> {
                byte reference = (byte) ThreadLocalRandom.current().nextInt(0x100);
                for (byte[] part : GsmUtil.createConcatenatedBinaryShortMessages(octets, reference)) {
                    answered(fields.get("tag"), answer(submission(fields, SmppConstants.ESM_CLASS_UDHI_MASK, part)));
                }
            }
            default -> {
                int esmClass = Integer.parseInt(fields.getOrDefault("esm_class", "0"));
                answered(fields.get("tag"), answer(submission(fields, esmClass, octets)));
            }
        }
    }

    private static SubmitSm submission(Map<String, String> fields, int esmClass, byte[] octets) throws Exception {
        SubmitSm sm = new SubmitSm();
        address(sm, fields);
        sm.setEsmClass((byte) esmClass);
        sm.setServiceType(fields.get("service_type"));
        sm.setPriority(Byte.parseByte(fields.getOrDefault("priority", "0")));
        sm.setValidityPeriod(fields.get("validity"));
        sm.setScheduleDeliveryTime(fields.get("schedule"));
        sm.setShortMessage(octets);
        return sm;
    }

    private static void address(BaseSm<?> sm, Map<String, String> fields) {
        sm.setSourceAddress(number(fields.get("from")));
        sm.setDestAddress(number(fields.get("to")));
        sm.setRegisteredDelivery(Byte.parseByte(fields.getOrDefault("receipt", "0")));
        sm.setDataCoding((byte) coding(fields));
    }

    private static Address number(String digits) {
        return digits == null ? new Address() : new Address(INTERNATIONAL, ISDN, digits);
    }

    private static int coding(Map<String, String> fields) {
        return Integer.parseInt(fields.getOrDefault("coding", "0"));
    }

    private PduResponse answer(PduRequest<?> request) throws Exception {
        var future = session.sendRequestPdu(request, ANSWER_MAX_MS, true);
        if (!future.await(ANSWER_MAX_MS) || !future.isSuccess()) {
            throw new IllegalStateException("no answer", future.getCause());
        }
        return future.getResponse();
    }

    private static void answered(String tag, PduResponse answer) {
        String id = answer instanceof BaseSmResp response ? response.getMessageId() : null;
        Lines.say("answered", "tag", tag, "status", answer.getCommandStatus(), "id", id);
    }

    @Override
    public PduResponse firePduRequestReceived(PduRequest request) {
        if (request instanceof DeliverSm sm) {
            delivered(sm);
        }
        return request.createResponse();
    }

    private static void delivered(DeliverSm sm) {
        byte[] octets = sm.getShortMessage() == null ? new byte[0] : sm.getShortMessage();
        if (sm.hasOptionalParameter(SmppConstants.TAG_MESSAGE_PAYLOAD)) {
            octets = sm.getOptionalParameter(SmppConstants.TAG_MESSAGE_PAYLOAD).getValue();
        }
        String from = sm.getSourceAddress().getAddress();
        String to = sm.getDestAddress().getAddress();
        if ((sm.getEsmClass() & SmppConstants.ESM_CLASS_MT_SMSC_DELIVERY_RECEIPT) != 0) {
            receipt(sm, from, to, new String(octets, StandardCharsets.ISO_8859_1));
            return;
        }
        byte[] body = Texts.body(octets, sm.getEsmClass());
        Lines.say(
                "inbound", "from", from, "to", to, "coding", sm.getDataCoding() & 0xff, "esm_class",
                sm.getEsmClass() & 0xff, "udh", Texts.header(octets, sm.getEsmClass()), "hex", body, "text",
                Texts.decoded(body, sm.getDataCoding() & 0xff));
    }

    private static void receipt(DeliverSm sm, String from, String to, String text) {
        try {
            DeliveryReceipt receipt = DeliveryReceipt.parseShortMessage(text, DateTimeZone.UTC);
            Tlv id = sm.getOptionalParameter(SmppConstants.TAG_RECEIPTED_MSG_ID);
            Tlv state = sm.getOptionalParameter(SmppConstants.TAG_MSG_STATE);
            Lines.say(
                    "receipt", "id", receipt.getMessageId(), "stat", DeliveryReceipt.toStateText(receipt.getState()), "err",
                    receipt.getRawErrorCode(), "from", from, "to", to, "tlv_id", id == null ? null : id.getValueAsString(),
                    "tlv_state", state == null ? null : state.getValueAsByte(), "text", text);
        } catch (Exception error) {
            Lines.say("failed", "error", error.toString(), "text", text);
        }
    }

    @Override
    public void fireChannelUnexpectedlyClosed() {
        Lines.say("closed");
    }
}

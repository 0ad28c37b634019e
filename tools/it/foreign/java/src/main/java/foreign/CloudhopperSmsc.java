package foreign;

import com.cloudhopper.commons.gsm.GsmUtil;
import com.cloudhopper.smpp.SmppConstants;
import com.cloudhopper.smpp.SmppServerConfiguration;
import com.cloudhopper.smpp.SmppServerHandler;
import com.cloudhopper.smpp.SmppServerSession;
import com.cloudhopper.smpp.SmppSession;
import com.cloudhopper.smpp.SmppSessionConfiguration;
import com.cloudhopper.smpp.impl.DefaultSmppServer;
import com.cloudhopper.smpp.impl.DefaultSmppSessionHandler;
import com.cloudhopper.smpp.pdu.BaseBind;
import com.cloudhopper.smpp.pdu.BaseBindResp;
import com.cloudhopper.smpp.pdu.DeliverSm;
import com.cloudhopper.smpp.pdu.PduRequest;
import com.cloudhopper.smpp.pdu.PduResponse;
import com.cloudhopper.smpp.pdu.SubmitSm;
import com.cloudhopper.smpp.pdu.SubmitSmResp;
import com.cloudhopper.smpp.tlv.Tlv;
import com.cloudhopper.smpp.type.SmppProcessingException;
import com.cloudhopper.smpp.util.DeliveryReceipt;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.joda.time.DateTime;

/** An SMSC made of Cloudhopper. Its ids are words, as some carriers' are. */
final class CloudhopperSmsc implements SmppServerHandler {
    private static final int ANSWER_MAX_MS = 20_000;
    private static final int WINDOW = 100;

    private final SmscOptions options;
    private final AtomicInteger last = new AtomicInteger();
    private final ScheduledExecutorService later = Executors.newScheduledThreadPool(4);

    CloudhopperSmsc(SmscOptions options) {
        this.options = options;
    }

    void run() throws Exception {
        SmppServerConfiguration configuration = new SmppServerConfiguration();
        configuration.setPort(options.port());
        configuration.setHost("127.0.0.1");
        configuration.setSystemId("cloudhopper");
        configuration.setDefaultWindowSize(WINDOW);
        DefaultSmppServer server = new DefaultSmppServer(configuration, this, Executors.newCachedThreadPool(), later);
        server.start();
        Lines.say("listening", "port", options.port());
        Lines.waitForEnd();
    }

    @Override
    public void sessionBindRequested(Long id, SmppSessionConfiguration session, BaseBind bind) throws SmppProcessingException {
        boolean accepted = options.password().equals(session.getPassword());
        Lines.say(
                "bind", "mode", session.getType(), "system_id", session.getSystemId(), "accepted", accepted, "version",
                (int) session.getInterfaceVersion());
        if (!accepted) {
            throw new SmppProcessingException(SmppConstants.STATUS_INVPASWD);
        }
    }

    @Override
    public void sessionCreated(Long id, SmppServerSession session, BaseBindResp answer) {
        session.serverReady(new DefaultSmppSessionHandler() {
            @Override
            public PduResponse firePduRequestReceived(PduRequest request) {
                return request instanceof SubmitSm sm ? submitted(session, sm) : request.createResponse();
            }
        });
    }

    @Override
    public void sessionDestroyed(Long id, SmppServerSession session) {
        Lines.say("unbind");
        session.destroy();
    }

    private PduResponse submitted(SmppSession session, SubmitSm sm) {
        String id = String.format("ch-%06X-%d", last.incrementAndGet(), sm.getSequenceNumber());
        byte[] octets = sm.getShortMessage() == null ? new byte[0] : sm.getShortMessage();
        if (sm.hasOptionalParameter(SmppConstants.TAG_MESSAGE_PAYLOAD)) {
            octets = sm.getOptionalParameter(SmppConstants.TAG_MESSAGE_PAYLOAD).getValue();
        }
        byte[] body = Texts.body(octets, sm.getEsmClass());
        Lines.say(
                "submit", "id", id, "from", sm.getSourceAddress().getAddress(), "to", sm.getDestAddress().getAddress(), "ton",
                sm.getDestAddress().getTon(), "npi", sm.getDestAddress().getNpi(), "coding", sm.getDataCoding() & 0xff,
                "esm_class", sm.getEsmClass() & 0xff, "registered", sm.getRegisteredDelivery(), "udh",
                Texts.header(octets, sm.getEsmClass()), "hex", body, "text", Texts.decoded(body, sm.getDataCoding()));
        if ((sm.getRegisteredDelivery() & 1) != 0) {
            later.schedule(() -> receipt(session, sm, id), options.receiptAfterMs(), TimeUnit.MILLISECONDS);
        }
        SubmitSmResp answer = sm.createResponse();
        answer.setMessageId(id);
        return answer;
    }

    private void receipt(SmppSession session, SubmitSm sm, String id) {
        DeliveryReceipt receipt = new DeliveryReceipt(
                id, 1, 1, DateTime.now(), DateTime.now(), SmppConstants.STATE_DELIVERED, 0, "");
        try {
            DeliverSm deliver = deliver(sm, SmppConstants.ESM_CLASS_MT_SMSC_DELIVERY_RECEIPT, 0,
                    receipt.toShortMessage().getBytes(StandardCharsets.ISO_8859_1));
            if (!options.textReceipts()) {
                deliver.addOptionalParameter(
                        new Tlv(SmppConstants.TAG_RECEIPTED_MSG_ID, (id + "\0").getBytes(StandardCharsets.ISO_8859_1)));
                deliver.addOptionalParameter(new Tlv(SmppConstants.TAG_MSG_STATE, new byte[] {SmppConstants.STATE_DELIVERED}));
            }
            Lines.say("receipt", "id", id, "to", sm.getDestAddress().getAddress(), "status", status(session, deliver));
        } catch (Exception error) {
            Lines.say("failed", "error", error.toString());
            return;
        }
        if (options.reply() != null) {
            later.schedule(() -> reply(session, sm), options.replyAfterMs(), TimeUnit.MILLISECONDS);
        }
    }

    private void reply(SmppSession session, SubmitSm sm) {
        int coding = options.replyCoding();
        byte[] octets = Texts.encoded(options.reply(), coding);
        byte[][] parts = octets.length <= Texts.OCTETS_MAX
                ? new byte[][] {octets}
                : GsmUtil.createConcatenatedBinaryShortMessages(octets, (byte) last.get());
        int status = 0;
        try {
            // The last part comes first, as it may in a network.
            for (int at = parts.length - 1; at >= 0; at--) {
                byte esmClass = parts.length == 1 ? 0 : SmppConstants.ESM_CLASS_UDHI_MASK;
                status |= status(session, deliver(sm, esmClass, coding, parts[at]));
            }
            Lines.say("reply", "to", sm.getSourceAddress().getAddress(), "text", options.reply(), "status", status);
        } catch (Exception error) {
            Lines.say("failed", "error", error.toString());
        }
    }

    private static DeliverSm deliver(SubmitSm sm, byte esmClass, int coding, byte[] octets) throws Exception {
        DeliverSm deliver = new DeliverSm();
        deliver.setSourceAddress(sm.getDestAddress());
        deliver.setDestAddress(sm.getSourceAddress());
        deliver.setEsmClass(esmClass);
        deliver.setDataCoding((byte) coding);
        deliver.setShortMessage(octets);
        return deliver;
    }

    private static int status(SmppSession session, DeliverSm deliver) throws Exception {
        var future = session.sendRequestPdu(deliver, ANSWER_MAX_MS, true);
        if (!future.await(ANSWER_MAX_MS) || !future.isSuccess()) {
            throw new IllegalStateException("no answer");
        }
        return future.getResponse().getCommandStatus();
    }
}

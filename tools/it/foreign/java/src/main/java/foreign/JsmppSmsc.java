package foreign;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Date;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jsmpp.SMPPConstant;
import org.jsmpp.bean.BroadcastSm;
import org.jsmpp.bean.CancelBroadcastSm;
import org.jsmpp.bean.CancelSm;
import org.jsmpp.bean.DataSm;
import org.jsmpp.bean.DeliveryReceipt;
import org.jsmpp.bean.ESMClass;
import org.jsmpp.bean.GSMSpecificFeature;
import org.jsmpp.bean.InterfaceVersion;
import org.jsmpp.bean.MessageMode;
import org.jsmpp.bean.MessageState;
import org.jsmpp.bean.MessageType;
import org.jsmpp.bean.NumberingPlanIndicator;
import org.jsmpp.bean.OptionalParameter;
import org.jsmpp.bean.QueryBroadcastSm;
import org.jsmpp.bean.QuerySm;
import org.jsmpp.bean.RawDataCoding;
import org.jsmpp.bean.RegisteredDelivery;
import org.jsmpp.bean.ReplaceSm;
import org.jsmpp.bean.SubmitMulti;
import org.jsmpp.bean.SubmitSm;
import org.jsmpp.bean.TypeOfNumber;
import org.jsmpp.extra.ProcessRequestException;
import org.jsmpp.session.BindRequest;
import org.jsmpp.session.BroadcastSmResult;
import org.jsmpp.session.DataSmResult;
import org.jsmpp.session.QueryBroadcastSmResult;
import org.jsmpp.session.QuerySmResult;
import org.jsmpp.session.SMPPServerSession;
import org.jsmpp.session.SMPPServerSessionListener;
import org.jsmpp.session.ServerMessageReceiverListener;
import org.jsmpp.session.Session;
import org.jsmpp.session.SubmitMultiResult;
import org.jsmpp.session.SubmitSmResult;
import org.jsmpp.session.connection.ServerConnection;
import org.jsmpp.session.connection.ServerConnectionFactory;
import org.jsmpp.session.connection.socket.ServerSocketConnection;
import org.jsmpp.util.DeliveryReceiptState;
import org.jsmpp.util.MessageId;

/** An SMSC made of jsmpp. Like many carriers: hexadecimal in the answer to a submission, decimal in the receipt. */
final class JsmppSmsc implements ServerMessageReceiverListener {
    private static final int BIND_MAX_MS = 5_000;

    private final SmscOptions options;
    private final AtomicInteger last = new AtomicInteger(0x9f0000);
    private final ScheduledExecutorService later = Executors.newScheduledThreadPool(2);
    private final ExecutorService binds = Executors.newCachedThreadPool();

    JsmppSmsc(SmscOptions options) {
        this.options = options;
    }

    void run() throws Exception {
        SMPPServerSessionListener listener = new SMPPServerSessionListener(options.port(), new Loopback());
        listener.setMessageReceiverListener(this);
        binds.execute(() -> accept(listener));
        Lines.say("listening", "port", options.port());
        Lines.waitForEnd();
    }

    /** Listens where nobody else can knock. */
    private static final class Loopback implements ServerConnectionFactory {
        private static final int BACKLOG = 50;

        @Override
        public ServerConnection listen(int port) throws IOException {
            return listen(port, 0, BACKLOG);
        }

        @Override
        public ServerConnection listen(int port, int timeout) throws IOException {
            return listen(port, timeout, BACKLOG);
        }

        @Override
        public ServerConnection listen(int port, int timeout, int backlog) throws IOException {
            ServerSocket socket = new ServerSocket(port, backlog, InetAddress.getLoopbackAddress());
            socket.setSoTimeout(timeout);
            return new ServerSocketConnection(socket);
        }
    }

    private void accept(SMPPServerSessionListener listener) {
        while (true) {
            try {
                SMPPServerSession session = listener.accept();
                binds.execute(() -> bind(session));
            } catch (IOException error) {
                Lines.say("failed", "error", error.toString());
                return;
            }
        }
    }

    private void bind(SMPPServerSession session) {
        try {
            BindRequest request = session.waitForBind(BIND_MAX_MS);
            boolean accepted = options.password().equals(request.getPassword());
            Lines.say(
                    "bind", "mode", request.getBindType(), "system_id", request.getSystemId(), "accepted", accepted,
                    "version", (int) request.getInterfaceVersion().value());
            if (accepted) {
                request.accept("jsmpp", InterfaceVersion.IF_34);
            } else {
                request.reject(SMPPConstant.STAT_ESME_RINVPASWD);
            }
        } catch (Exception error) {
            Lines.say("failed", "error", error.toString());
        }
    }

    @Override
    public SubmitSmResult onAcceptSubmitSm(SubmitSm sm, SMPPServerSession session) throws ProcessRequestException {
        int id = last.incrementAndGet();
        byte[] octets = sm.getShortMessage();
        OptionalParameter.OctetString payload = (OptionalParameter.OctetString) sm.getOptionalParameter(OptionalParameter.Tag.MESSAGE_PAYLOAD);
        if (payload != null) {
            octets = payload.getValue();
        }
        byte[] body = Texts.body(octets, sm.getEsmClass());
        Lines.say(
                "submit", "id", id, "from", sm.getSourceAddr(), "to", sm.getDestAddress(), "ton", sm.getDestAddrTon(),
                "npi", sm.getDestAddrNpi(), "coding", sm.getDataCoding() & 0xff, "esm_class", sm.getEsmClass() & 0xff,
                "registered", sm.getRegisteredDelivery(), "udh", Texts.header(octets, sm.getEsmClass()), "hex", body,
                "text", Texts.decoded(body, sm.getDataCoding()));
        if ((sm.getRegisteredDelivery() & 1) != 0) {
            later.schedule(() -> receipt(session, sm, id), options.receiptAfterMs(), TimeUnit.MILLISECONDS);
        }
        return new SubmitSmResult(messageId(id), new OptionalParameter[0]);
    }

    private void receipt(SMPPServerSession session, SubmitSm sm, int id) {
        DeliveryReceipt receipt = new DeliveryReceipt(
                String.format("%010d", id), 1, 1, new Date(), new Date(), DeliveryReceiptState.DELIVRD, "000", "");
        OptionalParameter[] parameters = options.textReceipts()
                ? new OptionalParameter[0]
                : new OptionalParameter[] {
                    new OptionalParameter.Receipted_message_id(Integer.toHexString(id)),
                    new OptionalParameter.Message_state((byte) 2),
                };
        ESMClass esmClass = new ESMClass(MessageMode.DEFAULT, MessageType.SMSC_DEL_RECEIPT, GSMSpecificFeature.DEFAULT);
        try {
            deliver(session, sm, esmClass, 0, receipt.toString().getBytes(), parameters);
            Lines.say("receipt", "id", id, "to", sm.getDestAddress(), "status", 0);
        } catch (Exception error) {
            Lines.say("failed", "error", error.toString());
            return;
        }
        if (options.reply() != null) {
            later.schedule(() -> reply(session, sm), options.replyAfterMs(), TimeUnit.MILLISECONDS);
        }
    }

    private void reply(SMPPServerSession session, SubmitSm sm) {
        int coding = options.replyCoding();
        byte[] octets = Texts.encoded(options.reply(), coding);
        List<byte[]> parts = octets.length <= Texts.OCTETS_MAX ? List.of(octets) : Texts.partsOf16(octets, last.get());
        ESMClass esmClass = new ESMClass(parts.size() == 1 ? 0 : 0x40);
        try {
            // The last part comes first, as it may in a network.
            for (byte[] part : reversed(parts)) {
                deliver(session, sm, esmClass, coding, part);
            }
            Lines.say("reply", "to", sm.getSourceAddr(), "text", options.reply(), "status", 0);
        } catch (Exception error) {
            Lines.say("failed", "error", error.toString());
        }
    }

    private static List<byte[]> reversed(List<byte[]> parts) {
        List<byte[]> out = new ArrayList<>(parts);
        Collections.reverse(out);
        return out;
    }

    private static void deliver(
            SMPPServerSession session, SubmitSm sm, ESMClass esmClass, int coding, byte[] octets, OptionalParameter... parameters)
            throws Exception {
        session.deliverShortMessage(
                "", TypeOfNumber.valueOf(sm.getDestAddrTon()), NumberingPlanIndicator.valueOf(sm.getDestAddrNpi()),
                sm.getDestAddress(), TypeOfNumber.valueOf(sm.getSourceAddrTon()),
                NumberingPlanIndicator.valueOf(sm.getSourceAddrNpi()), sm.getSourceAddr(), esmClass, (byte) 0, (byte) 0,
                new RegisteredDelivery(0), new RawDataCoding((byte) coding), octets, parameters);
    }

    private static MessageId messageId(int id) throws ProcessRequestException {
        try {
            return new MessageId(Integer.toHexString(id));
        } catch (org.jsmpp.PDUStringException error) {
            throw new ProcessRequestException("no id", SMPPConstant.STAT_ESME_RSYSERR, error);
        }
    }

    @Override
    public QuerySmResult onAcceptQuerySm(QuerySm query, SMPPServerSession session) {
        return new QuerySmResult(null, MessageState.ENROUTE, (byte) 0);
    }

    @Override
    public SubmitMultiResult onAcceptSubmitMulti(SubmitMulti multi, SMPPServerSession session) throws ProcessRequestException {
        throw refused();
    }

    @Override
    public void onAcceptReplaceSm(ReplaceSm replace, SMPPServerSession session) throws ProcessRequestException {
        throw refused();
    }

    @Override
    public void onAcceptCancelSm(CancelSm cancel, SMPPServerSession session) throws ProcessRequestException {
        throw refused();
    }

    @Override
    public BroadcastSmResult onAcceptBroadcastSm(BroadcastSm broadcast, SMPPServerSession session) throws ProcessRequestException {
        throw refused();
    }

    @Override
    public void onAcceptCancelBroadcastSm(CancelBroadcastSm cancel, SMPPServerSession session) throws ProcessRequestException {
        throw refused();
    }

    @Override
    public QueryBroadcastSmResult onAcceptQueryBroadcastSm(QueryBroadcastSm query, SMPPServerSession session)
            throws ProcessRequestException {
        throw refused();
    }

    @Override
    public DataSmResult onAcceptDataSm(DataSm dataSm, Session session) throws ProcessRequestException {
        throw refused();
    }

    private static ProcessRequestException refused() {
        return new ProcessRequestException("not here", SMPPConstant.STAT_ESME_RINVCMDID);
    }
}

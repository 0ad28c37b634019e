//! A small carrier for tests: a real listener that speaks SMPP, and does what its script says.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use net::{Cores, Link, Listener, ListenerLimits, TlsServer, Worker, drive};
use smpp::pdu::{Address, DeliverSm, esm_class};
use smpp::receipt::{MessageState, Receipt};
use smpp::session::{Config, Event, Role, Session};
use smpp::{Status, TlvBuf};
use tokio::sync::{Notify, watch};

/// What a submission is answered with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reply {
    /// Taken.
    Accept,
    /// Taken, and a receipt that is sent before the answer.
    ReceiptFirst,
    /// Not taken.
    Status(Status),
    /// No answer.
    Silence,
    /// Taken, but the answer comes when [`Smsc::release`] says so.
    Later,
}

/// A submission as it came.
#[derive(Debug, Clone)]
pub struct Submitted {
    pub to: String,
    pub from: String,
    pub octets: Vec<u8>,
    pub data_coding: u8,
    pub esm_class: u8,
    pub registered: u8,
    pub validity: String,
    pub priority: u8,
    pub source: (u8, u8),
    pub dest: (u8, u8),
    pub service_type: String,
    pub protocol_id: u8,
    pub replace: u8,
    pub tlvs: Vec<u8>,
}

/// A message for the gateway.
#[derive(Debug, Clone, Default)]
pub struct Delivery {
    pub from: String,
    pub to: String,
    pub octets: Vec<u8>,
    pub data_coding: u8,
    pub esm_class: u8,
}

type Script = Box<dyn FnMut(usize, &Submitted) -> Reply + Send>;

struct State {
    script: Script,
    submitted: Vec<Submitted>,
    deliveries: VecDeque<Delivery>,
    /// Answers to our deliveries, with what the gateway had on disk is the test's concern.
    delivered: Vec<Status>,
    binds: usize,
    ends: usize,
    refuses: bool,
    bound_by: Vec<String>,
    wakes: Vec<Arc<Notify>>,
    decimal_receipts: bool,
    /// Asked at each answer to a delivery, with how many there were.
    probe: Box<dyn FnMut(usize) + Send>,
}

/// A handle on it.
#[derive(Clone)]
pub struct Smsc {
    shared: Arc<Mutex<State>>,
    pub changed: Arc<Notify>,
    cut: watch::Sender<u32>,
    release: watch::Sender<bool>,
    pub address: String,
}

impl Smsc {
    /// Starts one on the current runtime.
    pub async fn start(script: impl FnMut(usize, &Submitted) -> Reply + Send + 'static) -> Smsc {
        Smsc::start_with(None, script).await
    }

    /// The same by TLS.
    pub async fn start_with(
        tls: Option<TlsServer>,
        script: impl FnMut(usize, &Submitted) -> Reply + Send + 'static,
    ) -> Smsc {
        let listener = Listener::bind("127.0.0.1:0", ListenerLimits::of(100)).await.unwrap();
        let address = listener.address().unwrap().to_string();
        let shared = State {
            script: Box::new(script),
            submitted: Vec::new(),
            deliveries: VecDeque::new(),
            delivered: Vec::new(),
            binds: 0,
            ends: 0,
            refuses: false,
            bound_by: Vec::new(),
            wakes: Vec::new(),
            decimal_receipts: false,
            probe: Box::new(|_| {}),
        };
        let smsc = Smsc {
            shared: Arc::new(Mutex::new(shared)),
            changed: Arc::new(Notify::new()),
            cut: watch::channel(0).0,
            release: watch::channel(false).0,
            address,
        };
        let handle = smsc.clone();
        tokio::spawn(async move {
            let cores = Cores::from_handles(Vec::new());
            let serve = listener.serve(&cores, tls, move |stream, _, place| {
                let smsc = handle.clone();
                async move {
                    place.set_busy();
                    smsc.connection(Link::new(stream)).await;
                }
            });
            serve.await;
        });
        smsc
    }

    async fn connection(self, mut link: Link) {
        let wake = Arc::new(Notify::new());
        self.shared.lock().unwrap().wakes.push(Arc::clone(&wake));
        let config = Config { window: 1_000, peer_window: 10_000, ..Config::default() };
        let mut session = Session::new(Role::Smsc, config, Instant::now());
        let mut cut = self.cut.subscribe();
        cut.mark_unchanged();
        let release = self.release.subscribe();
        let mut send_queue =
            SubmitHandler { smsc: self, wake, bind: None, answers: Vec::new(), later: Vec::new(), release };
        tokio::select! {
            _ = drive(&mut link, &mut session, &mut send_queue) => {}
            _ = cut.changed() => {}
        }
        send_queue.smsc.shared.lock().unwrap().ends += 1;
        send_queue.smsc.changed.notify_waiters();
    }

    /// Connects to the gateway, and asks it to bind.
    pub async fn outbind(&self, address: &str, password: &str) {
        let stream = net::connect(address, None, std::time::Duration::from_secs(5)).await.unwrap();
        let smsc = self.clone();
        let password = password.to_owned();
        tokio::spawn(async move {
            let wake = Arc::new(Notify::new());
            smsc.shared.lock().unwrap().wakes.push(Arc::clone(&wake));
            let mut session = Session::new(Role::Smsc, Config::default(), Instant::now());
            let asked = smpp::pdu::Outbind {
                system_id: b"carrier",
                password: password.as_bytes(),
                ..smpp::pdu::Outbind::default()
            };
            session.outbind(&asked, Instant::now()).unwrap();
            let release = smsc.release.subscribe();
            let mut send_queue =
                SubmitHandler { smsc, wake, bind: None, answers: Vec::new(), later: Vec::new(), release };
            let _ = drive(&mut Link::new(stream), &mut session, &mut send_queue).await;
            send_queue.smsc.shared.lock().unwrap().ends += 1;
        });
    }

    /// Sessions that have ended.
    pub fn ends(&self) -> usize {
        self.shared.lock().unwrap().ends
    }

    /// Who bound, in order.
    pub fn bound_by(&self) -> Vec<String> {
        self.shared.lock().unwrap().bound_by.clone()
    }

    pub fn submitted(&self) -> Vec<Submitted> {
        self.shared.lock().unwrap().submitted.clone()
    }

    pub fn count(&self) -> usize {
        self.shared.lock().unwrap().submitted.len()
    }

    pub fn binds(&self) -> usize {
        self.shared.lock().unwrap().binds
    }

    pub fn delivered(&self) -> Vec<Status> {
        self.shared.lock().unwrap().delivered.clone()
    }

    /// Receipts write ids in decimal where answers are hexadecimal.
    pub fn write_decimal_receipts(&self) {
        self.shared.lock().unwrap().decimal_receipts = true;
    }

    /// Calls `probe` whenever the gateway answers a delivery, with the number of answers so far.
    pub fn probe(&self, probe: impl FnMut(usize) + Send + 'static) {
        self.shared.lock().unwrap().probe = Box::new(probe);
    }

    /// Another script from now on.
    pub fn rescript(&self, script: impl FnMut(usize, &Submitted) -> Reply + Send + 'static) {
        self.shared.lock().unwrap().script = Box::new(script);
    }

    /// Sends something to the gateway, by any session that receives.
    pub fn deliver(&self, delivery: Delivery) {
        let mut shared = self.shared.lock().unwrap();
        shared.deliveries.push_back(delivery);
        shared.wakes.iter().for_each(|wake| wake.notify_one());
    }

    /// Nobody can bind any more.
    pub fn refuse_from_now_on(&self) {
        self.shared.lock().unwrap().refuses = true;
    }

    /// Cuts all connections, without a word.
    pub fn cut(&self) {
        self.cut.send_modify(|cuts| *cuts += 1);
    }

    /// Gives the answers that were to come later.
    pub fn release(&self) {
        self.release.send_replace(true);
        self.shared.lock().unwrap().wakes.iter().for_each(|wake| wake.notify_one());
    }
}

struct SubmitHandler {
    smsc: Smsc,
    wake: Arc<Notify>,
    bind: Option<bool>,
    answers: Vec<(u32, usize, Reply, String)>,
    later: Vec<(u32, usize)>,
    release: watch::Receiver<bool>,
}

impl SubmitHandler {
    fn id(number: usize) -> String {
        format!("{:08X}", 0xA0_0000 + number)
    }

    fn receipt(&self, number: usize, to: &str) -> Delivery {
        let id = if self.smsc.shared.lock().unwrap().decimal_receipts {
            (0xA0_0000 + number).to_string()
        } else {
            SubmitHandler::id(number)
        };
        let receipt = Receipt {
            text_id: id.as_bytes(),
            state: Some(MessageState::Delivered),
            submit_date: b"2611210000",
            done_date: b"2611210001",
            error: b"000",
            ..Receipt::default()
        };
        let mut octets = Vec::new();
        receipt.write_text(&mut octets);
        Delivery {
            from: to.to_owned(),
            to: "100".to_owned(),
            octets,
            data_coding: 0,
            esm_class: esm_class::RECEIPT,
        }
    }
}

impl Worker<Session> for SubmitHandler {
    fn handle(&mut self, event: Event<'_>, _now: Instant) {
        match event {
            Event::Bind { bind } => {
                let who = format!("{} {:?}", String::from_utf8_lossy(bind.system_id), bind.mode);
                let mut shared = self.smsc.shared.lock().unwrap();
                shared.bound_by.push(who);
                self.bind = Some(bind.password == b"secret" && !shared.refuses);
            }
            Event::Submit { sequence, pdu } => {
                let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
                let submitted = Submitted {
                    to: text(pdu.destination.addr),
                    from: text(pdu.source.addr),
                    octets: pdu.message().to_vec(),
                    data_coding: pdu.data_coding,
                    esm_class: pdu.esm_class,
                    registered: pdu.registered_delivery,
                    validity: text(pdu.validity_period),
                    priority: pdu.priority_flag,
                    source: (pdu.source.ton, pdu.source.npi),
                    dest: (pdu.destination.ton, pdu.destination.npi),
                    service_type: text(pdu.service_type),
                    protocol_id: pdu.protocol_id,
                    replace: pdu.replace_if_present_flag,
                    tlvs: pdu.tlvs.as_bytes().to_vec(),
                };
                let mut shared = self.smsc.shared.lock().unwrap();
                let number = shared.submitted.len();
                let reply = (shared.script)(number, &submitted);
                let to = submitted.to.clone();
                shared.submitted.push(submitted);
                drop(shared);
                self.answers.push((sequence, number, reply, to));
            }
            Event::Response(response) => {
                let mut shared = self.smsc.shared.lock().unwrap();
                shared.delivered.push(response.status);
                let count = shared.delivered.len();
                (shared.probe)(count);
            }
            _ => {}
        }
    }

    fn fill(&mut self, session: &mut Session, now: Instant, _writable: bool) {
        match self.bind.take() {
            Some(true) => {
                session.accept_bind(b"carrier", now).unwrap();
                self.smsc.shared.lock().unwrap().binds += 1;
            }
            Some(false) => session.refuse_bind(Status::RINVPASWD, now).unwrap(),
            None => {}
        }
        for (sequence, number, reply, to) in std::mem::take(&mut self.answers) {
            match reply {
                Reply::Accept => {
                    let _ = session.respond(sequence, Status::ROK, SubmitHandler::id(number).as_bytes(), now);
                }
                Reply::ReceiptFirst => {
                    let receipt = self.receipt(number, &to);
                    deliver(session, &receipt, now);
                    let _ = session.respond(sequence, Status::ROK, SubmitHandler::id(number).as_bytes(), now);
                }
                Reply::Status(status) => {
                    let _ = session.respond(sequence, status, b"", now);
                }
                Reply::Silence => {}
                Reply::Later => self.later.push((sequence, number)),
            }
        }
        if *self.release.borrow() {
            for (sequence, number) in self.later.drain(..) {
                let _ = session.respond(sequence, Status::ROK, SubmitHandler::id(number).as_bytes(), now);
            }
        }
        let mut shared = self.smsc.shared.lock().unwrap();
        while let Some(delivery) = shared.deliveries.front() {
            if !deliver(session, delivery, now) {
                break;
            }
            shared.deliveries.pop_front();
        }
        drop(shared);
        self.smsc.changed.notify_waiters();
    }

    fn woken(&mut self) -> impl Future<Output = ()> + Send {
        self.wake.notified()
    }
}

fn deliver(session: &mut Session, delivery: &Delivery, now: Instant) -> bool {
    let mut tlvs = TlvBuf::new();
    let long = delivery.octets.len() > 254;
    if long {
        tlvs.push(smpp::Tag::MESSAGE_PAYLOAD, &delivery.octets).unwrap();
    }
    let pdu = DeliverSm {
        source: Address { ton: 1, npi: 1, addr: delivery.from.as_bytes() },
        destination: Address { ton: 0, npi: 1, addr: delivery.to.as_bytes() },
        esm_class: delivery.esm_class,
        data_coding: delivery.data_coding,
        short_message: if long { b"" } else { &delivery.octets },
        tlvs: tlvs.as_tlvs(),
        ..DeliverSm::default()
    };
    session.deliver(&pdu, 1, now).is_ok()
}

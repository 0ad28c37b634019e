//! The peer state machine of RFC 6733 section 5.6, pure: a type per state, a method per row, actions as
//! values.
//!
//! A row's method takes its state by value and gives the row's next state by type: a wrong transition does
//! not compile. The rows of an open peer that move no state (Send-Message, Rcv-Message, Rcv-DWR, Rcv-DWA) are
//! the connection's, where the messages are.

/// A transport connection, by the number under which its driver knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Link(pub u64);

/// What happened to a peer (section 5.6.2). `I` is the connection that we began, `R` the one that the peer
/// began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerEvent {
    /// A connection is wanted.
    Start,
    /// A connection of the peer's came, and with it a CER that can be accepted.
    RConnCer(Link),
    /// Our connection is established.
    IRcvConnAck(Link),
    /// Our connection was not established.
    IRcvConnNack,
    /// A successful CEA came.
    IRcvCea,
    /// Something else than a successful CEA came.
    IRcvNonCea,
    /// Our connection was closed.
    IPeerDisc,
    /// The peer's connection was closed.
    RPeerDisc,
    /// What was waited for did not come in time.
    Timeout,
    /// No connection is wanted any more.
    Stop,
    /// A DPR came on the open connection.
    RcvDpr,
    /// A DPA came on the closing connection.
    RcvDpa,
}

/// What is to be done (section 5.6.3). Process-CER, Process-CEA and Cleanup leave nothing to do here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// I-Snd-Conn-Req: connect to the peer.
    Connect,
    /// I-Snd-CER.
    SendCer(Link),
    /// R-Accept, Process-CER: the connection is held until its CEA is sent or it is disconnected.
    Accept(Link),
    /// R-Snd-CEA: a successful one.
    SendCea(Link),
    /// R-Reject: this peer is connected already.
    Reject(Link),
    /// I-Disc, R-Disc and Error.
    Disconnect(Link),
    /// Error in Wait-Conn-Ack: the attempt to connect is given up.
    GiveUpConnecting,
    /// Snd-DPR.
    SendDpr(Link),
    /// Snd-DPA.
    SendDpa(Link),
}

/// Actions of one event: no row has more than four, an election's two steps together.
pub type Actions = Vec<Action>;

/// No connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;
/// Our attempt to connect is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitConnAck;
/// Our CER is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitICea {
    i: Link,
}
/// Our attempt to connect is under way, and the peer's CER came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitConnAckElect {
    r: Link,
}
/// Both connections are there, and ours may go on only if the peer wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitReturns {
    i: Link,
    r: Link,
}
/// Open on the peer's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ROpen {
    r: Link,
}
/// Open on our connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IOpen {
    i: Link,
}
/// A DPR or DPA is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closing {
    link: Link,
    is_ours: bool,
}

impl Closed {
    // Closed | Start | I-Snd-Conn-Req | Wait-Conn-Ack
    fn start(self, actions: &mut Actions) -> WaitConnAck {
        actions.push(Action::Connect);
        WaitConnAck
    }

    // Closed | R-Conn-CER | R-Accept, Process-CER, R-Snd-CEA | R-Open
    fn r_conn_cer(self, r: Link, actions: &mut Actions) -> ROpen {
        actions.extend([Action::Accept(r), Action::SendCea(r)]);
        ROpen { r }
    }
}

impl WaitConnAck {
    // Wait-Conn-Ack | I-Rcv-Conn-Ack | I-Snd-CER | Wait-I-CEA
    fn i_rcv_conn_ack(self, i: Link, actions: &mut Actions) -> WaitICea {
        actions.push(Action::SendCer(i));
        WaitICea { i }
    }

    // Wait-Conn-Ack | I-Rcv-Conn-Nack | Cleanup | Closed
    fn i_rcv_conn_nack(self) -> Closed {
        Closed
    }

    // Wait-Conn-Ack | R-Conn-CER | R-Accept, Process-CER | Wait-Conn-Ack/Elect
    fn r_conn_cer(self, r: Link, actions: &mut Actions) -> WaitConnAckElect {
        actions.push(Action::Accept(r));
        WaitConnAckElect { r }
    }

    // Wait-Conn-Ack | Timeout | Error | Closed
    fn timeout(self, actions: &mut Actions) -> Closed {
        actions.push(Action::GiveUpConnecting);
        Closed
    }
}

impl WaitICea {
    // Wait-I-CEA | I-Rcv-CEA | Process-CEA | I-Open
    fn i_rcv_cea(self) -> IOpen {
        IOpen { i: self.i }
    }

    // Wait-I-CEA | R-Conn-CER | R-Accept, Process-CER, Elect | Wait-Returns
    fn r_conn_cer(self, r: Link, actions: &mut Actions) -> WaitReturns {
        actions.push(Action::Accept(r));
        WaitReturns { i: self.i, r }
    }

    // Wait-I-CEA | I-Peer-Disc | I-Disc | Closed
    // Wait-I-CEA | I-Rcv-Non-CEA | Error | Closed
    // Wait-I-CEA | Timeout | Error | Closed
    fn close(self, actions: &mut Actions) -> Closed {
        actions.push(Action::Disconnect(self.i));
        Closed
    }
}

impl WaitConnAckElect {
    // Wait-Conn-Ack/Elect | I-Rcv-Conn-Ack | I-Snd-CER, Elect | Wait-Returns
    fn i_rcv_conn_ack(self, i: Link, actions: &mut Actions) -> WaitReturns {
        actions.push(Action::SendCer(i));
        WaitReturns { i, r: self.r }
    }

    // Wait-Conn-Ack/Elect | I-Rcv-Conn-Nack | R-Snd-CEA | R-Open
    fn i_rcv_conn_nack(self, actions: &mut Actions) -> ROpen {
        actions.push(Action::SendCea(self.r));
        ROpen { r: self.r }
    }

    // Wait-Conn-Ack/Elect | R-Peer-Disc | R-Disc | Wait-Conn-Ack
    fn r_peer_disc(self, actions: &mut Actions) -> WaitConnAck {
        actions.push(Action::Disconnect(self.r));
        WaitConnAck
    }

    // Wait-Conn-Ack/Elect | R-Conn-CER | R-Reject | Wait-Conn-Ack/Elect
    fn r_conn_cer(self, another: Link, actions: &mut Actions) -> WaitConnAckElect {
        actions.push(Action::Reject(another));
        self
    }

    // Wait-Conn-Ack/Elect | Timeout | Error | Closed
    fn timeout(self, actions: &mut Actions) -> Closed {
        actions.extend([Action::GiveUpConnecting, Action::Disconnect(self.r)]);
        Closed
    }
}

impl WaitReturns {
    // Wait-Returns | Win-Election | I-Disc, R-Snd-CEA | R-Open
    // Wait-Returns | I-Peer-Disc | I-Disc, R-Snd-CEA | R-Open
    fn responder_stays(self, actions: &mut Actions) -> ROpen {
        actions.extend([Action::Disconnect(self.i), Action::SendCea(self.r)]);
        ROpen { r: self.r }
    }

    // Wait-Returns | I-Rcv-CEA | R-Disc | I-Open
    fn i_rcv_cea(self, actions: &mut Actions) -> IOpen {
        actions.push(Action::Disconnect(self.r));
        IOpen { i: self.i }
    }

    // Wait-Returns | R-Peer-Disc | R-Disc | Wait-I-CEA
    fn r_peer_disc(self, actions: &mut Actions) -> WaitICea {
        actions.push(Action::Disconnect(self.r));
        WaitICea { i: self.i }
    }

    // Wait-Returns | R-Conn-CER | R-Reject | Wait-Returns
    fn r_conn_cer(self, another: Link, actions: &mut Actions) -> WaitReturns {
        actions.push(Action::Reject(another));
        self
    }

    // Wait-Returns | Timeout | Error | Closed
    fn timeout(self, actions: &mut Actions) -> Closed {
        actions.extend([Action::Disconnect(self.i), Action::Disconnect(self.r)]);
        Closed
    }
}

impl ROpen {
    // R-Open | R-Conn-CER | R-Reject | R-Open
    fn r_conn_cer(self, another: Link, actions: &mut Actions) -> ROpen {
        actions.push(Action::Reject(another));
        self
    }

    // R-Open | Stop | R-Snd-DPR | Closing
    fn stop(self, actions: &mut Actions) -> Closing {
        actions.push(Action::SendDpr(self.r));
        Closing { link: self.r, is_ours: false }
    }

    // R-Open | R-Rcv-DPR | R-Snd-DPA | Closing
    fn r_rcv_dpr(self, actions: &mut Actions) -> Closing {
        actions.push(Action::SendDpa(self.r));
        Closing { link: self.r, is_ours: false }
    }

    // R-Open | R-Peer-Disc | R-Disc | Closed
    fn r_peer_disc(self, actions: &mut Actions) -> Closed {
        actions.push(Action::Disconnect(self.r));
        Closed
    }
}

impl IOpen {
    // I-Open | R-Conn-CER | R-Reject | I-Open
    fn r_conn_cer(self, another: Link, actions: &mut Actions) -> IOpen {
        actions.push(Action::Reject(another));
        self
    }

    // I-Open | Stop | I-Snd-DPR | Closing
    fn stop(self, actions: &mut Actions) -> Closing {
        actions.push(Action::SendDpr(self.i));
        Closing { link: self.i, is_ours: true }
    }

    // I-Open | I-Rcv-DPR | I-Snd-DPA | Closing
    fn i_rcv_dpr(self, actions: &mut Actions) -> Closing {
        actions.push(Action::SendDpa(self.i));
        Closing { link: self.i, is_ours: true }
    }

    // I-Open | I-Peer-Disc | I-Disc | Closed
    fn i_peer_disc(self, actions: &mut Actions) -> Closed {
        actions.push(Action::Disconnect(self.i));
        Closed
    }
}

impl Closing {
    // Closing | I-Rcv-DPA | I-Disc | Closed
    // Closing | R-Rcv-DPA | R-Disc | Closed
    // Closing | Timeout | Error | Closed
    // Closing | I-Peer-Disc | I-Disc | Closed
    // Closing | R-Peer-Disc | R-Disc | Closed
    fn close(self, actions: &mut Actions) -> Closed {
        actions.push(Action::Disconnect(self.link));
        Closed
    }
}

/// Where a peer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerState {
    /// No connection.
    Closed(Closed),
    /// Our attempt to connect is under way.
    WaitConnAck(WaitConnAck),
    /// Our CER is sent.
    WaitICea(WaitICea),
    /// Our attempt to connect is under way, and the peer's CER came.
    WaitConnAckElect(WaitConnAckElect),
    /// Both connections are there.
    WaitReturns(WaitReturns),
    /// Open on the peer's connection.
    ROpen(ROpen),
    /// Open on our connection.
    IOpen(IOpen),
    /// A DPR or DPA is sent.
    Closing(Closing),
}

macro_rules! into_state {
    ($($name:ident),*) => { $(impl From<$name> for PeerState {
        fn from(state: $name) -> PeerState {
            PeerState::$name(state)
        }
    })* };
}
into_state!(Closed, WaitConnAck, WaitICea, WaitConnAckElect, WaitReturns, ROpen, IOpen, Closing);

impl PeerState {
    /// The next state, and what is to be done. `wins` says whether we win an election ([`wins_election`]).
    /// What no row names changes nothing, but that a connection nobody expects is not kept.
    #[must_use]
    pub fn on(self, event: PeerEvent, wins: bool, actions: &mut Actions) -> PeerState {
        match self {
            PeerState::Closed(state) => match event {
                PeerEvent::Start => state.start(actions).into(),
                PeerEvent::RConnCer(r) => state.r_conn_cer(r, actions).into(),
                _ => self.unexpected(event, actions),
            },
            PeerState::WaitConnAck(state) => match event {
                PeerEvent::IRcvConnAck(i) => state.i_rcv_conn_ack(i, actions).into(),
                PeerEvent::IRcvConnNack => state.i_rcv_conn_nack().into(),
                PeerEvent::RConnCer(r) => state.r_conn_cer(r, actions).into(),
                // Nothing is open yet: an order to stop gives up.
                PeerEvent::Timeout | PeerEvent::Stop => state.timeout(actions).into(),
                _ => self.unexpected(event, actions),
            },
            PeerState::WaitICea(state) => match event {
                PeerEvent::IRcvCea => state.i_rcv_cea().into(),
                PeerEvent::RConnCer(r) => state.r_conn_cer(r, actions).elect(wins, actions),
                PeerEvent::IPeerDisc | PeerEvent::IRcvNonCea | PeerEvent::Timeout | PeerEvent::Stop => {
                    state.close(actions).into()
                }
                _ => self.unexpected(event, actions),
            },
            PeerState::WaitConnAckElect(state) => match event {
                PeerEvent::IRcvConnAck(i) => state.i_rcv_conn_ack(i, actions).elect(wins, actions),
                PeerEvent::IRcvConnNack => state.i_rcv_conn_nack(actions).into(),
                PeerEvent::RPeerDisc => state.r_peer_disc(actions).into(),
                PeerEvent::RConnCer(r) => state.r_conn_cer(r, actions).into(),
                PeerEvent::Timeout | PeerEvent::Stop => state.timeout(actions).into(),
                _ => self.unexpected(event, actions),
            },
            PeerState::WaitReturns(state) => state.on(event, actions),
            PeerState::ROpen(state) => match event {
                PeerEvent::RConnCer(r) => state.r_conn_cer(r, actions).into(),
                PeerEvent::Stop => state.stop(actions).into(),
                PeerEvent::RcvDpr => state.r_rcv_dpr(actions).into(),
                PeerEvent::RPeerDisc => state.r_peer_disc(actions).into(),
                _ => self.unexpected(event, actions),
            },
            PeerState::IOpen(state) => match event {
                PeerEvent::RConnCer(r) => state.r_conn_cer(r, actions).into(),
                PeerEvent::Stop => state.stop(actions).into(),
                PeerEvent::RcvDpr => state.i_rcv_dpr(actions).into(),
                PeerEvent::IPeerDisc => state.i_peer_disc(actions).into(),
                _ => self.unexpected(event, actions),
            },
            PeerState::Closing(state) => match event {
                PeerEvent::RcvDpa | PeerEvent::Timeout => state.close(actions).into(),
                PeerEvent::IPeerDisc if state.is_ours => state.close(actions).into(),
                PeerEvent::RPeerDisc if !state.is_ours => state.close(actions).into(),
                _ => self.unexpected(event, actions),
            },
        }
    }

    fn unexpected(self, event: PeerEvent, actions: &mut Actions) -> PeerState {
        match event {
            PeerEvent::RConnCer(r) => actions.push(Action::Reject(r)),
            PeerEvent::IRcvConnAck(i) => actions.push(Action::Disconnect(i)),
            _ => {}
        }
        self
    }

    /// Our connection, as far as there is one.
    #[must_use]
    pub fn initiator(&self) -> Option<Link> {
        match *self {
            PeerState::WaitICea(WaitICea { i })
            | PeerState::WaitReturns(WaitReturns { i, .. })
            | PeerState::IOpen(IOpen { i }) => Some(i),
            PeerState::Closing(Closing { link, is_ours }) => is_ours.then_some(link),
            PeerState::Closed(_)
            | PeerState::WaitConnAck(_)
            | PeerState::WaitConnAckElect(_)
            | PeerState::ROpen(_) => None,
        }
    }

    /// The peer's connection, as far as there is one.
    #[must_use]
    pub fn responder(&self) -> Option<Link> {
        match *self {
            PeerState::WaitConnAckElect(WaitConnAckElect { r })
            | PeerState::WaitReturns(WaitReturns { r, .. })
            | PeerState::ROpen(ROpen { r }) => Some(r),
            PeerState::Closing(Closing { link, is_ours }) => (!is_ours).then_some(link),
            PeerState::Closed(_)
            | PeerState::WaitConnAck(_)
            | PeerState::WaitICea(_)
            | PeerState::IOpen(_) => None,
        }
    }

    /// The open connection.
    #[must_use]
    pub fn open(&self) -> Option<Link> {
        match *self {
            PeerState::ROpen(ROpen { r: link }) | PeerState::IOpen(IOpen { i: link }) => Some(link),
            _ => None,
        }
    }

    /// Whether something is waited for that must come in time: neither closed nor open.
    #[must_use]
    pub fn is_intermediate(&self) -> bool {
        !matches!(self, PeerState::Closed(_) | PeerState::ROpen(_) | PeerState::IOpen(_))
    }
}

impl WaitReturns {
    /// Elect: the election is held as soon as both connections are there.
    fn elect(self, wins: bool, actions: &mut Actions) -> PeerState {
        if wins { self.responder_stays(actions).into() } else { self.into() }
    }

    fn on(self, event: PeerEvent, actions: &mut Actions) -> PeerState {
        match event {
            PeerEvent::IRcvCea => self.i_rcv_cea(actions).into(),
            // A CEA that refuses is the peer's word that it lost or closes this connection: as if it had.
            PeerEvent::IPeerDisc | PeerEvent::IRcvNonCea => self.responder_stays(actions).into(),
            PeerEvent::RPeerDisc => self.r_peer_disc(actions).into(),
            PeerEvent::RConnCer(r) => self.r_conn_cer(r, actions).into(),
            PeerEvent::Timeout | PeerEvent::Stop => self.timeout(actions).into(),
            _ => PeerState::from(self).unexpected(event, actions),
        }
    }
}

/// Whether we win against the peer (section 5.6.4): our Origin-Host succeeds the peer's, as octets with `a`
/// to `z` equal to `A` to `Z`. Of two equal ones nobody wins.
#[must_use]
pub fn wins_election(ours: &[u8], theirs: &[u8]) -> bool {
    let folded = |name: &[u8]| name.iter().map(u8::to_ascii_lowercase).collect::<Vec<_>>();
    folded(ours) > folded(theirs)
}

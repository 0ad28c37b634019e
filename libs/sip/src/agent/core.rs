//! AgentCore of a user agent: transactions of both sides, output, events and deadlines, which calls and
//! registrations share.

use super::config::{InviteRefusal, SipResponse, UserAgentConfig};
use super::deadlines::Deadlines;
use super::drafts::{Echo, RequestDraft, companion, contact, via};
use super::event::{AgentCounters, AgentEvent, CallEvent, CallHandle, RegistrationHandle, RequestHandle};
use super::flow::{SipFlow, SipTransmit};
use crate::identifiers::Identifiers;
use crate::limits::FORKS_MAX;
use crate::message::{HeaderName, Method, SipMessage};
use crate::transaction::{
    ClientState, ClientStep, ClientTransaction, InviteClientState, InviteClientTransaction,
    InviteServerState, InviteServerTransaction, ServerState, ServerTransaction,
};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

/// The owner of a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Timer {
    Client(u64),
    Server(u64),
    Call(CallHandle),
    Registration(RegistrationHandle),
    Request(RequestHandle),
    KeepAlive(SipFlow),
}

/// The owner of a client transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientOwner {
    /// The INVITE that makes a call.
    Invite(CallHandle),
    /// A request inside a call.
    InDialog(CallHandle),
    Registration(RegistrationHandle),
    Options(super::event::OptionsHandle),
    /// CANCEL, and BYE of forks: nobody waits for the answer.
    Nobody,
}

#[derive(Debug)]
enum ClientMachine {
    Invite(InviteClientTransaction),
    Other(ClientTransaction),
}

/// An acknowledged 2xx: its tag, and the ACK for when it comes again.
#[derive(Debug)]
struct Acknowledged {
    tag: String,
    ack: Arc<[u8]>,
    flow: SipFlow,
}

#[derive(Debug)]
pub(super) struct ClientEntry {
    machine: ClientMachine,
    pub request: Arc<[u8]>,
    pub flow: SipFlow,
    pub method: Method,
    pub owner: ClientOwner,
    branch: String,
    acknowledged: Vec<Acknowledged>,
}

impl ClientEntry {
    fn poll_timeout(&self) -> Option<Instant> {
        match &self.machine {
            ClientMachine::Invite(machine) => machine.poll_timeout(),
            ClientMachine::Other(machine) => machine.poll_timeout(),
        }
    }

    fn is_terminated(&self) -> bool {
        match &self.machine {
            ClientMachine::Invite(machine) => machine.state() == InviteClientState::Terminated,
            ClientMachine::Other(machine) => machine.state() == ClientState::Terminated,
        }
    }
}

#[derive(Debug)]
pub(super) enum ServerMachine {
    Invite(InviteServerTransaction),
    Other(ServerTransaction),
}

#[derive(Debug)]
pub(super) struct ServerEntry {
    pub machine: ServerMachine,
    pub echo: Echo,
    /// The call whose INVITE it is.
    pub call: Option<CallHandle>,
    key: String,
    last: Option<Arc<[u8]>>,
}

/// All of a user agent but its calls and registrations, so that these may change it.
#[derive(Debug)]
pub(super) struct AgentCore {
    pub config: UserAgentConfig,
    pub identifiers: Identifiers,
    pub output: VecDeque<SipTransmit>,
    pub events: VecDeque<AgentEvent>,
    pub deadlines: Deadlines<Timer>,
    pub counters: AgentCounters,
    pub now: Instant,
    clients: HashMap<u64, ClientEntry>,
    clients_by_branch: HashMap<String, u64>,
    servers: HashMap<u64, ServerEntry>,
    servers_by_key: HashMap<String, u64>,
    next_id: u64,
}

impl AgentCore {
    pub(super) fn new(config: UserAgentConfig, now: Instant) -> AgentCore {
        AgentCore {
            identifiers: Identifiers::new(&config.seed),
            config,
            output: VecDeque::new(),
            events: VecDeque::new(),
            deadlines: Deadlines::new(),
            counters: AgentCounters::default(),
            now,
            clients: HashMap::new(),
            clients_by_branch: HashMap::new(),
            servers: HashMap::new(),
            servers_by_key: HashMap::new(),
            next_id: 0,
        }
    }

    pub(super) fn take_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    pub(super) fn transmit(&mut self, flow: SipFlow, octets: Arc<[u8]>) {
        self.output.push_back(SipTransmit { flow, octets });
    }

    pub(super) fn tell(&mut self, call: CallHandle, event: CallEvent) {
        self.events.push_back(AgentEvent::Call { call, event });
    }

    /// Whether a request can go out on this flow.
    pub(super) fn check_room(&self, flow: SipFlow) -> Result<(), InviteRefusal> {
        if self.clients.len() >= self.config.transactions_max {
            return Err(InviteRefusal::NoRoom);
        }
        match self.config.addresses.of(flow.transport) {
            Some(_) => Ok(()),
            None => Err(InviteRefusal::NoAddress),
        }
    }

    /// The Contact of our messages on this flow.
    pub(super) fn contact(&self, flow: SipFlow, user: Option<&str>) -> String {
        let user = user.unwrap_or(&self.config.contact_user);
        let address = self.config.addresses.of(flow.transport);
        address.map(|address| contact(flow.transport, user, address)).unwrap_or_default()
    }

    fn write(&mut self, draft: &RequestDraft, flow: SipFlow) -> (String, Arc<[u8]>) {
        let branch = self.identifiers.branch();
        let address = self.config.addresses.of(flow.transport);
        let via = address.map(|address| via(flow.transport, address, &branch)).unwrap_or_default();
        let octets = draft.write(&via, &self.config.product);
        (branch, octets.into())
    }

    /// Sends a request in a new client transaction.
    pub(super) fn request(
        &mut self,
        draft: &RequestDraft,
        flow: SipFlow,
        owner: ClientOwner,
    ) -> Result<u64, InviteRefusal> {
        self.check_room(flow)?;
        let (branch, request) = self.write(draft, flow);
        Ok(self.begin_client(draft.method.clone(), branch, request, flow, owner))
    }

    fn begin_client(
        &mut self,
        method: Method,
        branch: String,
        request: Arc<[u8]>,
        flow: SipFlow,
        owner: ClientOwner,
    ) -> u64 {
        let (timers, is_reliable) = (self.config.timers, flow.transport.is_reliable());
        let machine = match method {
            Method::Invite => {
                ClientMachine::Invite(InviteClientTransaction::new(timers, is_reliable, self.now))
            }
            _ => ClientMachine::Other(ClientTransaction::new(timers, is_reliable, self.now)),
        };
        let id = self.take_id();
        self.transmit(flow, request.clone());
        self.clients_by_branch.insert(client_key(&branch, &method), id);
        let entry = ClientEntry { machine, request, flow, method, owner, branch, acknowledged: Vec::new() };
        self.deadlines.set(Timer::Client(id), entry.poll_timeout());
        self.clients.insert(id, entry);
        id
    }

    /// Sends ACK for a 2xx, which is a transaction of its own, and keeps it for when the 2xx comes again.
    pub(super) fn acknowledge(&mut self, client: u64, tag: String, draft: &RequestDraft, flow: SipFlow) {
        let (_, ack) = self.write(draft, flow);
        self.transmit(flow, ack.clone());
        if let Some(entry) =
            self.clients.get_mut(&client).filter(|entry| entry.acknowledged.len() < FORKS_MAX)
        {
            entry.acknowledged.push(Acknowledged { tag, ack, flow });
        }
    }

    /// Sends CANCEL for an INVITE of ours (RFC 3261 section 9.1): to where the INVITE went, with its branch.
    pub(super) fn cancel(&mut self, client: u64, fields: &[(HeaderName, String)]) {
        let Some(entry) = self.clients.get(&client) else { return };
        let (request, flow, branch) = (entry.request.clone(), entry.flow, entry.branch.clone());
        let Ok(invite) = SipMessage::parse(&request) else { return };
        let to = invite.value(HeaderName::To).unwrap_or_default();
        let octets = companion(&invite, &Method::Cancel, to, fields);
        self.begin_client(Method::Cancel, branch, octets.into(), flow, ClientOwner::Nobody);
    }

    pub(super) fn client(&self, id: u64) -> Option<&ClientEntry> {
        self.clients.get(&id)
    }

    /// Takes a response in. The transaction and its owner, if the response is for them.
    pub(super) fn receive_response(&mut self, response: &SipMessage<'_>) -> Option<(u64, ClientOwner)> {
        let (status, key) = match response.essentials() {
            Ok(essentials) if response.list(HeaderName::Via).nth(1).is_none() => {
                let branch = essentials.via.branch().unwrap_or_default();
                (response.status()?, client_key(&branch, &essentials.cseq.method))
            }
            // Two Vias: it is not for us (section 8.1.3.3).
            Ok(_) | Err(_) => {
                self.counters.unreadable += 1;
                return None;
            }
        };
        let Some(&id) = self.clients_by_branch.get(&key) else {
            self.counters.stray_responses += 1;
            return None;
        };
        let entry = self.clients.get_mut(&id)?;
        let step = match &mut entry.machine {
            ClientMachine::Invite(machine) => machine.receive(status, self.now),
            ClientMachine::Other(machine) => machine.receive(status, self.now),
        };
        let owner = entry.owner;
        let delivers = step.delivers && !self.repeat_ack(id, status, response);
        self.act_on(id, step, Some(response));
        delivers.then_some((id, owner))
    }

    /// A 2xx that was acknowledged already gets its ACK again.
    fn repeat_ack(&mut self, id: u64, status: u16, response: &SipMessage<'_>) -> bool {
        let Some(entry) = self.clients.get(&id).filter(|_| (200..300).contains(&status)) else {
            return false;
        };
        let Ok(essentials) = response.essentials() else { return false };
        let tag = essentials.to.tag().unwrap_or_default();
        let Some(known) = entry.acknowledged.iter().find(|known| known.tag == tag) else { return false };
        let (flow, ack) = (known.flow, known.ack.clone());
        self.transmit(flow, ack);
        self.counters.repetitions += 1;
        true
    }

    fn act_on(&mut self, id: u64, step: ClientStep, response: Option<&SipMessage<'_>>) {
        let Some(entry) = self.clients.get(&id) else { return };
        let (request, flow) = (entry.request.clone(), entry.flow);
        if let (true, Some(response), Ok(invite)) = (step.acknowledges, response, SipMessage::parse(&request))
        {
            let to = response.value(HeaderName::To).unwrap_or_default();
            self.transmit(flow, companion(&invite, &Method::Ack, to, &[]).into());
        }
        if step.transmits {
            self.counters.repetitions += 1;
            self.transmit(flow, request);
        }
        let Some(entry) = self.clients.get(&id) else { return };
        self.deadlines.set(Timer::Client(id), entry.poll_timeout());
        // An ended transaction of INVITE stays until its owner has seen the response.
        if entry.is_terminated() && response.is_none() {
            self.forget_client(id);
        }
    }

    pub(super) fn forget_if_terminated(&mut self, id: u64) {
        if self.clients.get(&id).is_some_and(ClientEntry::is_terminated) {
            self.forget_client(id);
        }
    }

    pub(super) fn forget_client(&mut self, id: u64) {
        self.deadlines.set(Timer::Client(id), None);
        if let Some(entry) = self.clients.remove(&id) {
            self.clients_by_branch.remove(&client_key(&entry.branch, &entry.method));
        }
    }

    /// A client transaction's deadline: its owner, if nobody answered.
    pub(super) fn client_timeout(&mut self, id: u64) -> Option<ClientOwner> {
        let entry = self.clients.get_mut(&id)?;
        let step = match &mut entry.machine {
            ClientMachine::Invite(machine) => machine.handle_timeout(self.now),
            ClientMachine::Other(machine) => machine.handle_timeout(self.now),
        };
        let owner = entry.owner;
        self.act_on(id, step, None);
        step.timed_out.then_some(owner)
    }

    /// The client transactions on a flow that do not wait in vain only because of it.
    pub(super) fn clients_on(&self, flow: SipFlow) -> Vec<u64> {
        let mut ids: Vec<u64> = self
            .clients
            .iter()
            .filter(|(_, entry)| entry.flow == flow && entry.acknowledged.is_empty())
            .map(|(id, _)| *id)
            .collect();
        ids.sort_unstable();
        ids
    }

    pub(super) fn transactions(&self) -> usize {
        self.clients.len() + self.servers.len()
    }

    /// Begins a server transaction; `None` where there is no room.
    pub(super) fn begin_server(&mut self, key: String, echo: Echo, is_invite: bool) -> Option<u64> {
        if self.servers.len() >= self.config.transactions_max {
            self.counters.no_room += 1;
            return None;
        }
        let is_reliable = echo.flow.transport.is_reliable();
        let machine = match is_invite {
            true => ServerMachine::Invite(InviteServerTransaction::new(self.config.timers, is_reliable)),
            false => ServerMachine::Other(ServerTransaction::new(self.config.timers, is_reliable)),
        };
        let id = self.take_id();
        self.servers_by_key.insert(key.clone(), id);
        self.servers.insert(id, ServerEntry { machine, echo, call: None, key, last: None });
        Some(id)
    }

    pub(super) fn server_of(&self, key: &str) -> Option<u64> {
        self.servers_by_key.get(key).copied()
    }

    pub(super) fn server_mut(&mut self, id: u64) -> Option<&mut ServerEntry> {
        self.servers.get_mut(&id)
    }

    /// A request came again.
    pub(super) fn repeat_response(&mut self, id: u64) {
        let Some(entry) = self.servers.get_mut(&id) else { return };
        let step = match &mut entry.machine {
            ServerMachine::Invite(machine) => machine.receive_invite(),
            ServerMachine::Other(machine) => machine.receive_again(),
        };
        if let (true, Some(last)) = (step.transmits, entry.last.clone()) {
            let flow = entry.echo.flow;
            self.counters.repetitions += 1;
            self.transmit(flow, last);
        }
    }

    /// ACK came for an INVITE's transaction: whether it is the call's to see.
    pub(super) fn receive_ack(&mut self, id: u64) -> bool {
        let now = self.now;
        let Some(entry) = self.servers.get_mut(&id) else { return false };
        let ServerMachine::Invite(machine) = &mut entry.machine else { return false };
        let step = machine.receive_ack(now);
        self.settle_server(id);
        step.delivers
    }

    /// Sends a response in its transaction. The octets, for a 2xx that is to be repeated.
    pub(super) fn respond(
        &mut self,
        id: u64,
        response: &SipResponse,
        tag: &str,
        contact: Option<&str>,
        fields: &[(HeaderName, String)],
    ) -> Option<(SipFlow, Arc<[u8]>)> {
        let now = self.now;
        let entry = self.servers.get_mut(&id)?;
        let may = match &mut entry.machine {
            ServerMachine::Invite(machine) => machine.respond(response.status, now),
            ServerMachine::Other(machine) => machine.respond(response.status, now),
        };
        if !may {
            return None;
        }
        let octets: Arc<[u8]> = entry.echo.write(response, tag, contact, fields).into();
        entry.last = Some(octets.clone());
        let flow = entry.echo.flow;
        self.transmit(flow, octets.clone());
        self.settle_server(id);
        Some((flow, octets))
    }

    pub(super) fn server_timeout(&mut self, id: u64) {
        let now = self.now;
        let Some(entry) = self.servers.get_mut(&id) else { return };
        let transmits = match &mut entry.machine {
            ServerMachine::Invite(machine) => machine.handle_timeout(now).transmits,
            ServerMachine::Other(machine) => {
                machine.handle_timeout(now);
                false
            }
        };
        if let (true, Some(last)) = (transmits, entry.last.clone()) {
            let flow = entry.echo.flow;
            self.counters.repetitions += 1;
            self.transmit(flow, last);
        }
        self.settle_server(id);
    }

    fn settle_server(&mut self, id: u64) {
        let Some(entry) = self.servers.get(&id) else { return };
        let (deadline, is_terminated) = match &entry.machine {
            ServerMachine::Invite(machine) => {
                (machine.poll_timeout(), machine.state() == InviteServerState::Terminated)
            }
            ServerMachine::Other(machine) => {
                (machine.poll_timeout(), machine.state() == ServerState::Terminated)
            }
        };
        self.deadlines.set(Timer::Server(id), deadline.filter(|_| !is_terminated));
        if is_terminated && let Some(entry) = self.servers.remove(&id) {
            self.servers_by_key.remove(&entry.key);
        }
    }
}

/// A client transaction's key (section 17.1.3).
fn client_key(branch: &str, method: &Method) -> String {
    format!("{branch} {method}")
}

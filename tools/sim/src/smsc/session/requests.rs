//! Requests of a peer: to be bound, messages to be taken, queried, cancelled and replaced.

use super::super::book::MessageLookup;
use super::super::delivery_queue::QueueAccount;
use super::super::ids::{self, IdPlace};
use super::super::submit_handler::{Submission, Verdict};
use super::{Bound, SmscSession, put};
use crate::clock::civil;
use smpp::pdu::{
    Address, Bind, BindResp, BroadcastSm, BroadcastSmResp, CancelBroadcastSm, CancelSm, Command, DataSm,
    DataSmResp, Destination, Header, QueryBroadcastSm, QueryBroadcastSmResp, QuerySm, QuerySmResp, Refused,
    RefusedBuf, ReplaceSm, SubmitMulti, SubmitMultiResp, SubmitSm, SubmitSmResp, Version, encode_header,
    esm_class,
};
use smpp::status::Status;
use smpp::time::SmppTime;
use smpp::tlv::{Tag, TlvBuf, Tlvs};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

impl SmscSession {
    pub(super) fn bind(&mut self, header: Header, bind: &Bind<'_>) {
        let account = self.shared.post.account(bind.system_id);
        let status = self.judge_bind(bind, &account);
        self.shared.ledger.count_bind(status.is_ok());
        if !status.is_ok() {
            return self.say_status(header, status);
        }
        let version = bind.interface_version.known();
        let mut tlvs = TlvBuf::new();
        if version.has_tlvs() {
            tlvs.push_u8(Tag::SC_INTERFACE_VERSION, version.0);
        }
        let system_id = self.submit_handler.scene.options.system_id.clone();
        let response = BindResp { mode: bind.mode, system_id: system_id.as_bytes(), tlvs: tlvs.as_tlvs() };
        self.say(0, |out| put(&response, header.sequence, out));
        self.shared.sessions.fetch_add(1, Ordering::Relaxed);
        account.sessions.fetch_add(1, Ordering::Relaxed);
        self.card.bound(bind.system_id, bind.mode.into(), version);
        if bind.mode.receives() {
            account.join(&self.card);
        }
        self.bound = Some(Bound { mode: bind.mode, version, account });
    }

    fn judge_bind(&mut self, bind: &Bind<'_>, account: &QueueAccount) -> Status {
        let scene = Arc::clone(&self.submit_handler.scene);
        let options = &scene.options;
        let is_full =
            |bound: &AtomicU64, most: u32| most > 0 && bound.load(Ordering::Relaxed) >= u64::from(most);
        let is_wrong = |password: &Option<String>| {
            password.as_ref().is_some_and(|password| password.as_bytes() != bind.password)
        };
        let login = options.accounts.iter().find(|login| login.system_id.as_bytes() == bind.system_id);
        if self.bound.is_some() {
            return Status::RALYBND;
        }
        if let Some(status) = scene.bind_refusal(&mut self.submit_handler.chance) {
            return status;
        }
        match login {
            None if !options.accounts.is_empty() => return Status::RINVSYSID,
            None if is_wrong(&options.password) => return Status::RINVPASWD,
            Some(login) if is_wrong(&login.password) => return Status::RINVPASWD,
            Some(login) if is_full(&account.sessions, login.binds_max) => return Status::RBINDFAIL,
            Some(login) if !login.modes.is_empty() && !login.modes.contains(&bind.mode.into()) => {
                return Status::RBINDFAIL;
            }
            _ => {}
        }
        if is_full(&self.shared.sessions, options.binds_max) { Status::RBINDFAIL } else { Status::ROK }
    }

    /// Who may submit; answers if this session may not.
    fn transmitter(&mut self, header: Header) -> Option<(Arc<QueueAccount>, Version)> {
        match &self.bound {
            Some(bound) if bound.mode.transmits() => Some((Arc::clone(&bound.account), bound.version)),
            _ => {
                self.say_status(header, Status::RINVBNDSTS);
                None
            }
        }
    }

    pub(super) fn submit(&mut self, header: Header, submit: &SubmitSm<'_>) {
        let Some((account, version)) = self.transmitter(header) else { return };
        if let Err(error) = submit.check() {
            return self.say_status(header, error.status);
        }
        let submission = Submission {
            from: submit.source,
            to: submit.destination,
            has_udh: submit.has_udh(),
            registered_delivery: submit.registered_delivery,
            data_coding: submit.data_coding,
            octets: submit.message(),
            tlvs: submit.tlvs,
            id: None,
        };
        let verdict = self.submit_handler.judge(&account, version, &submission);
        self.answer(header, version, verdict)
    }

    pub(super) fn data(&mut self, header: Header, data: &DataSm<'_>) {
        let Some((account, version)) = self.transmitter(header) else { return };
        if let Err(error) = data.check() {
            return self.say_status(header, error.status);
        }
        let submission = Submission {
            from: data.source,
            to: data.destination,
            has_udh: data.has_udh(),
            registered_delivery: data.registered_delivery,
            data_coding: data.data_coding,
            octets: data.message(),
            tlvs: data.tlvs,
            id: None,
        };
        let verdict = self.submit_handler.judge(&account, version, &submission);
        self.answer(header, version, verdict)
    }

    pub(super) fn multi(&mut self, header: Header, multi: &SubmitMulti<'_>) {
        let Some((account, version)) = self.transmitter(header) else { return };
        if let Err(error) = multi.check() {
            return self.say_status(header, error.status);
        }
        // One id for all of them.
        let id = self.shared.ids.next();
        let mut refused = RefusedBuf::new();
        let (mut longest_us, mut is_silent) = (0, false);
        let scene = Arc::clone(&self.submit_handler.scene);
        for to in recipients(&scene.options.lists, multi) {
            let submission = Submission {
                from: multi.source,
                to,
                has_udh: multi.esm_class & esm_class::UDHI != 0,
                registered_delivery: multi.registered_delivery,
                data_coding: multi.data_coding,
                octets: multi.message(),
                tlvs: multi.tlvs,
                id: Some(id),
            };
            let verdict = match to.addr {
                b"" => Verdict::Refused { status: Status::RCNTSUBDL, after_us: 0 },
                _ => self.submit_handler.judge(&account, version, &submission),
            };
            match verdict {
                Verdict::Accepted { after_us, .. } => longest_us = longest_us.max(after_us),
                Verdict::Refused { status, after_us } => {
                    longest_us = longest_us.max(after_us);
                    let _ = refused.push(Refused { destination: to, status });
                }
                Verdict::Silent => is_silent = true,
                Verdict::Cut => {
                    self.is_cut = true;
                    return;
                }
            }
        }
        if !is_silent {
            let mut message_id = Vec::new();
            self.write_id(id, version, &mut message_id);
            let response =
                SubmitMultiResp { message_id: &message_id, refused: refused.as_list(), tlvs: Tlvs::NONE };
            self.say(longest_us, |out| put(&response, header.sequence, out));
        }
    }

    fn answer(&mut self, header: Header, version: Version, verdict: Verdict) {
        match verdict {
            Verdict::Accepted { id, after_us } => {
                let mut id_text = std::mem::take(&mut self.scratch);
                id_text.clear();
                self.write_id(id, version, &mut id_text);
                let (message_id, tlvs) = (&id_text[..], Tlvs::NONE);
                self.say(after_us, |out| match header.command {
                    Command::DATA_SM => put(&DataSmResp { message_id, tlvs }, header.sequence, out),
                    Command::BROADCAST_SM => {
                        put(&BroadcastSmResp { message_id, tlvs }, header.sequence, out);
                    }
                    _ => put(&SubmitSmResp { message_id, tlvs }, header.sequence, out),
                });
                self.scratch = id_text;
            }
            Verdict::Refused { status, after_us } => {
                self.say(after_us, |out| {
                    encode_header(header.command.response(), status, header.sequence, out)
                });
            }
            Verdict::Silent => {}
            Verdict::Cut => self.is_cut = true,
        }
    }

    fn write_id(&self, id: u64, version: Version, out: &mut Vec<u8>) {
        ids::write(self.submit_handler.scene.options.ids, id, IdPlace::Response, !version.has_tlvs(), out);
    }

    pub(super) fn query(&mut self, header: Header, query: &QuerySm<'_>) {
        let Some((account, version)) = self.transmitter(header) else { return };
        // What came in the same read is in the book before it is asked for.
        self.submit_handler.close();
        let (message_id, from) = (query.message_id, query.source);
        let wanted = MessageLookup { account: &account, message_id, is_v33: !version.has_tlvs(), from };
        match self.shared.query(&wanted) {
            Err(status) => self.say_status(header, status),
            Ok((state, error_code, done_us)) => {
                let date = final_date(done_us);
                let final_date = if state.is_final() { &date[..] } else { b"" };
                let message_state = state.number();
                let response =
                    QuerySmResp { message_id, final_date, message_state, error_code, tlvs: Tlvs::NONE };
                self.say(0, |out| put(&response, header.sequence, out));
            }
        }
    }

    pub(super) fn cancel(&mut self, header: Header, cancel: &CancelSm<'_>) {
        let Some((account, version)) = self.transmitter(header) else { return };
        self.submit_handler.close();
        let (message_id, from) = (cancel.message_id, cancel.source);
        let wanted = MessageLookup { account: &account, message_id, is_v33: !version.has_tlvs(), from };
        let status = self.shared.cancel(&wanted, cancel.destination).err().unwrap_or(Status::ROK);
        self.say_status(header, status);
    }

    pub(super) fn replace(&mut self, header: Header, replace: &ReplaceSm<'_>) {
        let Some((account, version)) = self.transmitter(header) else { return };
        if let Err(error) = replace.check() {
            return self.say_status(header, error.status);
        }
        self.submit_handler.close();
        let (message_id, from) = (replace.message_id, replace.source);
        let wanted = MessageLookup { account: &account, message_id, is_v33: !version.has_tlvs(), from };
        let replaced = self.shared.replace(&wanted, replace.short_message, replace.registered_delivery);
        self.say_status(header, replaced.err().unwrap_or(Status::ROK));
    }

    /// A broadcast is judged as a message to nobody in particular.
    pub(super) fn broadcast(&mut self, header: Header, broadcast: &BroadcastSm<'_>) {
        let Some((account, version)) = self.transmitter(header) else { return };
        if let Err(error) = broadcast.check() {
            return self.say_status(header, error.status);
        }
        let submission = Submission {
            from: broadcast.source,
            to: Address::default(),
            has_udh: false,
            registered_delivery: 0,
            data_coding: broadcast.data_coding,
            octets: broadcast.tlvs.find(Tag::MESSAGE_PAYLOAD).unwrap_or_default(),
            tlvs: Tlvs::NONE,
            id: None,
        };
        let verdict = self.submit_handler.judge(&account, version, &submission);
        if let Verdict::Accepted { id, .. } = verdict {
            let areas = broadcast.tlvs.iter().filter(|tlv| tlv.tag == Tag::BROADCAST_AREA_IDENTIFIER);
            self.shared.keep_areas(id, areas.map(|tlv| tlv.value.into()).collect());
        }
        self.answer(header, version, verdict);
    }

    pub(super) fn query_broadcast(&mut self, header: Header, query: &QueryBroadcastSm<'_>) {
        let Some((account, version)) = self.transmitter(header) else { return };
        self.submit_handler.close();
        let (message_id, from) = (query.message_id, query.source);
        let wanted = MessageLookup { account: &account, message_id, is_v33: !version.has_tlvs(), from };
        let Ok((state, ..)) = self.shared.query(&wanted) else {
            return self.say_status(header, Status::RBCASTQUERYFAIL);
        };
        let mut tlvs = TlvBuf::new();
        tlvs.push_u8(Tag::MESSAGE_STATE, state.number());
        let form = self.submit_handler.scene.options.ids;
        for area in self.shared.areas(ids::read(form, message_id, !version.has_tlvs())) {
            // What came in a PDU fits into one; of its success all is said, 100 per cent.
            let _ = tlvs.push(Tag::BROADCAST_AREA_IDENTIFIER, &area);
            tlvs.push_u8(Tag::BROADCAST_AREA_SUCCESS, if state.is_final() { 100 } else { 255 });
        }
        let response = QueryBroadcastSmResp { message_id, tlvs: tlvs.as_tlvs() };
        self.say(0, |out| put(&response, header.sequence, out));
    }

    pub(super) fn cancel_broadcast(&mut self, header: Header, cancel: &CancelBroadcastSm<'_>) {
        let Some((account, version)) = self.transmitter(header) else { return };
        self.submit_handler.close();
        let (message_id, from) = (cancel.message_id, cancel.source);
        let wanted = MessageLookup { account: &account, message_id, is_v33: !version.has_tlvs(), from };
        let cancelled = self.shared.cancel(&wanted, Address::default());
        self.say_status(header, if cancelled.is_ok() { Status::ROK } else { Status::RBCASTCANCELFAIL });
    }
}

/// Whom a submit_multi goes to; an address without digits stands for a list that is not known.
fn recipients<'a>(lists: &'a BTreeMap<String, Vec<String>>, multi: &SubmitMulti<'a>) -> Vec<Address<'a>> {
    let mut recipients = Vec::new();
    for destination in multi.destinations.iter() {
        match destination {
            Destination::Sme(to) => recipients.push(to),
            Destination::List(name) => {
                match std::str::from_utf8(name).ok().and_then(|name| lists.get(name)) {
                    None => recipients.push(Address::default()),
                    Some(numbers) => recipients.extend(numbers.iter().map(|number| {
                        Address::international(number.strip_prefix('+').unwrap_or(number).as_bytes())
                    })),
                }
            }
        }
    }
    recipients
}

/// `final_date` (3.4 §7.1.1), UTC.
fn final_date(at_us: u64) -> [u8; smpp::time::TIME_OCTETS] {
    let [year, month, day, hour, minute, second] = civil(at_us).map(|number| (number % 100) as u8);
    let tenths = (at_us / 100_000 % 10) as u8;
    SmppTime::Absolute { year, month, day, hour, minute, second, tenths, offset_quarters: 0 }.to_bytes()
}

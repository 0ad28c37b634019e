//! EngineActor takes outcomes: each is folded into its delivery, its client's events are published, and the
//! effects are carried out, in this order.

use super::actor::EngineActor;
use super::mo_routing::FoundKeyword;
use super::status_events::FromNetwork;
use crate::api::KeywordAction;
use crate::inbound_text::{AnswerReading, StopReading, read_answer, read_stop};
use crate::record::delivery_cell::moment;
use crate::record::{Effect, Folding, LiveAlert};
use crate::services::chat_payload;
use records::{
    AlertNo, Answer, AttemptRef, AttemptResult, CarrierReceipt, EndpointNo, Inbound, Intent, Outcome,
    PersonReply, Timestamp, decode_outcomes,
};
use rustc_hash::FxHashSet;

/// Why it is unknown what became of an attempt whose outcome a lost bus had.
const NOT_ON_BUS: &str = "what became of it is not on the bus";

/// Attempts in a record of one of several processes that another had begun before: a segment of its own
/// became that one's, whose outcomes alone report from then on that something of it will not be written.
#[derive(Default)]
struct Claims {
    shared: bool,
    void: FxHashSet<(AlertNo, EndpointNo, u8)>,
}

impl Claims {
    fn is_void(&self, of: &AttemptRef) -> bool {
        !self.void.is_empty() && self.void.contains(&(of.alert, of.endpoint, of.attempt))
    }

    fn note_begun(&mut self, intent: &Intent, live: Option<&LiveAlert>) {
        let Some(live) = live.filter(|_| self.shared) else { return };
        let begun = intent
            .attempts
            .iter()
            .filter(|(endpoint, attempt)| live.cell(*endpoint).is_some_and(|cell| cell.has_begun(*attempt)));
        self.void.extend(begun.map(|&(endpoint, attempt)| (intent.alert, endpoint, attempt)));
    }
}

impl EngineActor {
    /// Takes records of the topic. At a start (`is_replay`) an attempt after the last fold is not in SQL, and
    /// its person's reply may come with the next record.
    pub fn take_outcomes(&mut self, records: &[bus::Record], is_replay: bool) {
        for record in records {
            self.outcomes.begin(record.index);
            match decode_outcomes(&record.octets) {
                Ok(outcomes) => {
                    let mut claims = Claims::default();
                    for outcome in outcomes {
                        if let Outcome::Intent(intent) = &outcome
                            && is_replay
                        {
                            self.alerts.expect_replies(intent);
                        }
                        self.take_outcome(outcome, &mut claims);
                    }
                }
                Err(error) => tracing::error!(%error, "a record of outcomes is skipped"),
            }
        }
    }

    fn take_outcome(&mut self, outcome: Outcome, claims: &mut Claims) {
        self.outcomes.position.1 += 1;
        match outcome {
            Outcome::Intent(intent) => {
                claims.note_begun(&intent, self.alerts.live.get(&intent.alert));
                let route = self.alerts.strings.route_no(&intent.route);
                self.fold(intent.alert, |live, folding| {
                    for &(endpoint, attempt) in &intent.attempts {
                        folding.intent(live, endpoint, attempt, route, intent.at);
                    }
                });
            }
            Outcome::Attempt { of, result: AttemptResult::NotTried { .. }, .. } if claims.is_void(&of) => {}
            Outcome::Attempt { of, route, at, result } => self.take_attempt(of, &route, at, &result),
            Outcome::Receipt(receipt) => self.take_receipt(receipt.into()),
            Outcome::CarrierReceipt(receipt) => self.take_receipt(*receipt),
            Outcome::Inbound(inbound) => self.take_inbound(&inbound),
            Outcome::Reply(reply) => {
                let PersonReply { keys, mut inbound } = *reply;
                let of = self.outcomes.carrier_ids.find(&keys);
                inbound.of = inbound.of.or(of.map(|(alert, endpoint, _)| (alert, endpoint)));
                self.take_inbound(&inbound);
            }
            Outcome::Unproven(inbound) => self.take_unproven(&inbound),
            Outcome::Answer { alert, endpoint, text, via, at } => {
                self.take_answer(alert, endpoint, &text, via, at);
            }
            Outcome::By { .. } => claims.shared = true,
            // Between gateways.
            Outcome::Claim(_) => {}
        }
    }

    fn take_attempt(&mut self, of: AttemptRef, route: &str, at: Timestamp, result: &AttemptResult) {
        let route_no = self.alerts.strings.route_no(route);
        self.fold(of.alert, |live, folding| folding.attempt(live, of, route_no, at, result));
        self.dispatcher.note_attempt(route_no, at, result);
        match result {
            AttemptResult::Accepted { id, .. } => {
                let from_network = FromNetwork { carrier_id: id, ..FromNetwork::default() };
                self.messages.status_events.publish(of.alert, &mut self.alerts, from_network);
            }
            AttemptResult::Refused { code, text, .. } if self.alerts.has_events(of.alert) => {
                let text = format!("{code} {text}");
                let from_network = FromNetwork { text: &text, ..FromNetwork::default() };
                self.messages.status_events.publish(of.alert, &mut self.alerts, from_network);
            }
            AttemptResult::Unknown { .. } if self.alerts.has_events(of.alert) => {
                self.messages.status_events.publish(of.alert, &mut self.alerts, FromNetwork::default());
            }
            _ => {}
        }
        match result {
            AttemptResult::Accepted { keys, .. } => self.add_keys(keys, of, at),
            // A relay that has it reports the result by a bounce.
            AttemptResult::Unknown { .. } => {
                if let Some(key) = self.dispatcher.routes.own_key(route, of) {
                    self.add_keys(&[key], of, at);
                }
            }
            _ => {}
        }
        self.carry_out(of.alert, at);
    }

    /// Receipts of these keys are of this attempt, also one that came before.
    fn add_keys(&mut self, keys: &[u64], of: AttemptRef, at: Timestamp) {
        for &key in keys.iter().filter(|key| **key != 0) {
            let early = self.outcomes.carrier_ids.add(key, (of.alert, of.endpoint, of.part), at);
            if let Some(receipt) = early {
                self.take_receipt(receipt);
            }
        }
    }

    fn take_receipt(&mut self, of: CarrierReceipt) {
        let Some((alert, endpoint, part)) = self.outcomes.carrier_ids.find(&of.receipt.keys) else {
            match of.otherwise {
                Some(inbound) => self.take_inbound(&inbound),
                None => {
                    let now = self.context.now();
                    self.outcomes.unmatched_log.note(&of, now);
                    self.outcomes.carrier_ids.wait(of, now);
                }
            }
            return;
        };
        let CarrierReceipt { receipt, report, .. } = &of;
        let mut confirmed = None;
        self.fold(alert, |live, folding| {
            let before = live.cell(endpoint).map_or(0, |cell| cell.delivered);
            folding.receipt(live, endpoint, part, receipt.state, &receipt.text, receipt.at);
            confirmed = live.cell(endpoint).filter(|cell| before == 0 && cell.delivered > 0).copied();
            if let Some(metas) = &mut live.metas {
                metas.note_said(endpoint, report.state);
            }
        });
        if let Some(cell) = confirmed {
            self.dispatcher.note_confirmed(&cell, receipt.at);
        }
        let submitted = self.alerts.live.get(&alert).and_then(|live| {
            let cell = live.cell(endpoint)?;
            moment(live.alert.created, cell.submitted)
        });
        let from_network = FromNetwork {
            text: &receipt.text,
            carrier_id: &receipt.id,
            report: Some(report),
            done: report.done_at(submitted),
        };
        self.messages.status_events.publish(alert, &mut self.alerts, from_network);
        self.carry_out(alert, receipt.at);
    }

    /// A message of a person: a reply to an alert, a keyword, or for a client.
    fn take_inbound(&mut self, inbound: &Inbound) {
        if chat_payload(inbound).is_some() {
            let mode = self.dispatcher.routes.named(&inbound.route).map(|route| route.mode);
            let (of, position) = ((None, mode, None), self.outcomes.position);
            return self.messages.mo_routing.call_service(inbound, of, position, &self.context);
        }
        let route = self.alerts.strings.route_no(&inbound.route);
        let replies = &self.alerts.replies;
        let from = self.messages.intake.opt_outs.one_form(inbound.channel, &inbound.from);
        let of = inbound.of.or_else(|| replies.find(inbound.channel, &from, Some(route)));
        let keyword = self.messages.mo_routing.keyword(inbound);
        let position = self.outcomes.position;
        // An alert's choice goes before a service word, and a person who is asked whether they are safe and
        // says "help" answers.
        let is_free = keyword.as_ref().is_none_or(|keyword| !keyword.action.is_reserved())
            && !of.is_some_and(|of| self.alerts.is_answer(of, &inbound.text));
        if is_free && self.messages.mo_routing.is_service(inbound) {
            let account = of.and_then(|(alert, _)| self.alerts.live.get(&alert));
            let account = account.map(|live| live.alert.account.clone());
            let mode = self.dispatcher.routes.named(&inbound.route).map(|route| route.mode);
            return self.messages.mo_routing.call_service(
                inbound,
                (account, mode, of),
                position,
                &self.context,
            );
        }
        self.take_words(inbound, of, keyword, position);
    }

    /// A message that may be of anybody. It answers the delivery that it names: only who got the alert can
    /// name it. What it asks for beside that is done once the person confirms it.
    fn take_unproven(&mut self, inbound: &Inbound) {
        let (of, position) = (inbound.of, self.outcomes.position);
        let live = of.and_then(|(alert, _)| self.alerts.live.get(&alert));
        let account = live.map(|live| live.alert.account.clone());
        let keyword = self.messages.mo_routing.keyword(inbound).map(|keyword| keyword.action);
        let is_reserved = keyword.is_some_and(KeywordAction::is_reserved);
        if keyword == Some(KeywordAction::Stop) {
            let (intake, context) = (&self.messages.intake, &self.context);
            self.messages.mo_routing.note_perhaps_stop(inbound, account.clone(), intake, context);
        }
        let is_answer = of.is_some_and(|of| self.alerts.is_answer(of, &inbound.text));
        if is_reserved || !is_answer && self.messages.mo_routing.is_service(inbound) {
            let asked = of.filter(|_| !is_reserved);
            return self.messages.mo_routing.call_unproven(
                inbound,
                (account, None, asked),
                position,
                &self.context,
            );
        }
        match of {
            Some((alert, endpoint)) => {
                let via = channels::name(inbound.channel).to_owned();
                self.take_answer(alert, endpoint, &inbound.text, via, inbound.at);
            }
            None => {
                _ = self.messages.mo_routing.forward(
                    inbound,
                    position,
                    &mut self.messages.status_events,
                    &self.context,
                )
            }
        }
    }

    /// A message of a person that is no service word, or one of nobody who is known.
    pub fn take_words(
        &mut self,
        inbound: &Inbound,
        of: Option<(AlertNo, EndpointNo)>,
        keyword: Option<FoundKeyword>,
        position: (u64, u32),
    ) {
        let mut is_choice = false;
        if let Some((alert, endpoint)) = of {
            let via = channels::name(inbound.channel).to_owned();
            is_choice = self.take_answer(alert, endpoint, &inbound.text, via, inbound.at);
        }
        let live = of.and_then(|(alert, _)| self.alerts.live.get(&alert));
        let account = live.map(|live| live.alert.account.clone());
        match keyword {
            // A person who is asked whether they are safe and replies "help" answers.
            Some(keyword) if keyword.action == KeywordAction::Url => {
                let mode = self.dispatcher.routes.named(&inbound.route).map(|route| route.mode);
                let events = &mut self.messages.status_events;
                return self.messages.mo_routing.fetch_keyword(&keyword, inbound, mode, position, events);
            }
            Some(keyword) if of.is_none() || keyword.action != KeywordAction::Help => {
                let mode = self.dispatcher.routes.named(&inbound.route).map(|route| route.mode);
                let (intake, context) = (&mut self.messages.intake, &self.context);
                self.messages.mo_routing.obey_keyword(&keyword, inbound, account, mode, intake, context);
                return;
            }
            Some(_) => {}
            None if !is_choice && read_stop(&inbound.text) == StopReading::Perhaps => {
                self.messages.mo_routing.note_perhaps_stop(
                    inbound,
                    account,
                    &self.messages.intake,
                    &self.context,
                );
            }
            None => {}
        }
        if of.is_none() {
            let is_kept = self.messages.mo_routing.forward(
                inbound,
                position,
                &mut self.messages.status_events,
                &self.context,
            );
            if is_kept
                && self.messages.mo_routing.has_services()
                && !self.messages.mo_routing.is_service(inbound)
            {
                let mode = self.dispatcher.routes.named(&inbound.route).map(|route| route.mode);
                self.messages.mo_routing.call_service(inbound, (None, mode, None), position, &self.context);
            }
        }
    }

    /// Records an answer; true if it is a choice.
    fn take_answer(
        &mut self,
        alert: AlertNo,
        endpoint: EndpointNo,
        text: &str,
        via: String,
        at: Timestamp,
    ) -> bool {
        let mut is_choice = false;
        self.fold(alert, |live, folding| {
            let request = &live.alert.request;
            let asked = request.text.as_deref().unwrap_or_default();
            let reading = read_answer(&request.choices, text, asked);
            is_choice = reading.choice().is_some();
            let answer = Answer {
                key: reading.choice().map(|choice| choice.key.clone()),
                text: match reading {
                    AnswerReading::Choice(choice) => choice.label.clone(),
                    // What they wrote beside it is for a person to read.
                    AnswerReading::Explained(_) | AnswerReading::Words => text.to_owned(),
                },
                via,
                at,
            };
            folding.answer(live, endpoint, answer);
        });
        self.carry_out(alert, at);
        is_choice
    }

    /// An attempt whose route is gone.
    pub fn take_orphan(&mut self, no: AlertNo, endpoint: EndpointNo) {
        let at = self.context.now();
        let routes = &self.dispatcher.routes;
        let route = self.alerts.live.get(&no).and_then(|live| live.cell(endpoint)).map(|cell| cell.route);
        let is_configured = route.is_some_and(|route| routes.place(route).is_some());
        let text = if is_configured { NOT_ON_BUS } else { "its route is no longer configured" }.to_owned();
        self.fold(no, |live, folding| {
            let Some(cell) = live.cell(endpoint).copied() else { return };
            let of =
                AttemptRef { alert: no, endpoint, attempt: cell.last, part: 1, parts: cell.parts.max(1) };
            folding.attempt(live, of, cell.route, at, &AttemptResult::Unknown { text });
        });
        self.carry_out(no, at);
    }

    /// Folds into an alert; one that left memory is read back first.
    fn fold(&mut self, no: AlertNo, fold: impl FnOnce(&mut LiveAlert, &mut Folding<'_>)) {
        if self.alerts.live.contains_key(&no) || self.read_back(no) {
            self.alerts.fold(no, fold);
        }
    }

    /// Carries out the effects of the last fold.
    fn carry_out(&mut self, no: AlertNo, at: Timestamp) {
        let (alerts, dispatcher, context) = (&mut self.alerts, &mut self.dispatcher, &self.context);
        for i in 0..alerts.effects.len() {
            match alerts.effects[i] {
                Effect::Ended { route, endpoint } => {
                    dispatcher.release(no, endpoint, route, alerts, &context.parts);
                }
                Effect::Missed(endpoint) => {
                    self.forecasting.note_missed(no, endpoint, at, alerts);
                    alerts.move_chain(no, endpoint, at, false, |route| dispatcher.routes.has_receipts(route));
                }
                Effect::Absent(endpoint) => {
                    alerts.note_absent(no, endpoint);
                    alerts.move_chain(no, endpoint, at, false, |route| dispatcher.routes.has_receipts(route));
                }
                Effect::Reached(endpoint) => {
                    self.forecasting.note_reached(no, endpoint, at, alerts);
                    alerts.move_chain(no, endpoint, at, true, |route| dispatcher.routes.has_receipts(route));
                }
                Effect::Answered(endpoint) => {
                    self.publisher.publish_answer(no, endpoint, alerts, dispatcher, context);
                    self.help_cases.note(no, endpoint, alerts, context);
                }
            }
        }
        alerts.effects.clear();
    }
}

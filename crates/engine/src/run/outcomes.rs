//! EngineActor takes outcomes: each is folded into its delivery, its client's events are published, and the
//! effects are carried out, in this order.

use super::actor::EngineActor;
use super::status_events::FromNetwork;
use crate::api::KeywordAction;
use crate::record::{Effect, Folding, LiveAlert, choice_of};
use records::{
    AlertNo, Answer, AttemptRef, AttemptResult, EndpointNo, Inbound, Intent, Outcome, Receipt, Timestamp,
    decode_outcomes,
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
            Outcome::Receipt(receipt) => self.take_receipt(receipt),
            Outcome::Inbound(inbound) => self.take_inbound(&inbound),
            Outcome::Answer { alert, endpoint, text, via, at } => {
                self.take_answer(alert, endpoint, &text, via, at)
            }
            Outcome::By { .. } => claims.shared = true,
            // Between gateways.
            Outcome::Claim(_) => {}
        }
    }

    fn take_attempt(&mut self, of: AttemptRef, route: &str, at: Timestamp, result: &AttemptResult) {
        let route_no = self.alerts.strings.route_no(route);
        self.fold(of.alert, |live, folding| folding.attempt(live, of, route_no, at, result));
        match result {
            AttemptResult::Accepted { id, .. } => {
                let from_network = FromNetwork { text: "", carrier_id: id };
                self.status_events.publish(of.alert, &mut self.alerts, from_network);
            }
            AttemptResult::Refused { code, text, .. } if self.alerts.has_events(of.alert) => {
                let text = format!("{code} {text}");
                let from_network = FromNetwork { text: &text, carrier_id: "" };
                self.status_events.publish(of.alert, &mut self.alerts, from_network);
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

    fn take_receipt(&mut self, receipt: Receipt) {
        let Some((alert, endpoint, part)) = self.outcomes.carrier_ids.find(&receipt.keys) else {
            return self.outcomes.carrier_ids.wait(receipt, self.context.now());
        };
        self.fold(alert, |live, folding| {
            folding.receipt(live, endpoint, part, receipt.state, &receipt.text, receipt.at);
        });
        let from_network = FromNetwork { text: &receipt.text, carrier_id: &receipt.id };
        self.status_events.publish(alert, &mut self.alerts, from_network);
        self.carry_out(alert, receipt.at);
    }

    /// A message of a person: a reply to an alert, a keyword, or for a client.
    fn take_inbound(&mut self, inbound: &Inbound) {
        let route = self.alerts.strings.route_no(&inbound.route);
        let replies = &self.alerts.replies;
        let of = inbound.of.or_else(|| replies.find(inbound.channel, &inbound.from, Some(route)));
        let keyword = self.mo_routing.keyword(inbound).cloned();
        if let Some((alert, endpoint)) = of {
            let via = channels::name(inbound.channel).to_owned();
            self.take_answer(alert, endpoint, &inbound.text, via, inbound.at);
        }
        match keyword {
            // A person who is asked whether they are safe and replies "help" answers.
            Some(keyword) if of.is_none() || keyword.action != KeywordAction::Help => {
                let live = of.and_then(|(alert, _)| self.alerts.live.get(&alert));
                let account = live.map(|live| live.alert.account.clone());
                let mode = self.dispatcher.routes.named(&inbound.route).map(|route| route.mode);
                let (intake, context) = (&mut self.intake, &self.context);
                self.mo_routing.obey_keyword(&keyword, inbound, account, mode, intake, context);
            }
            _ if of.is_some() => {}
            _ => {
                let position = self.outcomes.position;
                self.mo_routing.forward(inbound, position, &mut self.status_events, &self.context);
            }
        }
    }

    fn take_answer(&mut self, alert: AlertNo, endpoint: EndpointNo, text: &str, via: String, at: Timestamp) {
        self.fold(alert, |live, folding| {
            let choice = choice_of(&live.alert.request.choices, text);
            let answer = Answer {
                key: choice.map(|choice| choice.key.clone()),
                text: choice.map_or_else(|| text.to_owned(), |choice| choice.label.clone()),
                via,
                at,
            };
            folding.answer(live, endpoint, answer);
        });
        self.carry_out(alert, at);
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
                    alerts.move_chain(no, endpoint, at, false, |route| dispatcher.routes.has_receipts(route));
                }
                Effect::Reached(endpoint) => {
                    alerts.move_chain(no, endpoint, at, true, |route| dispatcher.routes.has_receipts(route));
                }
                Effect::Answered(endpoint) => {
                    self.publisher.publish_answer(no, endpoint, alerts, dispatcher, context);
                }
            }
        }
        alerts.effects.clear();
    }
}

//! Outcomes as they come: each finds its delivery and is folded; what follows is carried out.

use super::actor::EngineActor;
use crate::record::{Effect, Folding, LiveAlert, choice_of};
use records::{
    AlertNo, Answer, AttemptRef, AttemptResult, EndpointNo, Inbound, Intent, Outcome, Receipt, Timestamp,
    decode_outcomes,
};
use rustc_hash::FxHashSet;

/// What a record of one of several processes says of attempts that another had begun before: a segment of its
/// own became that one's, which alone says from then on that something of it will not be written.
#[derive(Default)]
struct Claims {
    shared: bool,
    void: FxHashSet<(AlertNo, EndpointNo, u8)>,
}

impl Claims {
    fn is_void(&self, of: &AttemptRef) -> bool {
        !self.void.is_empty() && self.void.contains(&(of.alert, of.endpoint, of.attempt))
    }
}

impl EngineActor {
    /// Folds one record of the topic.
    pub fn take_batch(&mut self, octets: &[u8]) {
        match decode_outcomes(octets) {
            Ok(outcomes) => {
                let mut claims = Claims::default();
                outcomes.into_iter().for_each(|outcome| self.take(outcome, &mut claims));
            }
            Err(error) => tracing::error!(%error, "a record of outcomes is skipped"),
        }
    }

    /// The same at a start: who was asked after the last fold is not in SQL, and their answer may come with
    /// the next record.
    pub fn replay_batch(&mut self, octets: &[u8]) {
        match decode_outcomes(octets) {
            Ok(outcomes) => {
                let mut claims = Claims::default();
                for outcome in outcomes {
                    if let Outcome::Intent(intent) = &outcome {
                        self.note_asked_before(intent);
                    }
                    self.take(outcome, &mut claims);
                }
            }
            Err(error) => tracing::error!(%error, "a record of outcomes is skipped"),
        }
    }

    fn note_asked_before(&mut self, intent: &Intent) {
        let asks = self.alerts.live.get(&intent.alert).is_some_and(|live| live.alert.request.require_answer);
        if !asks {
            return;
        }
        let route = self.alerts.strings.route_no(&intent.route);
        for &(endpoint, _) in &intent.attempts {
            let Some(block) = self.alerts.block(intent.alert, endpoint) else { continue };
            let entry = block.entries.get((endpoint.0 - block.first.0) as usize);
            if let Some((channel, entry)) = entry.and_then(|entry| entry.channel.zip(Some(entry))) {
                self.alerts.replies.note(channel, &entry.address, route, (intent.alert, endpoint));
            }
        }
    }

    fn take(&mut self, outcome: Outcome, claims: &mut Claims) {
        self.outcomes.position.1 += 1;
        match outcome {
            Outcome::Intent(intent) => {
                self.find_void(&intent, claims);
                self.take_intent(&intent);
            }
            Outcome::Attempt { of, result: AttemptResult::NotTried { .. }, .. } if claims.is_void(&of) => {}
            Outcome::Attempt { of, route, at, result } => self.take_attempt(of, &route, at, &result),
            Outcome::Receipt(receipt) => self.take_receipt(receipt),
            Outcome::Inbound(inbound) => self.take_inbound(inbound),
            Outcome::Answer { alert, endpoint, text, via, at } => {
                self.take_answer(alert, endpoint, &text, via, at)
            }
            Outcome::By { .. } => claims.shared = true,
            // Between gateways.
            Outcome::Claim(_) => {}
        }
    }

    fn find_void(&self, intent: &Intent, claims: &mut Claims) {
        let Some(live) = self.alerts.live.get(&intent.alert).filter(|_| claims.shared) else { return };
        let begun = intent
            .attempts
            .iter()
            .filter(|(endpoint, attempt)| live.cell(*endpoint).is_some_and(|cell| cell.has_begun(*attempt)));
        claims.void.extend(begun.map(|&(endpoint, attempt)| (intent.alert, endpoint, attempt)));
    }

    fn take_intent(&mut self, intent: &Intent) {
        let route = self.alerts.strings.route_no(&intent.route);
        self.with_live(intent.alert, |live, folding| {
            for &(endpoint, attempt) in &intent.attempts {
                folding.intent(live, endpoint, attempt, route, intent.at);
            }
        });
    }

    fn take_attempt(&mut self, of: AttemptRef, way: &str, at: Timestamp, result: &AttemptResult) {
        let route = self.alerts.strings.route_no(way);
        self.with_live(of.alert, |live, folding| folding.attempt(live, of, route, at, result));
        match result {
            AttemptResult::Accepted { id, .. } => self.tell_fates(of.alert, "", id),
            AttemptResult::Refused { code, text, .. } if self.has_news(of.alert) => {
                self.tell_fates(of.alert, &format!("{code} {text}"), "");
            }
            _ => {}
        }
        match result {
            AttemptResult::Accepted { keys, .. } => self.learn_keys(keys, of, at),
            // A relay that has it says by a bounce what became of it.
            AttemptResult::Unknown { .. } => {
                if let Some(key) = self.own_key(way, of) {
                    self.learn_keys(&[key], of, at);
                }
            }
            _ => {}
        }
        self.carry_out(of.alert, at);
    }

    /// Receipts of these keys are of this attempt, also one that came before.
    fn learn_keys(&mut self, keys: &[u64], of: AttemptRef, at: Timestamp) {
        for &key in keys.iter().filter(|key| **key != 0) {
            let waited = self.outcomes.carrier_ids.add(key, (of.alert, of.endpoint, of.part), at);
            if let Some(receipt) = waited {
                self.take_receipt(receipt);
            }
        }
    }

    /// The key of an attempt that its channel knows without the network's answer.
    fn own_key(&self, route: &str, of: AttemptRef) -> Option<u64> {
        let known = self.dispatcher.routes.classifier.routes().iter().find(|known| known.name == route)?;
        channels::of(known.channel)?.own_key(of.alert, of.endpoint)
    }

    /// An attempt whose route is gone.
    pub fn take_orphan(&mut self, no: AlertNo, endpoint: EndpointNo) {
        let at = self.context.now();
        self.with_live(no, |live, folding| {
            let Some(cell) = live.cell(endpoint).copied() else { return };
            let of =
                AttemptRef { alert: no, endpoint, attempt: cell.last, part: 1, parts: cell.parts.max(1) };
            let text = "its route is no longer configured".to_owned();
            folding.attempt(live, of, cell.route, at, &AttemptResult::Unknown { text });
        });
        self.carry_out(no, at);
    }

    fn take_receipt(&mut self, receipt: Receipt) {
        match self.outcomes.carrier_ids.find(&receipt.keys) {
            Some((alert, endpoint, part)) => {
                self.with_live(alert, |live, folding| {
                    folding.receipt(live, endpoint, part, receipt.state, &receipt.text, receipt.at);
                });
                self.tell_fates(alert, &receipt.text, &receipt.id);
                self.carry_out(alert, receipt.at);
            }
            None => self.outcomes.carrier_ids.wait(receipt, self.context.now()),
        }
    }

    /// A message that belongs to no alert stays on its own topic.
    pub fn keep_inbound(&mut self, inbound: &Inbound) {
        let record = records::encode_outcomes(&[Outcome::Inbound(inbound.clone())]);
        let topic = self.inbound.clone();
        self.context.spawn_logged(async move {
            topic.append(&[&record]).await.map(|_| ()).map_err(|error| error.to_string())
        });
    }

    pub fn take_answer(
        &mut self,
        alert: AlertNo,
        endpoint: EndpointNo,
        text: &str,
        via: String,
        at: Timestamp,
    ) {
        self.with_live(alert, |live, folding| {
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

    /// Folds into an alert; one that left memory is read back first.
    fn with_live(&mut self, no: AlertNo, fold: impl FnOnce(&mut LiveAlert, &mut Folding<'_>)) {
        if self.alerts.live.contains_key(&no) || self.read_back(no) {
            self.alerts.fold(no, fold);
        }
    }

    /// What follows from the last fold.
    fn carry_out(&mut self, no: AlertNo, at: Timestamp) {
        for i in 0..self.alerts.effects.len() {
            match self.alerts.effects[i] {
                Effect::Ended { route, endpoint } => {
                    self.dispatcher.release(no, endpoint, route, &self.alerts, &self.context.parts)
                }
                Effect::Missed(endpoint) => self.move_chain(no, endpoint, at, false),
                Effect::Reached(endpoint) => self.move_chain(no, endpoint, at, true),
                Effect::Answered(endpoint) => self.tell_answer(no, endpoint),
            }
        }
        self.alerts.effects.clear();
    }

    fn move_chain(&mut self, no: AlertNo, endpoint: EndpointNo, at: Timestamp, reached: bool) {
        self.alerts.move_chain(no, endpoint, at, reached, |route| self.dispatcher.routes.has_receipts(route));
    }

    fn has_news(&self, no: AlertNo) -> bool {
        let metas = self.alerts.live.get(&no).and_then(|live| live.metas.as_ref());
        metas.is_some_and(|metas| !metas.happened.is_empty())
    }
}

//! Receipts and messages of phones on their way to the peer, and what it says to them.

use super::super::delivery_queue::{DeliverSmResult, QueueAccount, QueuedDeliverSm};
use super::SmscSession;
use smpp::pdu::Header;
use smpp::status::Status;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A delivery that was refused for now is tried again after so long.
const RETRY_US: u64 = 1_000_000;
/// Unanswered deliveries are looked through this often.
const SWEEP_US: u64 = 1_000_000;

impl SmscSession {
    /// Takes letters of the account as far as the window goes.
    pub(super) fn deliver(&mut self) {
        let Some(bound) = self.bound.as_ref().filter(|bound| bound.mode.receives()) else { return };
        let now_us = self.shared.clock.now_us();
        let account = Arc::clone(&bound.account);
        if !self.outstanding.is_empty() && self.sweep_us <= now_us {
            self.sweep(&account, now_us);
        }
        let room = self.submit_handler.scene.options.deliver_window.saturating_sub(self.outstanding.len());
        if room == 0 || self.is_closing || self.submit_handler.scene.options.mute {
            return;
        }
        let mut letters = Vec::new();
        self.card.take(room, &mut letters);
        account.take(room - letters.len(), &mut letters);
        if !letters.is_empty() && self.outstanding.is_empty() {
            self.sweep_us = now_us + SWEEP_US;
        }
        for letter in letters {
            let sequence = self.sequence();
            letter.write(sequence, &mut self.out);
            self.shared.post.count_sent(letter.is_again);
            self.outstanding.insert(sequence, (letter, now_us));
            self.card.delivered.fetch_add(1, Ordering::Relaxed);
        }
        self.card.unanswered.store(self.outstanding.len() as u64, Ordering::Relaxed);
    }

    /// What was not answered in time goes back to the account.
    fn sweep(&mut self, account: &QueueAccount, now_us: u64) {
        self.sweep_us = now_us + SWEEP_US;
        let patience_us = self.submit_handler.scene.options.deliver_timeout.longest().as_micros() as u64;
        let mut overdue: Vec<u32> = self
            .outstanding
            .iter()
            .filter(|(_, (_, at))| at + patience_us <= now_us)
            .map(|(s, _)| *s)
            .collect();
        overdue.sort_unstable();
        let outstanding = &mut self.outstanding;
        let letters: Vec<QueuedDeliverSm> =
            overdue.iter().filter_map(|s| outstanding.remove(s)).map(|(l, _)| l).collect();
        account.put_back(letters.into_iter());
    }

    pub(super) fn delivered(&mut self, header: Header) {
        let Some((letter, _)) = self.outstanding.remove(&header.sequence) else { return };
        match header.status {
            Status::ROK => self.shared.post.count_fate(DeliverSmResult::Confirmed),
            Status::RX_T_APPN | Status::RSYSERR | Status::RMSGQFUL | Status::RTHROTTLED => {
                let at_us = self.shared.clock.now_us() + RETRY_US;
                self.shared.post.mail(&mut vec![(at_us, QueuedDeliverSm { is_again: true, ..letter })]);
            }
            _ => self.shared.post.count_fate(DeliverSmResult::Refused),
        }
    }

    /// What was not answered goes to the next session of the account.
    pub(in super::super) fn leave(self) {
        self.shared.cards().remove(&self.card.number);
        let system_id = self.bound.as_ref().map_or("", |bound| bound.account.system_id.as_str());
        self.shared.record_event("closed", self.card.number, &self.card.peer, system_id);
        let Some(bound) = self.bound else { return };
        self.shared.sessions.fetch_sub(1, Ordering::Relaxed);
        bound.account.sessions.fetch_sub(1, Ordering::Relaxed);
        bound.account.leave(&self.card);
        let mut letters: Vec<(u32, QueuedDeliverSm)> =
            self.outstanding.into_iter().map(|(s, (l, _))| (s, l)).collect();
        letters.sort_unstable_by_key(|(sequence, _)| *sequence);
        bound.account.put_back(letters.into_iter().map(|(_, letter)| letter));
    }
}

//! Counters and stored mails of the mailbox, updated a batch at a time.

use super::{Counting, MailboxOptions};
use crate::tally::{KeyCounts, LastSecond};
use mail_parser::MessageParser;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Kept mails take at most so many octets together.
const KEPT_OCTETS_MAX: usize = 512 << 20;

/// What was counted so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Connections that came.
    pub connections: u64,
    /// Open now.
    pub sessions: u64,
    /// Of all connections, those that turned to TLS.
    pub tls: u64,
    /// Mails taken.
    pub mails: u64,
    /// Recipients of the mails that were taken: copies.
    pub accepted: u64,
    /// Octets of the mails that were taken.
    pub octets: u64,
    /// Replies that refuse, by code and enhanced code.
    pub refused: BTreeMap<String, u64>,
    /// Connections cut at the end of a mail.
    pub cut: u64,
    /// Different recipients, or recipients and Message-IDs: what [`Counting`] says.
    pub distinct: u64,
    /// Copies above the first of their kind.
    pub repeats: u64,
    /// The most of one.
    pub most: u64,
    /// Most copies in any one second, by their arrival.
    pub peak_accepted: u64,
    /// When the first was taken, microseconds since 1970; 0: none was.
    pub first_accepted_us: u64,
    /// When the last was taken.
    pub last_accepted_us: u64,
    /// Bounces and answers.
    pub letters: super::door::LetterStats,
}

/// A mail as it was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedMail {
    /// When, microseconds since 1970.
    pub at_us: u64,
    /// MAIL FROM, without brackets; empty for a bounce.
    pub from: String,
    /// The recipients that were taken.
    pub to: Vec<String>,
    /// As it came, dots unstuffed.
    pub raw: Arc<[u8]>,
}

/// A mail's parts that people read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct MailText {
    /// When it was taken, microseconds since 1970.
    pub at_us: u64,
    /// MAIL FROM.
    pub from: String,
    /// The recipients that were taken.
    pub to: Vec<String>,
    /// Decoded.
    pub subject: String,
    /// Without brackets.
    pub message_id: String,
    /// First address to answer to: Reply-To, or From.
    pub reply_to: String,
    /// The plain text.
    pub text: String,
    /// The HTML, if it has some.
    pub html: Option<String>,
}

impl ReceivedMail {
    /// Reads the mail; a mail that cannot be read has no words.
    pub fn words(&self) -> MailText {
        let mut words = MailText {
            at_us: self.at_us,
            from: self.from.clone(),
            to: self.to.clone(),
            ..MailText::default()
        };
        let Some(message) = MessageParser::default().parse(&*self.raw) else { return words };
        let address = message.reply_to().or_else(|| message.from()).and_then(|list| list.first());
        words.reply_to = address.and_then(|a| a.address()).unwrap_or_default().to_owned();
        words.subject = message.subject().unwrap_or_default().to_owned();
        words.message_id = message.message_id().unwrap_or_default().to_owned();
        words.text = message.body_text(0).unwrap_or_default().into_owned();
        // A mail without HTML is shown with its text in that place: that is not HTML.
        let html = message.html_part(0).filter(|part| part.is_text_html());
        words.html = html.and_then(|part| part.text_contents()).map(str::to_owned);
        words
    }
}

/// What one read brought.
#[derive(Debug, Default)]
pub(super) struct MailBatch {
    pub(super) now_us: u64,
    pub(super) mails: u64,
    pub(super) accepted: u64,
    pub(super) octets: u64,
    pub(super) cut: u64,
    pub(super) refused: Vec<String>,
    pub(super) keys: Vec<u64>,
    pub(super) kept: Vec<ReceivedMail>,
}

pub(super) struct MailboxLedger {
    folder: Option<PathBuf>,
    inner: Mutex<MailboxLedgerInner>,
}

#[derive(Default)]
struct MailboxLedgerInner {
    stats: Stats,
    accepted: LastSecond,
    tally: KeyCounts,
    kept: VecDeque<ReceivedMail>,
    kept_octets: usize,
    files: u64,
}

impl MailboxLedger {
    /// # Errors
    /// The folder cannot be made.
    pub(super) fn open(options: &MailboxOptions) -> io::Result<Self> {
        if let Some(folder) = &options.folder {
            for room in ["tmp", "new", "cur"] {
                std::fs::create_dir_all(folder.join(room))?;
            }
        }
        Ok(MailboxLedger { folder: options.folder.clone(), inner: Mutex::default() })
    }

    /// Enters a batch and empties it. What is kept in files is in the system's hands when this returns.
    pub(super) fn enter(&self, batch: &mut MailBatch, keep: usize) {
        let inner = &mut *self.lock();
        let stats = &mut inner.stats;
        stats.mails += std::mem::take(&mut batch.mails);
        stats.octets += std::mem::take(&mut batch.octets);
        stats.cut += std::mem::take(&mut batch.cut);
        for reply in batch.refused.drain(..) {
            *stats.refused.entry(code(&reply)).or_default() += 1;
        }
        let accepted = std::mem::take(&mut batch.accepted);
        if accepted > 0 {
            stats.accepted += accepted;
            stats.last_accepted_us = stats.last_accepted_us.max(batch.now_us);
            if stats.first_accepted_us == 0 {
                stats.first_accepted_us = batch.now_us;
            }
            inner.accepted.add(batch.now_us, accepted);
        }
        batch.keys.drain(..).for_each(|key| inner.tally.add(key));
        for mail in batch.kept.drain(..) {
            if let Some(folder) = &self.folder {
                inner.files += 1;
                if let Err(error) = write_file(folder, inner.files, &mail) {
                    tracing::error!(%error, "the mail folder takes no more");
                }
            }
            inner.keep(mail, keep);
        }
    }

    pub(super) fn count_connection(&self) {
        self.lock().stats.connections += 1;
    }

    pub(super) fn count_tls(&self) {
        self.lock().stats.tls += 1;
    }

    pub(super) fn stats(&self) -> Stats {
        let inner = self.lock();
        Stats {
            distinct: inner.tally.distinct(),
            repeats: inner.tally.repeats,
            most: inner.tally.most,
            peak_accepted: inner.accepted.peak,
            ..inner.stats.clone()
        }
    }

    pub(super) fn count_of(&self, key: u64) -> u32 {
        self.lock().tally.count(key)
    }

    /// The last mails, the newest last.
    pub(super) fn mails(&self, limit: usize) -> Vec<ReceivedMail> {
        let kept = &self.lock().kept;
        kept.iter().skip(kept.len().saturating_sub(limit)).cloned().collect()
    }

    /// Counts stay right even if a task died while it held them.
    fn lock(&self) -> MutexGuard<'_, MailboxLedgerInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MailboxLedgerInner {
    fn keep(&mut self, mail: ReceivedMail, keep: usize) {
        self.kept_octets += mail.raw.len();
        self.kept.push_back(mail);
        while self.kept.len() > keep || self.kept_octets > KEPT_OCTETS_MAX {
            let Some(oldest) = self.kept.pop_front() else { return };
            self.kept_octets -= oldest.raw.len();
        }
    }
}

/// The code of a reply, with its enhanced code (RFC 3463) where it has one: `550 5.1.1`.
fn code(reply: &str) -> String {
    let mut words = reply.split(' ');
    let code = words.next().unwrap_or_default();
    match words.next().filter(|word| word.split('.').count() == 3 && word.starts_with(['4', '5'])) {
        Some(enhanced) => format!("{code} {enhanced}"),
        None => code.to_owned(),
    }
}

/// A file of its own in the folder's `new`, written beside and then moved, as Maildir wants it.
fn write_file(folder: &std::path::Path, number: u64, mail: &ReceivedMail) -> io::Result<()> {
    let name = format!("{}.{}_{number}.sim", mail.at_us / 1_000_000, std::process::id());
    let mut text = format!("Return-Path: <{}>\r\n", mail.from).into_bytes();
    for to in &mail.to {
        text.extend_from_slice(format!("Delivered-To: {to}\r\n").as_bytes());
    }
    text.extend_from_slice(&mail.raw);
    std::fs::write(folder.join("tmp").join(&name), text)?;
    std::fs::rename(folder.join("tmp").join(&name), folder.join("new").join(&name))
}

/// The key of a copy in the counts; nothing is counted without one.
pub(super) fn key(counting: Counting, to: &str, message_id: &str) -> Option<u64> {
    let to = || crate::chance::hash(0, to.to_ascii_lowercase().as_bytes());
    match counting {
        Counting::Off => None,
        Counting::Recipients => Some(to()),
        Counting::Messages => Some(crate::chance::hash(to(), message_id.as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_counted_by_their_codes() {
        for (reply, expected) in [
            ("550 5.1.1 nobody of that name", "550 5.1.1"),
            ("451 later", "451"),
            ("421", "421"),
            ("552 5.3 odd", "552"),
        ] {
            assert_eq!(code(reply), expected);
        }
    }
}

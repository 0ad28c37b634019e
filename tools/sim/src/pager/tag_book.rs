//! Pages that were taken: counts, the last of them, and the records of two-way ones.
//!
//! A record holds the moments at which its page arrives, is read and is answered; its state is a function of
//! them and of the clock. So nothing runs for a page.

use super::options::{PageStage, PagingOptions};
use crate::chance::{Chance, hash};
use crate::clock::civil;
use crate::town::Conduct;
use serde::Serialize;
use snpp::command::ReplyType;
use snpp::server::{ReceivedPage, ReceivedTwoWay, SendAnswer};
use snpp::tag::{MessageTag, TagState, TagStatus};
use std::collections::{HashMap, VecDeque};

/// Records at most; then the oldest is forgotten, as a carrier does.
const RECORDS_MAX: usize = 200_000;
/// Pagers whose copies are counted at most.
const PAGERS_MAX: usize = 4_000_000;

/// A page as it was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PagedMessage {
    /// When, microseconds since 1970.
    pub at_us: u64,
    /// Whom it was for.
    pub pager: String,
    /// The text, as UTF-8.
    pub text: String,
    /// Who paged.
    pub caller: Option<String>,
    /// Service level.
    pub level: Option<u8>,
    /// Alternate coverage area.
    pub coverage: Option<String>,
    /// It was of two ways.
    pub two_way: bool,
    /// Texts of its choices.
    pub choices: Vec<String>,
}

/// What was counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PagingStats {
    /// Pages that were taken, a pager each.
    pub accepted: u64,
    /// Those above the first of a pager.
    pub repeats: u64,
    /// Pages that were refused at PAGE or SEND.
    pub refused: u64,
    /// Connections that were cut in place of a reply.
    pub cut: u64,
    /// Questions for a tag.
    pub queries: u64,
    /// Two-way records that are kept.
    pub tags: u64,
    /// When the last page was taken, microseconds since 1970.
    pub last_accepted_us: u64,
    /// Connections so far.
    pub connections: u64,
    /// Connections now.
    pub sessions: u64,
}

/// A two-way page.
struct TagRecord {
    pass_code: String,
    /// When the pager gets it; nothing: never.
    arrives_us: Option<u64>,
    /// It expires in place of arriving.
    expires: bool,
    ack_read: bool,
    wants_reply: bool,
    /// When it is read, and when it is answered, with which state.
    read_us: Option<u64>,
    answered: Option<(u64, TagState)>,
}

/// What a session is to do with a page whose SEND came.
pub(super) enum SendVerdict {
    /// Reply so.
    Answer(SendAnswer),
    /// Cut the connection.
    Cut,
}

/// All of it.
pub(super) struct TagBook {
    chance: Chance,
    keep: usize,
    stats: PagingStats,
    pages: VecDeque<PagedMessage>,
    copies: HashMap<u64, u32>,
    records: HashMap<String, TagRecord>,
    /// Tags that were given out, the oldest first.
    order: VecDeque<String>,
    next_tag: u64,
}

impl TagBook {
    /// Tags go on from a number that no earlier process has given out.
    pub(super) fn new(seed: u64, now_us: u64, keep: usize) -> TagBook {
        TagBook {
            chance: Chance::new(seed, now_us),
            keep,
            stats: PagingStats::default(),
            pages: VecDeque::new(),
            copies: HashMap::new(),
            records: HashMap::new(),
            order: VecDeque::new(),
            next_tag: now_us,
        }
    }

    /// From 0 up to 1.
    pub(super) fn draw(&mut self) -> f64 {
        self.chance.unit()
    }

    pub(super) fn stats(&self) -> PagingStats {
        PagingStats { tags: self.records.len() as u64, ..self.stats.clone() }
    }

    pub(super) fn pages(&self, limit: usize) -> Vec<PagedMessage> {
        self.pages.iter().skip(self.pages.len().saturating_sub(limit)).cloned().collect()
    }

    pub(super) fn accepted(&self, pager: &str) -> u32 {
        self.copies.get(&hash(0, pager.as_bytes())).copied().unwrap_or_default()
    }

    /// The code of a refusal of the error mix, if it hits.
    pub(super) fn chance_error(&mut self, options: &PagingOptions, stage: PageStage) -> Option<u16> {
        let chance = &mut self.chance;
        let error = options.errors.iter().find(|error| error.at == stage && chance.hits(error.share))?;
        self.stats.refused += 1;
        Some(error.code)
    }

    /// Takes a page, or does not.
    pub(super) fn take(&mut self, page: &ReceivedPage, options: &PagingOptions, now_us: u64) -> SendVerdict {
        match self.chance_error(options, PageStage::Send) {
            Some(421) => return SendVerdict::Answer(SendAnswer::Unavailable),
            Some(550) => {
                let words = "Failed, Illegal Pager ID".to_owned();
                return SendVerdict::Answer(SendAnswer::Refused(words));
            }
            Some(_) => return SendVerdict::Answer(SendAnswer::Failed),
            None => {}
        }
        if options.disconnect > 0.0 && self.chance.hits(options.disconnect) {
            self.stats.cut += 1;
            if self.chance.hits(options.disconnect_accepts) {
                self.accept(page, options, now_us);
            }
            return SendVerdict::Cut;
        }
        SendVerdict::Answer(self.accept(page, options, now_us))
    }

    fn accept(&mut self, page: &ReceivedPage, options: &PagingOptions, now_us: u64) -> SendAnswer {
        for pager in &page.pagers {
            self.count(&pager.pager, now_us);
        }
        self.keep(page, now_us);
        let (Some(two_way), Some(pager)) = (&page.two_way, page.pagers.first()) else {
            return SendAnswer::Sent;
        };
        let record = self.record(two_way, &pager.pager, options, now_us);
        self.next_tag += 1;
        let Some(tag) = MessageTag::new(&self.next_tag.to_string(), &record.pass_code) else {
            return SendAnswer::Failed;
        };
        let state = record.state(now_us);
        while self.order.len() >= RECORDS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.records.remove(&oldest);
        }
        self.order.push_back(tag.tag().to_owned());
        self.records.insert(tag.tag().to_owned(), record);
        SendAnswer::TwoWay(tag, state)
    }

    fn count(&mut self, pager: &str, now_us: u64) {
        self.stats.accepted += 1;
        self.stats.last_accepted_us = now_us;
        if self.copies.len() < PAGERS_MAX {
            let copies = self.copies.entry(hash(0, pager.as_bytes())).or_default();
            *copies += 1;
            self.stats.repeats += u64::from(*copies > 1);
        }
    }

    fn keep(&mut self, page: &ReceivedPage, now_us: u64) {
        let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
        let choices = page.two_way.as_ref().map_or(&[][..], |two_way| &two_way.choices);
        for pager in page.pagers.iter().take(self.keep) {
            self.pages.push_back(PagedMessage {
                at_us: now_us,
                pager: pager.pager.clone(),
                text: text(&page.text),
                caller: page.caller.as_deref().map(text),
                level: pager.options.level,
                coverage: pager.options.coverage.clone(),
                two_way: page.two_way.is_some(),
                choices: choices.iter().map(|(_, words)| text(words)).collect(),
            });
        }
        while self.pages.len() > self.keep {
            self.pages.pop_front();
        }
    }

    fn record(
        &mut self,
        two_way: &ReceivedTwoWay,
        pager: &str,
        options: &PagingOptions,
        now_us: u64,
    ) -> TagRecord {
        let conduct = options.people.as_ref().map_or(Conduct::Silent, |people| people.pager(pager));
        let arrives_us = now_us + options.deliver_after.at(self.chance.unit()).as_micros() as u64;
        let pass_code = format!("{:06}", self.chance.below(1_000_000));
        let wants_reply = two_way.reply != ReplyType::None;
        let mut record = TagRecord {
            pass_code,
            arrives_us: (conduct != Conduct::Unheard).then_some(arrives_us),
            expires: conduct == Conduct::Lost,
            ack_read: two_way.ack_read,
            wants_reply,
            read_us: None,
            answered: None,
        };
        let (answer, after) = match conduct {
            Conduct::Answers { text, after } => (answer_of(two_way, &text), after),
            Conduct::Stops { after } => (TagState::Text("STOP".to_owned()), after),
            _ => return record,
        };
        let answered_us = arrives_us + after.as_micros() as u64;
        record.read_us = Some(arrives_us + after.as_micros() as u64 / 2);
        record.answered = wants_reply.then_some((answered_us, answer));
        record
    }

    /// How a page stands; nothing for a tag that is unknown or has another pass code.
    pub(super) fn status(&mut self, tag: &MessageTag, now_us: u64) -> Option<TagStatus> {
        self.stats.queries += 1;
        let record = self.records.get(tag.tag()).filter(|record| record.pass_code == tag.pass_code())?;
        let state = record.state(now_us);
        let [year, month, day, hour, minute, second] = civil(now_us);
        let at = format!("{:02}{month:02}{day:02}{hour:02}{minute:02}{second:02}+0", year % 100);
        Some(TagStatus { sequence: rank(&state), at, state, words: String::new() })
    }

    pub(super) fn kill(&mut self, tag: &MessageTag) -> bool {
        let is_there = self.records.get(tag.tag()).is_some_and(|record| record.pass_code == tag.pass_code());
        if is_there {
            self.records.remove(tag.tag());
        }
        is_there
    }
}

impl TagRecord {
    fn state(&self, now_us: u64) -> TagState {
        let has_come = |at: Option<u64>| at.is_some_and(|at| at <= now_us);
        if !has_come(self.arrives_us) {
            return TagState::Queued;
        }
        if self.expires {
            return TagState::Expired;
        }
        if let Some((at, answer)) = &self.answered
            && *at <= now_us
        {
            return answer.clone();
        }
        let is_read = has_come(self.read_us);
        match (self.ack_read, is_read, self.wants_reply) {
            (true, false, _) => TagState::AwaitingRead,
            (true, true, true) => TagState::ReadAwaitingReply,
            (true, true, false) => TagState::Read,
            (false, _, true) => TagState::AwaitingReply,
            (false, _, false) => TagState::Delivered,
        }
    }
}

/// Rises as a page goes its way.
fn rank(state: &TagState) -> u64 {
    match state {
        TagState::Queued => 1,
        TagState::AwaitingRead | TagState::AwaitingReply => 2,
        TagState::ReadAwaitingReply => 3,
        _ => 4,
    }
}

/// A person's word as the pager sends it: a choice's number or text by its code, anything else as it is,
/// where the page permits that; who cannot say it presses the first choice.
fn answer_of(two_way: &ReceivedTwoWay, word: &str) -> TagState {
    let by_number = word.parse().ok().and_then(|number: usize| two_way.choices.get(number.checked_sub(1)?));
    let by_text = || two_way.choices.iter().find(|(_, text)| text == word.as_bytes());
    match by_number.or_else(by_text).or(two_way.choices.first()) {
        Some((code, _)) => TagState::Choice(code.clone()),
        None => TagState::Text(word.to_owned()),
    }
}

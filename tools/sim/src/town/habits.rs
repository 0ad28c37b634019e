//! Habits of people and their devices: a hash of the seed and the address alone, so that the town, the SMSC
//! and the mailbox agree in whatever process they are.

use crate::chance::{Chance, Delay, hash};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Shares of behaviours, and the seed that deals them out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Habits {
    /// The town's seed.
    pub seed: u64,
    /// Of phones and pagers.
    pub sms: SmsHabits,
    /// Of mail addresses.
    pub mail: MailHabits,
    /// Of addresses of instant messages.
    pub im: ImHabits,
    /// Keys people may answer with, the likeliest first (each half as likely as the one before).
    pub choices: Vec<String>,
    /// Share of the answers that are free text instead of a key.
    pub free_text: f64,
    /// How long people take to answer.
    pub answer_after: Delay,
}

/// Shares of the phones; the rest gets the message and says nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SmsHabits {
    /// Refused at submission.
    pub refused: f64,
    /// Accepted, and the receipt says that it failed.
    pub lost: f64,
    /// Accepted, and no receipt ever comes.
    pub unheard: f64,
    /// Delivered and answered.
    pub answering: f64,
    /// Delivered and answered with STOP.
    pub stopping: f64,
}

/// Shares of the mail addresses; the rest takes the mail and says nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MailHabits {
    /// Refused: 550 5.1.1, nobody of that name.
    pub unknown: f64,
    /// Refused for now, always: 452 4.2.2, mailbox full.
    pub full: f64,
    /// Refused the first time: 451 4.7.1, come again later.
    pub greylisted: f64,
    /// Accepted, and a bounce comes back.
    pub lost: f64,
    /// Answered.
    pub answering: f64,
    /// Answered with STOP.
    pub stopping: f64,
    /// Answered by a machine: out of office. Nobody said anything.
    pub away: f64,
}

/// Shares of the addresses of instant messages; the rest reads the message and says nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImHabits {
    /// Refused: the person wants no messages.
    pub blocked: f64,
    /// Taken, and never read.
    pub unread: f64,
    /// Read and answered.
    pub answering: f64,
    /// Read and answered with STOP.
    pub stopping: f64,
}

impl Default for Habits {
    fn default() -> Self {
        Habits {
            seed: 1,
            sms: SmsHabits::default(),
            mail: MailHabits::default(),
            im: ImHabits::default(),
            choices: vec!["1".to_owned(), "2".to_owned()],
            free_text: 0.08,
            answer_after: Delay::Between(Duration::from_millis(500), Duration::from_secs(6)),
        }
    }
}

impl Default for SmsHabits {
    fn default() -> Self {
        SmsHabits { refused: 0.01, lost: 0.02, unheard: 0.005, answering: 0.62, stopping: 0.003 }
    }
}

impl Default for ImHabits {
    fn default() -> Self {
        ImHabits { blocked: 0.01, unread: 0.1, answering: 0.5, stopping: 0.002 }
    }
}

impl Default for MailHabits {
    fn default() -> Self {
        MailHabits {
            unknown: 0.01,
            full: 0.0,
            greylisted: 0.0,
            lost: 0.01,
            answering: 0.35,
            stopping: 0.002,
            away: 0.02,
        }
    }
}

/// What becomes of a message to one address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conduct {
    /// The carrier does not take it.
    Refuses(CarrierRefusal),
    /// The carrier takes it, and says later that it failed.
    Lost,
    /// The carrier takes it and says nothing more.
    Unheard,
    /// It arrives.
    Silent,
    /// It arrives and is answered.
    Answers {
        /// With these words.
        text: String,
        /// So long after its arrival.
        after: Duration,
    },
    /// It arrives and is answered with STOP.
    Stops {
        /// So long after its arrival.
        after: Duration,
    },
    /// It arrives, and a machine answers at once that nobody is there.
    Away,
}

/// How a carrier says no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CarrierRefusal {
    /// An SMPP `command_status`.
    Status(u32),
    /// 550 5.1.1.
    UnknownUser,
    /// 452 4.2.2, every time.
    MailboxFull,
    /// 451 4.7.1, the first time.
    Greylisted,
}

/// ESME_RINVDSTADR, ESME_RSUBMITFAIL: what carriers say of numbers that cannot be reached.
const REFUSALS: [u32; 2] = [0x0B, 0x45];

const FREE_TEXTS: [&str; 8] = [
    "Jag är i säkerhet, tack",
    "Behöver hjälp med att komma ut",
    "On my way home, all fine",
    "Vem är det?",
    "Kaikki hyvin täällä",
    "نحن بخير",
    "Всё в порядке 👍",
    "I am at my sister's, nobody is at home",
];

const SMS_SALT: u64 = 0x736D_7300;
const MAIL_SALT: u64 = 0x6D61_696C;
const PAGER_SALT: u64 = 0x7061_6765;
const IM_SALT: u64 = 0x696D;

impl Habits {
    /// Nobody refuses, loses or says anything.
    pub fn silent(seed: u64) -> Self {
        let sms = SmsHabits { refused: 0.0, lost: 0.0, unheard: 0.0, answering: 0.0, stopping: 0.0 };
        let mail = MailHabits {
            unknown: 0.0,
            full: 0.0,
            greylisted: 0.0,
            lost: 0.0,
            answering: 0.0,
            stopping: 0.0,
            away: 0.0,
        };
        let im = ImHabits { blocked: 0.0, unread: 0.0, answering: 0.0, stopping: 0.0 };
        Habits { seed, sms, mail, im, ..Habits::default() }
    }

    /// Nothing goes wrong, and everybody answers.
    pub fn answering(seed: u64) -> Self {
        let mut habits = Habits::silent(seed);
        habits.sms.answering = 1.0;
        habits.mail.answering = 1.0;
        habits.im.answering = 1.0;
        habits
    }

    /// What a phone does, known by its number in any notation: `+46…`, `0046…`, `46…`.
    pub fn phone(&self, number: &str) -> Conduct {
        let digits = number.strip_prefix('+').or_else(|| number.strip_prefix("00")).unwrap_or(number);
        let mut chance = Chance::new(self.seed ^ SMS_SALT, hash(0, digits.as_bytes()));
        let habits = &self.sms;
        match drawn(chance.unit(), &habits.shares()) {
            Some(0) => Conduct::Refuses(CarrierRefusal::Status(*chance.pick(&REFUSALS))),
            Some(1) => Conduct::Lost,
            Some(2) => Conduct::Unheard,
            Some(3) => self.answer(&mut chance),
            Some(_) => Conduct::Stops { after: self.answer_after.at(chance.unit()) },
            None => Conduct::Silent,
        }
    }

    /// What a pager does, known by its id; letters count alike in either case. Pagers have the shares of
    /// phones.
    pub fn pager(&self, id: &str) -> Conduct {
        let id = id.to_ascii_lowercase();
        let mut chance = Chance::new(self.seed ^ PAGER_SALT, hash(0, id.as_bytes()));
        match drawn(chance.unit(), &self.sms.shares()) {
            Some(0) => Conduct::Refuses(CarrierRefusal::UnknownUser),
            Some(1) => Conduct::Lost,
            Some(2) => Conduct::Unheard,
            Some(3) => self.answer(&mut chance),
            Some(_) => Conduct::Stops { after: self.answer_after.at(chance.unit()) },
            None => Conduct::Silent,
        }
    }

    /// What a mail address does; letters count alike in either case.
    pub fn mailbox(&self, address: &str) -> Conduct {
        let address = address.to_ascii_lowercase();
        let mut chance = Chance::new(self.seed ^ MAIL_SALT, hash(0, address.as_bytes()));
        let habits = &self.mail;
        match drawn(chance.unit(), &habits.shares()) {
            Some(0) => Conduct::Refuses(CarrierRefusal::UnknownUser),
            Some(1) => Conduct::Refuses(CarrierRefusal::MailboxFull),
            Some(2) => Conduct::Refuses(CarrierRefusal::Greylisted),
            Some(3) => Conduct::Lost,
            Some(4) => self.answer(&mut chance),
            Some(5) => Conduct::Stops { after: self.answer_after.at(chance.unit()) },
            Some(_) => Conduct::Away,
            None => Conduct::Silent,
        }
    }

    /// What the person of an address of instant messages does.
    pub fn messenger(&self, address: &str) -> Conduct {
        let mut chance = Chance::new(self.seed ^ IM_SALT, hash(0, address.as_bytes()));
        match drawn(chance.unit(), &self.im.shares()) {
            Some(0) => Conduct::Refuses(CarrierRefusal::UnknownUser),
            Some(1) => Conduct::Unheard,
            Some(2) => self.answer(&mut chance),
            Some(_) => Conduct::Stops { after: self.answer_after.at(chance.unit()) },
            None => Conduct::Silent,
        }
    }

    fn answer(&self, chance: &mut Chance) -> Conduct {
        let after = self.answer_after.at(chance.unit());
        let text = match self.choices.as_slice() {
            choices if choices.is_empty() || chance.hits(self.free_text) => {
                (*chance.pick(&FREE_TEXTS)).to_owned()
            }
            choices => {
                // Trailing ones of a random word: 0 in a half of all cases, 1 in a quarter …
                let place = chance.word().trailing_ones() as usize;
                choices[place % choices.len()].clone()
            }
        };
        Conduct::Answers { text, after }
    }

    /// Checks what a scenario file may get wrong.
    ///
    /// # Errors
    /// The first share that is not between 0 and 1, or shares of one channel that add up to more than 1.
    pub fn check(&self) -> Result<(), String> {
        let (sms, mail, im) = (self.sms.shares(), self.mail.shares(), self.im.shares());
        let free_text = [self.free_text];
        for (name, shares) in
            [("sms", &sms[..]), ("mail", &mail[..]), ("im", &im[..]), ("free_text", &free_text[..])]
        {
            let sum: f64 = shares.iter().sum();
            if shares.iter().any(|share| !(0.0..=1.0).contains(share)) || sum > 1.0 + 1e-9 {
                return Err(format!("habits.{name}: shares are from 0 to 1 and add up to 1 at most"));
            }
        }
        Ok(())
    }
}

impl SmsHabits {
    fn shares(&self) -> [f64; 5] {
        [self.refused, self.lost, self.unheard, self.answering, self.stopping]
    }
}

impl ImHabits {
    fn shares(&self) -> [f64; 4] {
        [self.blocked, self.unread, self.answering, self.stopping]
    }
}

impl MailHabits {
    fn shares(&self) -> [f64; 7] {
        [self.unknown, self.full, self.greylisted, self.lost, self.answering, self.stopping, self.away]
    }
}

/// Which of the shares a draw falls into, if any.
fn drawn(unit: f64, shares: &[f64]) -> Option<usize> {
    let mut below = 0.0;
    shares.iter().position(|share| {
        below += share;
        unit < below
    })
}

//! Logins by a code that another device of the person gets. An id that nobody has is replied to in the same
//! words, after the same time.

use super::codes::{LoginCodes, is_code};
use super::session::SessionOutcomes;
use super::{LoginProof, PeopleDeps};
use crate::guessing::{Attempt, GuessingGuard};
use bus::Bus;
use channels::Defaults;
use engine::LoginDevice;
use records::ChannelNumber;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// The door, as the log and the metric of wrong attempts name it.
const DOOR: &str = "line";
/// No reply to a LOGIN comes sooner: an id that nobody has is no faster.
const REPLY_AFTER: Duration = Duration::from_millis(500);
/// People with one id who are sent a code at most.
const DEVICES_MAX: usize = 5;

/// See the module.
pub(in crate::topic) struct Logins {
    pub(super) deps: PeopleDeps,
    pub(super) outcomes: SessionOutcomes,
    codes: LoginCodes,
    guessing: Arc<GuessingGuard>,
    /// The channel that the last code went by: a made-up device is one of it.
    last_channel: AtomicU8,
    runtime: Handle,
}

impl Logins {
    /// Opens the topic of outcomes; may block where the bus is far away. `route` is the first route that
    /// writes into sessions: what is typed before any alert came is of it.
    ///
    /// # Errors
    /// The bus's.
    pub(in crate::topic) fn open(
        deps: PeopleDeps,
        route: &str,
        (bus, runtime): (&dyn Bus, Handle),
        guessing: Arc<GuessingGuard>,
    ) -> Result<Logins, bus::BusError> {
        Ok(Logins {
            outcomes: SessionOutcomes::open(bus, route, Arc::clone(&deps.clock))?,
            deps,
            codes: LoginCodes::default(),
            guessing,
            last_channel: AtomicU8::new(channels::SMS.0),
            runtime,
        })
    }

    /// Has a code sent to another device of who has an id; gives what is said of it.
    pub(super) async fn ask(self: Arc<Self>, id: String, client: IpAddr) -> String {
        let begin = Instant::now();
        let attempt = attempt(&id, client);
        let may_look = self.guessing.take_turn(attempt).await;
        let digits = digits();
        let is_new = may_look && digits.as_ref().is_some_and(|digits| self.codes.begin(&id, digits, begin));
        let found = if may_look { self.deps.desk.devices(id.clone()).await } else { Ok(Vec::new()) };
        let devices = found.unwrap_or_else(|error| {
            tracing::warn!(error, "who may log in cannot be looked up: nobody is sent a code");
            Vec::new()
        });
        let shown = devices.first().map_or_else(|| self.made_up(&id), shown);
        if let Some(digits) = digits.filter(|_| is_new) {
            self.send(devices, &id, &digits);
        }
        tokio::time::sleep_until((begin + REPLY_AFTER).into()).await;
        format!(
            "If {id} may log in here, a code is on its way to {shown}. Type CODE and its six digits within 10 minutes."
        )
    }

    /// Sends a code in the background: how long that takes says nothing of an id.
    fn send(self: &Arc<Self>, devices: Vec<LoginDevice>, id: &str, digits: &str) {
        for device in devices.into_iter().take(DEVICES_MAX) {
            self.last_channel.store(device.channel.0, Ordering::Relaxed);
            let sending = self.deps.desk.send_code(device, id.to_owned(), digits.to_owned());
            self.runtime.spawn(async move {
                if let Err(error) = sending.await {
                    tracing::warn!(error, "a login code cannot be sent");
                }
            });
        }
    }

    /// Whether a code is that of an id, once it is its turn.
    pub(super) async fn is_right(self: Arc<Self>, id: String, code: String, client: IpAddr) -> bool {
        let attempt = attempt(&id, client);
        if !self.guessing.take_turn(attempt).await {
            return false;
        }
        let now = Instant::now();
        let is_right = is_code(&code) && self.codes.take(&id, &code, now);
        match is_right {
            true => self.guessing.succeeded(attempt, now),
            false => self.guessing.note_failed(attempt, now),
        }
        is_right
    }

    /// A session is open.
    pub(super) fn note(&self, id: &str, client: IpAddr, by: LoginProof) {
        let noting = self.deps.desk.logged_in(id.to_owned(), client, by);
        self.runtime.spawn(async move {
            if let Err(error) = noting.await {
                tracing::warn!(error, "a login cannot be noted: alerts that wait come at their next try");
            }
        });
    }

    /// The end of a device that an id might have, the same each time.
    fn made_up(&self, id: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.deps.mask_key);
        let tag = hmac::sign(&key, id.as_bytes());
        let number = tag.as_ref().iter().take(2).fold(0_u32, |number, octet| number << 8 | u32::from(*octet));
        let channel = ChannelNumber(self.last_channel.load(Ordering::Relaxed));
        match is_numbered(channels::of(channel).map_or("", |channel| channel.example())) {
            true => tail(channel, &format!("{:02}", number % 100)),
            false => head(channel, char::from(b'a' + (number % 26) as u8)),
        }
    }
}

fn attempt(id: &str, client: IpAddr) -> Attempt<'_> {
    Attempt { door: DOOR, name: id.as_bytes(), ip: client, is_known: false }
}

/// The id of a login in its one form.
///
/// # Errors
/// What is wrong with it, in words.
pub(super) fn login_id(text: &str) -> Result<String, String> {
    channels::address(channels::LINE, text, &Defaults::default())
}

/// Six digits; nothing where the system has no random numbers.
fn digits() -> Option<String> {
    let mut octets = [0; 8];
    SystemRandom::new().fill(&mut octets).ok()?;
    Some(format!("{:06}", u64::from_le_bytes(octets) % 1_000_000))
}

/// A device as somebody may see who does not have it: the end of a number, the beginning of anything else.
fn shown(device: &LoginDevice) -> String {
    let address = &device.address;
    if is_numbered(address) {
        let end: Vec<char> = address.chars().rev().take(2).collect();
        return tail(device.channel, &end.iter().rev().collect::<String>());
    }
    let name = address.trim_start_matches(|c: char| !c.is_alphanumeric());
    head(device.channel, name.chars().next().unwrap_or('\u{2026}'))
}

fn is_numbered(address: &str) -> bool {
    address.trim_start_matches('+').bytes().all(|octet| octet.is_ascii_digit()) && !address.is_empty()
}

fn tail(channel: ChannelNumber, end: &str) -> String {
    format!("{} ...{end}", channels::name(channel))
}

fn head(channel: ChannelNumber, first: char) -> String {
    format!("{} {first}...", channels::name(channel))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_named_by_so_little_that_nobody_learns_it() {
        let device = |channel, address: &str| LoginDevice {
            account: String::new(),
            channel,
            address: address.to_owned(),
            language: None,
            person: String::new(),
        };
        for (channel, address, expected) in [
            (channels::SMS, "+46701740605", "sms ...05"),
            (channels::MAIL, "ann@example.org", "mail a..."),
            (channels::PAGER, "1234", "pager ...34"),
            (channels::IM, "matrix:@ann:b", "im m..."),
        ] {
            assert_eq!(shown(&device(channel, address)), expected);
        }
    }

    #[test]
    fn digits_are_six_and_not_the_same() {
        let all: std::collections::HashSet<String> = (0..50).map(|_| digits().unwrap()).collect();
        assert!(all.len() > 40 && all.iter().all(|code| is_code(code)), "{all:?}");
    }
}

//! Platforms that may send, from which addresses, and at which rate.

use super::compose::RECEIVERS_MAX;
use crate::guessing::KnownNetworks;
use crate::smpp::AllowedIp;
use engine::Problem;
use records::{Mode, Timestamp};
use std::collections::HashMap;
use std::fmt;
use std::hint::black_box;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Platforms at most.
pub const PLATFORMS_MAX: usize = 10_000;
/// Networks and numbers of a platform at most.
const LIST_MAX: usize = 1_000;
/// Octets of a username or password at most.
const NAME_OCTETS_MAX: usize = 128;
/// A platform may be so far ahead of its rate, in microseconds: the burst.
const AHEAD_US_MAX: i64 = 1_000_000;

/// `[[platform]]`: a platform that uses sendsms.
#[derive(Clone, PartialEq)]
pub struct PlatformSettings {
    /// Its name in requests.
    pub username: String,
    /// The password.
    pub password: String,
    /// Account of its messages.
    pub account: String,
    /// Live or drill.
    pub mode: Mode,
    /// URL for inbound messages, with escapes. Used by the engine.
    pub callback: Option<String>,
    /// Our numbers whose inbound messages it gets, or their beginnings; empty: any. Used by the engine.
    pub numbers: Vec<String>,
    /// From where it may come, addresses or networks such as `10.0.0.0/8`; empty: from anywhere.
    pub allowed_ips: Vec<String>,
    /// Messages a second; 0 is unlimited.
    pub rate: f64,
    /// The sender of messages that name none; without it the route's own.
    pub sender: Option<String>,
    /// URL for reports of messages that request them and have no `dlr-url`.
    pub dlr_url: Option<String>,
}

impl Default for PlatformSettings {
    fn default() -> Self {
        PlatformSettings {
            username: String::new(),
            password: String::new(),
            account: "default".to_owned(),
            mode: Mode::Live,
            callback: None,
            numbers: Vec::new(),
            allowed_ips: Vec::new(),
            rate: 0.0,
            sender: None,
            dlr_url: None,
        }
    }
}

impl fmt::Debug for PlatformSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The password stays out of logs.
        f.debug_struct("PlatformSettings")
            .field("username", &self.username)
            .field("account", &self.account)
            .field("mode", &self.mode)
            .field("allowed_ips", &self.allowed_ips)
            .field("rate", &self.rate)
            .finish_non_exhaustive()
    }
}

/// The platforms as the door looks them up. A reload makes a new one; a platform that did not change keeps
/// the used part of its rate.
#[derive(Debug, Default)]
pub struct Platforms {
    by_username: HashMap<String, Arc<AdmittedPlatform>>,
}

/// One of them.
#[derive(Debug)]
pub(super) struct AdmittedPlatform {
    pub settings: PlatformSettings,
    networks: Vec<AllowedIp>,
    /// Microseconds of a message at its rate; 0 is unlimited.
    message_us: i64,
    /// When everything it sent so far would have been due at its rate.
    due: Arc<AtomicI64>,
    /// From where it lately came with its password.
    known: Arc<KnownNetworks>,
}

impl Platforms {
    /// Checks the settings.
    ///
    /// # Errors
    /// The problems of each, with fields such as `platform[2].rate`.
    pub fn new(settings: Vec<PlatformSettings>) -> Result<Platforms, Vec<Problem>> {
        let mut platforms = Platforms::default();
        let mut problems = Vec::new();
        if settings.len() > PLATFORMS_MAX {
            problems.push(problem("platform", format!("at most {PLATFORMS_MAX}, not {}", settings.len())));
        }
        for (place, settings) in settings.into_iter().take(PLATFORMS_MAX).enumerate() {
            let named = |field: &str| format!("platform[{place}].{field}");
            match AdmittedPlatform::new(settings, &named) {
                Err(found) => problems.extend(found),
                Ok(platform) => {
                    let username = platform.settings.username.clone();
                    if let Some(other) = platforms.by_username.insert(username, Arc::new(platform)) {
                        let name = &other.settings.username;
                        problems.push(problem(&named("username"), format!("{name:?} is there twice")));
                    }
                }
            }
        }
        if problems.is_empty() { Ok(platforms) } else { Err(problems) }
    }

    /// Takes over the used part of each rate from `before`: a reload does not grant a platform its rate
    /// again.
    #[must_use]
    pub fn after(mut self, before: &Platforms) -> Platforms {
        for (name, platform) in &mut self.by_username {
            let earlier = before.by_username.get(name);
            if let (Some(earlier), Some(platform)) = (earlier, Arc::get_mut(platform)) {
                platform.due = earlier.due.clone();
                if earlier.settings.password == platform.settings.password {
                    platform.known = earlier.known.clone();
                }
            }
        }
        self
    }

    /// The platform, if name and password are right and it may come from there. Takes as long for a name that
    /// nobody has.
    pub(super) fn admit(
        &self,
        username: &[u8],
        password: &[u8],
        from: IpAddr,
    ) -> Option<&Arc<AdmittedPlatform>> {
        let platform = self.named(username);
        let right = platform.map_or(NOBODYS_PASSWORD, |platform| platform.settings.password.as_bytes());
        let proven = same(right, password);
        let platform = platform.filter(|_| proven)?;
        let allowed = platform.networks.is_empty() || platform.networks.iter().any(|net| net.holds(from));
        if allowed {
            platform.known.note(from);
        }
        allowed.then_some(platform)
    }

    /// Whether the platform of this name lately came from there with its password.
    pub(super) fn is_known(&self, username: &[u8], from: IpAddr) -> bool {
        self.named(username).is_some_and(|platform| platform.known.holds(from))
    }

    /// All of them, in no order.
    pub(crate) fn settings(&self) -> impl Iterator<Item = &PlatformSettings> {
        self.by_username.values().map(|platform| &platform.settings)
    }

    fn named(&self, username: &[u8]) -> Option<&Arc<AdmittedPlatform>> {
        self.by_username.get(std::str::from_utf8(username).ok()?)
    }
}

/// Compared with the password for a name that nobody has; what comes of that is not used.
const NOBODYS_PASSWORD: &[u8] = b"0123456789abcdef";

impl AdmittedPlatform {
    fn new(
        settings: PlatformSettings,
        named: &dyn Fn(&str) -> String,
    ) -> Result<AdmittedPlatform, Vec<Problem>> {
        let mut problems = Vec::new();
        for (field, value) in [("username", &settings.username), ("password", &settings.password)] {
            if value.is_empty() || value.len() > NAME_OCTETS_MAX {
                let reason = format!("1 to {NAME_OCTETS_MAX} octets, not {}", value.len());
                problems.push(problem(&named(field), reason));
            }
        }
        for (field, list) in [("allowed_ips", &settings.allowed_ips), ("numbers", &settings.numbers)] {
            if list.len() > LIST_MAX {
                problems.push(problem(&named(field), format!("at most {LIST_MAX}, not {}", list.len())));
            }
        }
        if !settings.rate.is_finite() || settings.rate < 0.0 {
            problems.push(problem(&named("rate"), "must be 0 or more messages a second".to_owned()));
        }
        let mut networks = Vec::new();
        for text in &settings.allowed_ips {
            match text.parse() {
                Ok(network) => networks.push(network),
                Err(reason) => problems.push(problem(&named("allowed_ips"), reason)),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let message_us = if settings.rate > 0.0 { (1e6 / settings.rate).ceil() as i64 } else { 0 };
        Ok(AdmittedPlatform { settings, networks, message_us, due: Arc::default(), known: Arc::default() })
    }

    /// Counts messages against the rate, or returns the seconds to wait. A request is taken whole or not at
    /// all, so one of many receivers may go ahead of the rate, and the next ones wait for it.
    pub(super) fn pace(&self, messages: usize, now: Timestamp) -> Result<(), u32> {
        if self.message_us == 0 {
            return Ok(());
        }
        let costs = self.message_us.saturating_mul(messages as i64);
        let mut due = self.due.load(Ordering::Relaxed);
        loop {
            // A clock stepped back does not shut a platform out.
            let latest = AHEAD_US_MAX.saturating_add(self.message_us.saturating_mul(RECEIVERS_MAX as i64));
            let begin = if due.saturating_sub(now.0) > latest { now.0 } else { due.max(now.0) };
            let ahead = begin - now.0;
            if ahead > AHEAD_US_MAX {
                return Err(((ahead - AHEAD_US_MAX) / 1_000_000) as u32 + 1);
            }
            let next = begin.saturating_add(costs);
            match self.due.compare_exchange_weak(due, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(found) => due = found,
            }
        }
    }
}

fn problem(field: &str, reason: String) -> Problem {
    Problem { field: field.to_owned(), reason }
}

/// Compares in a time that depends on the right password's length alone.
fn same(right: &[u8], given: &[u8]) -> bool {
    let mut differs = u8::from(right.len() != given.len());
    for (place, octet) in right.iter().enumerate() {
        differs |= black_box(octet ^ given.get(place).copied().unwrap_or(0));
    }
    black_box(differs) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn platform(rate: f64, allowed: &[&str]) -> PlatformSettings {
        PlatformSettings {
            username: "a".into(),
            password: "secret".into(),
            rate,
            allowed_ips: allowed.iter().map(|net| (*net).to_owned()).collect(),
            ..PlatformSettings::default()
        }
    }

    #[test]
    fn a_platform_is_admitted_by_its_password_and_from_its_networks() {
        let platforms = Platforms::new(vec![platform(0.0, &["10.0.0.0/8"])]).unwrap();
        let cases = [
            ("a", "secret", "10.1.2.3", true),
            ("a", "secret", "11.1.2.3", false),
            ("a", "secre", "10.1.2.3", false),
            ("a", "secret ", "10.1.2.3", false),
            ("a", "", "10.1.2.3", false),
            ("A", "secret", "10.1.2.3", false),
        ];
        for (username, password, from, expected) in cases {
            let admitted = platforms.admit(username.as_bytes(), password.as_bytes(), from.parse().unwrap());
            assert_eq!(admitted.is_some(), expected, "{username} {password} {from}");
        }
    }

    #[test]
    fn a_platform_sends_a_second_ahead_of_its_rate_and_no_more() {
        let platforms = Platforms::new(vec![platform(10.0, &[])]).unwrap();
        let platform = platforms.by_username["a"].clone();
        let start = Timestamp(1_000_000_000);
        let taken = (0..100).filter(|_| platform.pace(1, start).is_ok()).count();
        assert_eq!(taken, 11);
        assert_eq!(platform.pace(1, start), Err(1));
        // Ten more in the second after.
        let taken = (0..100).filter(|_| platform.pace(1, start.plus_s(1)).is_ok()).count();
        assert_eq!(taken, 10);
        // A clock that is an hour behind again takes some.
        assert_eq!(platform.pace(1, start.plus_s(-3_600)), Ok(()));
    }

    #[test]
    fn a_request_of_many_receivers_passes_and_the_next_one_waits_for_it() {
        let platforms = Platforms::new(vec![platform(10.0, &[])]).unwrap();
        let platform = platforms.by_username["a"].clone();
        assert_eq!(platform.pace(50, Timestamp(0)), Ok(()));
        assert_eq!(platform.pace(1, Timestamp(0)), Err(5));
        assert_eq!(platform.pace(1, Timestamp(0).plus_s(4)), Ok(()));
    }

    #[test]
    fn a_reload_does_not_give_the_rate_again() {
        let before = Platforms::new(vec![platform(1.0, &[])]).unwrap();
        while before.by_username["a"].pace(1, Timestamp(0)).is_ok() {}
        let after = Platforms::new(vec![platform(1.0, &[])]).unwrap().after(&before);
        assert!(after.by_username["a"].pace(1, Timestamp(0)).is_err());
    }

    #[test]
    fn what_is_wrong_with_settings_is_named() {
        let twice = vec![platform(0.0, &[]), platform(-1.0, &["10.0.0.0/40"]), platform(0.0, &[])];
        let problems = Platforms::new(twice).unwrap_err();
        let fields: Vec<&str> = problems.iter().map(|problem| problem.field.as_str()).collect();
        assert_eq!(fields, ["platform[1].rate", "platform[1].allowed_ips", "platform[2].username"]);
    }

    #[test]
    fn a_password_is_never_printed() {
        assert!(!format!("{:?}", platform(1.0, &[])).contains("secret"));
    }
}

//! ChatLink leads from a person's own page to a bot of Telegram, which cannot write first: the person presses
//! Start there, the bot gets what the link carries, and the chat becomes a device of theirs.
//!
//! A link carries base64url of: when it was made, in seconds; the length of the account's name (0: the
//! default account), with the highest bit set where the person's id is a UUID, which then has 16 octets; the
//! name; the id; and a MAC over all of it. It holds for an hour, once, and for that person alone.

use super::own_page::{OwnPage, RefusedDevice, is_it};
use super::page_notes::PageNotes;
use super::people::{PersonLookup, address_of};
use super::phrases::{Phrase, say};
use crate::api::{EngineError, Links};
use crate::run::{Engine, routes_of, store_error};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use records::{Account, Inbound, Mode, Recipient, Route, ServiceCall, Timestamp};
use uuid::Uuid;

/// A link holds for so long, in seconds.
pub(super) const CHAT_LINK_S: i64 = 3_600;
/// Links of other processes may be from so far in the future, by their clocks, in seconds.
const AHEAD_S: i64 = 300;
/// Letters that a link carries at most (Bot API, "Deep Linking").
const PAYLOAD_LETTERS_MAX: usize = 64;
/// What is shorter is a word.
const PAYLOAD_LETTERS_MIN: usize = 16;
/// Octets of the MAC that are kept.
const MAC_OCTETS: usize = 9;
/// The id is a UUID.
const IS_UUID: u8 = 0x80;
/// Keeps the key from signing anything else by accident.
const PURPOSE: &str = "chat link";
/// The scheme of the addresses of chats.
const SCHEME: &str = "telegram:";
const SECOND_US: i64 = 1_000_000;

/// A link to a bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatLink {
    /// The bot's user name.
    pub bot: String,
    /// Leads to a chat with it.
    pub url: String,
}

/// Whom a link was made for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ChatStart {
    account: String,
    recipient: String,
    /// In whole seconds.
    made: Timestamp,
}

/// What came of a link.
pub(super) struct ChatReply {
    /// Whose account the chat belongs to.
    pub(super) account: Option<String>,
    pub(super) text: String,
    /// The chat is not connected.
    pub(super) is_refusal: bool,
}

/// Links to the bots that a person of this account can connect a chat with.
pub(super) fn links_for(engine: &Engine, account: &str, id: &str) -> Vec<ChatLink> {
    let (routes, rules, now) = (routes_of(engine), engine.services(), engine.parts().now());
    let start = ChatStart { account: account.to_owned(), recipient: id.to_owned(), made: now };
    let Some(payload) = start.payload(&*engine.parts().links) else { return Vec::new() };
    let mut links: Vec<ChatLink> = Vec::new();
    for bot in &rules.bots {
        let is_its = |route: &&Route| route.name == bot.route && serves(route, account);
        let is_live = routes.iter().find(is_its).is_some_and(|route| route.mode == Mode::Live);
        if is_live && !links.iter().any(|link| link.bot == bot.name) {
            let url = format!("https://t.me/{}?start={payload}", bot.name);
            links.push(ChatLink { bot: bot.name.clone(), url });
        }
    }
    links
}

fn serves(route: &Route, account: &str) -> bool {
    route.accounts.is_empty() || route.accounts.iter().any(|own| own == account)
}

/// What a link carried, where a message is the start of a chat by one. `START` alone is the word.
pub(crate) fn chat_payload(inbound: &Inbound) -> Option<&str> {
    if inbound.channel != channels::IM || !inbound.from.starts_with(SCHEME) {
        return None;
    }
    let (word, payload) = inbound.text.trim().split_once(' ')?;
    let is_letter = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_');
    let fits = (PAYLOAD_LETTERS_MIN..=PAYLOAD_LETTERS_MAX).contains(&payload.len());
    (word.eq_ignore_ascii_case("start") && fits && payload.bytes().all(is_letter)).then_some(payload)
}

impl ChatStart {
    /// What the link carries; nothing where the names have no room in it.
    fn payload(&self, links: &dyn Links) -> Option<String> {
        let account = if self.account == Account::DEFAULT { "" } else { &self.account };
        let uuid = Uuid::parse_str(&self.recipient).ok();
        let uuid = uuid.filter(|uuid| uuid.hyphenated().to_string() == self.recipient);
        let length = u8::try_from(account.len()).ok().filter(|length| length & IS_UUID == 0)?;
        let mut octets = u32::try_from(self.made.0 / SECOND_US).ok()?.to_be_bytes().to_vec();
        octets.push(length | if uuid.is_some() { IS_UUID } else { 0 });
        octets.extend_from_slice(account.as_bytes());
        match uuid {
            Some(uuid) => octets.extend_from_slice(uuid.as_bytes()),
            None => octets.extend_from_slice(self.recipient.as_bytes()),
        }
        let mac = links.keyed_hash(PURPOSE, &[&octets]);
        octets.extend_from_slice(&mac[..MAC_OCTETS]);
        let payload = BASE64_URL_SAFE_NO_PAD.encode(octets);
        (payload.len() <= PAYLOAD_LETTERS_MAX).then_some(payload)
    }

    /// Whom a link was made for; nothing where it was not made here. Its time may be over.
    fn read(links: &dyn Links, payload: &str) -> Option<ChatStart> {
        if payload.len() > PAYLOAD_LETTERS_MAX {
            return None;
        }
        let octets = BASE64_URL_SAFE_NO_PAD.decode(payload).ok()?;
        let (said, mac) = octets.split_at_checked(octets.len().checked_sub(MAC_OCTETS)?)?;
        if !is_same(mac, &links.keyed_hash(PURPOSE, &[said])[..MAC_OCTETS]) {
            return None;
        }
        let (made, rest) = said.split_first_chunk::<4>()?;
        let (&length, rest) = rest.split_first()?;
        let (account, id) = rest.split_at_checked(usize::from(length & !IS_UUID))?;
        let text = |octets: &[u8]| std::str::from_utf8(octets).ok().map(str::to_owned);
        let account = if account.is_empty() { Account::DEFAULT.to_owned() } else { text(account)? };
        let recipient = match length & IS_UUID {
            0 => text(id)?,
            _ => Uuid::from_slice(id).ok()?.hyphenated().to_string(),
        };
        let made = Timestamp(i64::from(u32::from_be_bytes(*made)) * SECOND_US);
        Some(ChatStart { account, recipient, made })
    }

    fn holds(&self, now: Timestamp) -> bool {
        now < self.made.plus_s(CHAT_LINK_S) && self.made <= now.plus_s(AHEAD_S)
    }
}

/// Compares in a time that does not depend on where they differ.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differ, (x, y)| differ | (x ^ y)) == 0
}

/// A chat that somebody started by a link.
pub(super) struct StartedChat<'a> {
    pub(super) engine: &'a Engine,
    pub(super) people: &'a PersonLookup,
    pub(super) call: &'a ServiceCall,
}

impl StartedChat<'_> {
    /// Makes the chat a device of the person whom the link was made for; gives what is said.
    ///
    /// # Errors
    /// The store's or the bus's.
    pub(super) async fn connect(&self, payload: &str) -> Result<ChatReply, EngineError> {
        let wrong = || reply(None, None, Phrase::ChatWrong);
        let Some(start) = ChatStart::read(&*self.engine.parts().links, payload) else { return Ok(wrong()) };
        let routes = routes_of(self.engine);
        let route = routes.iter().find(|route| route.name == self.call.inbound.route);
        if !route.is_some_and(|route| serves(route, &start.account)) {
            return Ok(wrong());
        }
        let store = self.engine.store();
        let found = store.recipient(&start.account, &start.recipient).await.map_err(store_error)?;
        let Some((person, _)) = found else { return Ok(wrong()) };
        let said = |phrase| Ok(reply(Some(&start), Some(&person), phrase));
        let (channel, address) = (channels::IM, self.call.inbound.from.as_str());
        if person.devices.iter().any(|device| is_it(device, channel, address)) {
            return said(Phrase::ChatKnown);
        }
        let notes = PageNotes::of(self.engine);
        let is_good = notes.is_chat_link_good(&start.account, &start.recipient, start.made)?;
        if !is_good || !start.holds(self.engine.parts().now()) {
            return said(Phrase::ChatOld);
        }
        if self.is_of_another(&start).await? {
            return said(Phrase::ChatTaken);
        }
        let from = channels::entry(channel, address);
        let own = OwnPage::of(self.engine, &start.account, &start.recipient, from);
        if let Some(refused) = own.refused(&person, channel, address).await? {
            return said(match refused {
                RefusedDevice::Stopped => Phrase::ChatStopped,
                RefusedDevice::TooMany => Phrase::ChatMany,
                RefusedDevice::Known => Phrase::ChatKnown,
                RefusedDevice::Channel | RefusedDevice::TooOften => Phrase::Failed,
            });
        }
        if !own.add_verified("service.device_add", channel, address).await? {
            return said(Phrase::Failed);
        }
        notes.use_chat_link(&start.account, &start.recipient, start.made).await?;
        said(Phrase::ChatAdded)
    }

    /// Whether the chat is a device of somebody else in the account.
    async fn is_of_another(&self, start: &ChatStart) -> Result<bool, EngineError> {
        let of = address_of(&start.account, channels::IM, &self.call.inbound.from);
        let addresses = std::iter::once(of.clone()).collect();
        let found = self.people.find(&self.engine.store(), addresses, |_| true).await?;
        Ok(found.get(&of).is_some_and(|people| people.iter().any(|person| person.id != start.recipient)))
    }
}

fn reply(start: Option<&ChatStart>, person: Option<&Recipient>, phrase: Phrase) -> ChatReply {
    ChatReply {
        account: start.map(|start| start.account.clone()),
        text: say(phrase, person.and_then(|person| person.language.as_deref()), &[]),
        is_refusal: !matches!(phrase, Phrase::ChatAdded | Phrase::ChatKnown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::KeyedHash;
    use records::{AlertNo, EndpointNo};
    use rustc_hash::FxBuildHasher;
    use std::hash::BuildHasher;

    /// Links under a key.
    struct Signed(u64);

    impl Links for Signed {
        fn link(&self, _: AlertNo, _: EndpointNo) -> Option<String> {
            None
        }

        fn keyed_hash(&self, purpose: &str, pieces: &[&[u8]]) -> KeyedHash {
            let mut hash = [0; 12];
            for (place, part) in hash.chunks_mut(4).enumerate() {
                let half = FxBuildHasher.hash_one((self.0, place, purpose, pieces)).to_le_bytes();
                part.copy_from_slice(&half[4..]);
            }
            hash
        }
    }

    const MADE: Timestamp = Timestamp(1_800_000_000_000_000);

    fn start(account: &str, recipient: &str) -> ChatStart {
        ChatStart { account: account.to_owned(), recipient: recipient.to_owned(), made: MADE }
    }

    #[test]
    fn a_link_leads_back_to_its_person_and_fits_into_sixty_four_letters() {
        for (account, recipient) in [
            ("default", "ext-77"),
            ("default", "\u{e5}sa"),
            ("default", "67e55044-10b1-426f-9247-bb680e5fe0c8"),
            ("default", "67E55044-10B1-426F-9247"),
            ("north", "67e55044-10b1-426f-9247-bb680e5fe0c8"),
            ("north", "ext-77"),
            ("default", &"x".repeat(34)),
        ] {
            let start = start(account, recipient);
            let payload = start.payload(&Signed(1)).unwrap();
            assert!((PAYLOAD_LETTERS_MIN..=PAYLOAD_LETTERS_MAX).contains(&payload.len()), "{payload}");
            assert_eq!(ChatStart::read(&Signed(1), &payload), Some(start), "{recipient}");
            assert_eq!(ChatStart::read(&Signed(2), &payload), None, "of another server: {recipient}");
        }
        assert_eq!(start("default", &"x".repeat(35)).payload(&Signed(1)), None);
        assert_eq!(start(&"n".repeat(200), "ext-77").payload(&Signed(1)), None);
    }

    #[test]
    fn a_changed_or_cut_link_is_nobodys() {
        let payload = start("north", "ext-77").payload(&Signed(1)).unwrap();
        for place in 0..payload.len() {
            let mut changed = payload.clone().into_bytes();
            changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(ChatStart::read(&Signed(1), &changed), None, "letter {place}");
            assert_eq!(ChatStart::read(&Signed(1), &payload[..place]), None, "cut at {place}");
        }
        for hostile in ["", "=", "\u{e5}\u{e5}\u{e5}\u{e5}", "AAAAAAAAAAAAAAAA", &"A".repeat(65)] {
            assert_eq!(ChatStart::read(&Signed(1), hostile), None, "{hostile}");
        }
    }

    #[test]
    fn a_link_holds_for_an_hour() {
        let start = start("default", "ext-77");
        for (after_s, holds) in [(-301, false), (-300, true), (0, true), (3_599, true), (3_600, false)] {
            assert_eq!(start.holds(MADE.plus_s(after_s)), holds, "{after_s}");
        }
    }

    #[test]
    fn a_start_with_a_link_is_no_word_and_a_word_is_no_link() {
        let said = |from: &str, text: &str| Inbound {
            channel: channels::IM,
            route: "telegram".into(),
            from: from.into(),
            to: "telegram:1".into(),
            text: text.into(),
            octets: None,
            of: None,
            at: MADE,
        };
        let payload = "AbCdEf-_0123456789";
        for (from, text, found) in [
            ("telegram:7", "start AbCdEf-_0123456789", true),
            ("telegram:7", "Start AbCdEf-_0123456789 ", true),
            ("telegram:7", "start", false),
            ("telegram:7", "start please", false),
            ("telegram:7", "start AbCdEf-_0123456789 now", false),
            ("telegram:7", "start AbCdEf+/0123456789", false),
            ("telegram:7", "join AbCdEf-_0123456789", false),
            ("matrix:@ann:x", "start AbCdEf-_0123456789", false),
        ] {
            assert_eq!(chat_payload(&said(from, text)), found.then_some(payload), "{from} {text}");
        }
    }
}

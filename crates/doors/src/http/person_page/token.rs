//! Tokens of links to people's own pages: `/p/TOKEN` stands for one person until its time is over.
//!
//! A token is base64url of: when it was made, in seconds; the length of the account's name (0: the default
//! account) and the name; the person's id; the first 96 bits of HMAC-SHA256 over all of it, under the key of
//! the answer links and a purpose of its own.

use crate::http::answer_page::links::{AnswerLinks, TAG_OCTETS, put_number, same, take_number};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use records::{Account, Timestamp};

/// Prefixes of the signed octets, so that the key cannot sign anything else by accident.
const PURPOSE: &[u8] = b"campanile person page 1\0";
const FORM_PURPOSE: &[u8] = b"campanile person form 1\0";
const HASH_PURPOSE: &[u8] = b"campanile keyed hash 1\0";
/// Octets of an account's name and of a person's id.
const NAME_OCTETS_MAX: usize = 128;
/// Characters of the longest token: base64 of its octets.
const TOKEN_CHARS_MAX: usize = (10 + 2 + 2 * NAME_OCTETS_MAX + TAG_OCTETS).div_ceil(3) * 4;
const SECOND_US: i64 = 1_000_000;

/// Whose page a token leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageToken {
    pub account: String,
    pub recipient: String,
    /// When it was made, in whole seconds.
    pub made: Timestamp,
}

impl PageToken {
    /// Until when it holds.
    pub(crate) fn until(&self) -> Timestamp {
        self.made.plus_s(engine::PAGE_LINK_S)
    }
}

impl AnswerLinks {
    /// The link to a person's own page, made now, and until when it holds; nothing if no public address is
    /// configured, or the names are longer than names can be.
    pub(crate) fn page_link(
        &self,
        account: &str,
        recipient: &str,
        now: Timestamp,
    ) -> Option<(String, Timestamp)> {
        let made = Timestamp(now.0 - now.0.rem_euclid(SECOND_US));
        let page = PageToken { account: account.to_owned(), recipient: recipient.to_owned(), made };
        Some((format!("{}/p/{}", self.public_url()?, self.page_token(&page)?), page.until()))
    }

    /// The token of a page; nothing if the names are longer than names can be.
    pub(crate) fn page_token(&self, page: &PageToken) -> Option<String> {
        let account = if page.account == Account::DEFAULT { "" } else { &page.account };
        if account.len() > NAME_OCTETS_MAX || page.recipient.len() > NAME_OCTETS_MAX {
            return None;
        }
        let mut octets = Vec::with_capacity(64);
        put_number(&mut octets, u64::try_from(page.made.0 / SECOND_US).ok()?);
        put_number(&mut octets, account.len() as u64);
        octets.extend_from_slice(account.as_bytes());
        octets.extend_from_slice(page.recipient.as_bytes());
        let mac = self.mac(PURPOSE, &[&octets]);
        octets.extend_from_slice(&mac);
        Some(URL_SAFE_NO_PAD.encode(octets))
    }

    /// Whose page a token leads to; nothing if we did not make it. Its time may be over.
    pub(crate) fn read_page(&self, token: &str) -> Option<PageToken> {
        if token.len() > TOKEN_CHARS_MAX {
            return None;
        }
        let octets = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (said, mac) = octets.split_at_checked(octets.len().checked_sub(TAG_OCTETS)?)?;
        if !same(mac, &self.mac(PURPOSE, &[said])) {
            return None;
        }
        let mut rest = said;
        let made = i64::try_from(take_number(&mut rest)?).ok()?.checked_mul(SECOND_US)?;
        let length = usize::try_from(take_number(&mut rest)?).ok()?;
        let (account, recipient) = rest.split_at_checked(length)?;
        let text = |octets: &[u8]| std::str::from_utf8(octets).ok().map(str::to_owned);
        let account = if account.is_empty() { Account::DEFAULT.to_owned() } else { text(account)? };
        Some(PageToken { account, recipient: text(recipient)?, made: Timestamp(made) })
    }

    /// What the forms of a page repeat: nobody without the token knows it.
    pub(crate) fn page_form(&self, token: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.mac(FORM_PURPOSE, &[token.as_bytes()]))
    }

    /// See [`engine::Links::keyed_hash`]: each piece is hashed with its length.
    pub(crate) fn hash_of(&self, purpose: &str, pieces: &[&[u8]]) -> engine::KeyedHash {
        let mut octets = Vec::with_capacity(128);
        for piece in std::iter::once(&purpose.as_bytes()).chain(pieces) {
            octets.extend_from_slice(&(piece.len() as u64).to_be_bytes());
            octets.extend_from_slice(piece);
        }
        self.mac(HASH_PURPOSE, &[&octets])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::{CallbackTarget, LINK_KEY_OCTETS};
    use proptest::prelude::*;
    use records::{AlertNo, EndpointNo};

    const NOW: Timestamp = Timestamp(1_794_983_200_500_000);

    fn links() -> AnswerLinks {
        AnswerLinks::new(&[7; LINK_KEY_OCTETS], Some("https://alerts.example/"))
    }

    fn page(account: &str, recipient: &str, made: u32) -> PageToken {
        let made = Timestamp(i64::from(made) * SECOND_US);
        PageToken { account: account.to_owned(), recipient: recipient.to_owned(), made }
    }

    #[test]
    fn a_link_is_short_holds_for_thirty_days_and_leads_to_its_person() {
        let (link, until) = links().page_link(Account::DEFAULT, "ext-77", NOW).unwrap();
        assert!(link.starts_with("https://alerts.example/p/") && link.len() <= 25 + 32, "{link}");
        let read = links().read_page(link.rsplit('/').next().unwrap()).unwrap();
        assert_eq!((read.account.as_str(), read.recipient.as_str()), ("default", "ext-77"));
        assert_eq!(read.until(), until);
        assert_eq!(NOW.us_since(read.made), 500_000);
        assert_eq!(AnswerLinks::new(&[7; LINK_KEY_OCTETS], None).page_link("a", "b", NOW), None);
        assert_eq!(links().page_link("a", &"b".repeat(NAME_OCTETS_MAX + 1), NOW), None);
    }

    #[test]
    fn tokens_of_other_pages_lead_to_nobody() {
        let links = links();
        assert_eq!(links.read_page(&links.token(AlertNo(1), EndpointNo(2))), None);
        let callback = links.callback_token(&CallbackTarget::Delivery(AlertNo(1), EndpointNo(2)));
        assert_eq!(links.read_page(&callback), None);
        let token = links.page_token(&page("a", "b", 1)).unwrap();
        assert_eq!(AnswerLinks::new(&[8; LINK_KEY_OCTETS], None).read_page(&token), None);
        assert_ne!(links.page_form(&token), links.page_form(&links.page_token(&page("a", "b", 2)).unwrap()));
    }

    #[test]
    fn pieces_that_are_cut_elsewhere_have_another_hash() {
        let hash = |pieces: &[&[u8]]| links().hash_of("x", pieces);
        assert_ne!(hash(&[b"ab", b"c"]), hash(&[b"a", b"bc"]));
        assert_ne!(hash(&[b"a"]), links().hash_of("y", &[b"a"]));
    }

    proptest! {
        #[test]
        fn every_person_has_tokens_of_their_own(account in "[a-z]{1,20}", recipient in ".{0,30}", made: u32) {
            let wanted = page(&account, &recipient, made);
            let token = links().page_token(&wanted).unwrap();
            prop_assert!(token.len() <= TOKEN_CHARS_MAX);
            prop_assert_eq!(links().read_page(&token), Some(wanted));
        }

        #[test]
        fn a_changed_token_is_nobodys(recipient in ".{0,30}", at: prop::sample::Index, bit in 0u8..8) {
            let token = links().page_token(&page("a", &recipient, 5)).unwrap();
            let mut octets = URL_SAFE_NO_PAD.decode(token).unwrap();
            let at = at.index(octets.len());
            octets[at] ^= 1 << bit;
            prop_assert_eq!(links().read_page(&URL_SAFE_NO_PAD.encode(&octets)), None);
        }

        #[test]
        fn no_text_whatever_makes_it_fall(text in ".{0,500}") {
            prop_assert_eq!(links().read_page(&text), None);
        }
    }
}

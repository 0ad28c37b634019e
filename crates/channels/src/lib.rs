//! Channels as engine, store and doors see them: addresses, texts, traits. One file a channel, one list of
//! them.
//!
//! A channel is a file of this crate with a type that implements [`Channel`], and a line in the list below.
//! Names in the API, columns of CSV files, enums of `/openapi.json`, help of the command line come from
//! [`ALL`]. How to speak to the world outside is the business of the channel's folder in `gateway`.
//!
//! Architecture Invariant: outside this crate and that folder nobody asks which channel it is, but for three
//! places: messages of platforms are short messages ([`SMS`]), the SMTP door hears answers to mail
//! ([`MAIL`]), and the topic door has the sessions of the line protocol ([`LINE`]).

pub mod adapt;
mod addr_spec;
mod characters;
mod content;
pub mod courtesies;
mod defaults;
pub mod drill;
pub mod languages;
pub mod legible;
mod list;
mod message_part;
mod number;
mod phone;
mod transliterate;

pub use characters::{decimal_digit, is_invisible};
pub use content::Part;
pub use defaults::Defaults;
pub use list::{
    NoChannel, address, before_colon, canonical, endpoint, entry, key, meant, meant_surely, name, named,
    names, not_built, number, numbers, of, shown, traits, words_before_colon,
};
pub use message_part::MessagePart;
pub use transliterate::in_ascii;

use records::{AlertNo, AlertRequest, ChannelNumber, Content, EndpointNo};
use std::borrow::Cow;

/// An address in normal form: two that reach the same device are equal.
pub type Address = String;

/// Whether a phone number in normal form can belong to somebody, by what its country gives out.
pub fn is_assignable_number(number: &str) -> bool {
    number::is_assignable(number)
}

/// Declares a channel a line: `CONSTANT = file::Type`. A line's place is the channel's number, which stands
/// in stored records: a new channel comes last, and none is ever taken out.
macro_rules! channels {
    ($($constant:ident = $file:ident :: $channel:ident),* $(,)?) => {
        $(mod $file;)*
        $(
            #[doc = concat!("The number of the channel in `", stringify!($file), ".rs`.")]
            pub const $constant: ChannelNumber = ChannelNumber(Place::$constant as u8);
        )*
        /// Places in the list.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Place { $($constant),* }
        /// How many channels there are.
        pub const COUNT: usize = [$(Place::$constant as u8),*].len();
        /// All channels, by number: the order in which a recipient without an order of their own is tried.
        pub static ALL: &[&dyn Channel] = &[$(&$file::$channel),*];
    };
}

channels! {
    SMS = sms::SmsChannel,
    MAIL = mail::MailChannel,
    TOPIC = topic::TopicChannel,
    EDGE = edge::EdgeChannel,
    FILE = file::FileChannel,
    PAGER = pager::PagerChannel,
    WEBHOOK = webhook::WebhookChannel,
    MQTT = mqtt::MqttChannel,
    IM = im::ImChannel,
    LINE = line::LineChannel,
}

/// A way of reaching a device, as far as it must be known without speaking its protocol.
pub trait Channel: Sync {
    /// Its place in [`ALL`].
    fn number(&self) -> ChannelNumber;

    /// Its name in the API, in the config and before an address: `sms:+46701234567`. Lower case, `a`–`z`
    /// only.
    fn name(&self) -> &'static str;

    /// What its addresses begin with, where they are of several networks: `matrix` of `matrix:@a:b`. Lower
    /// case, `a`–`z` only. An entry of an audience is such an address alone, without the channel's name.
    fn schemes(&self) -> &'static [&'static str] {
        &[]
    }

    /// An address of it, for help and examples: without the name before it.
    fn example(&self) -> &'static str;

    /// What people call its addresses where they do not know its name, in small letters without blanks and
    /// signs: `phone` for a column that should be `sms`.
    fn other_names(&self) -> &'static [&'static str] {
        &[]
    }

    /// Those of [`Channel::other_names`] that may mean something else, such as `telefon` beside `mobil`: they
    /// count where no other name does.
    fn vague_names(&self) -> &'static [&'static str] {
        &[]
    }

    /// The form of its addresses in a few words: "a number in E.164 form".
    fn form(&self) -> &'static str;

    /// The normal form of an address as somebody wrote it. Normal forms are their own normal form, whatever
    /// the defaults. There is no other check of addresses in the program.
    ///
    /// # Errors
    /// What is wrong with it, in words that name it.
    fn address(&self, text: &str, defaults: &Defaults) -> Result<Address, String>;

    /// What all ways to write an address in normal form have in common: addresses with one key reach one
    /// device. An address is kept and used as it was written, and compared by its key.
    fn key<'a>(&self, address: &'a str) -> Cow<'a, str> {
        Cow::Borrowed(address)
    }

    /// The one form of an address as anybody writes it, a network, a platform or a person: two that reach the
    /// same device are equal: the key of its normal form. Of what is no address it is the text without blanks
    /// around it.
    fn canonical<'t>(&self, text: &'t str, defaults: &Defaults) -> Cow<'t, str> {
        match self.address(text, defaults) {
            Ok(address) => Cow::Owned(self.key(&address).into_owned()),
            Err(_) => Cow::Borrowed(text.trim()),
        }
    }

    /// An address as lists, reports, logs and errors show it: without what is a secret in it.
    fn shown<'a>(&self, address: &'a str) -> Cow<'a, str> {
        Cow::Borrowed(address)
    }

    /// The beginning of addresses that a route may be limited to.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    fn check_prefix(&self, prefix: &str) -> Result<(), String> {
        if prefix.is_empty() { Err("is empty".to_owned()) } else { Ok(()) }
    }

    /// The texts of an alert for this channel in one of the alert's languages (`None`: the default), before
    /// placeholders are filled in and without the mark of a drill. Nothing if the alert has no text for it.
    fn content(&self, request: &AlertRequest, language: Option<&str>) -> Option<Content> {
        Some(Content::of_text(content::text(request, language, self.number())?))
    }

    /// Fills in what follows from the text once placeholders are filled in.
    fn complete(&self, _content: &mut Content) {}

    /// What holds for the channel as such.
    fn traits(&self) -> Traits;

    /// The parts of `texts.CHANNEL` in an alert. With the text alone the value is a string, otherwise a
    /// string (the text) or an object of the parts.
    fn parts(&self) -> &'static [Part] {
        &[Part::Text]
    }

    /// The OpenAPI schema of `texts.CHANNEL`.
    fn schema(&self) -> serde_json::Value {
        content::schema(self.parts())
    }

    /// The key by which receipts of an attempt are known before the network has given it an id; nothing if
    /// only an id of the network's will do.
    fn own_key(&self, _alert: AlertNo, _endpoint: EndpointNo) -> Option<u64> {
        None
    }
}

/// What holds for a channel as such; a route, an alert or a person may narrow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traits {
    /// The network tells what became of a message: the default of a route's `receipts`.
    pub receipts: bool,
    /// A person can answer by the channel itself.
    pub replies: bool,
    /// A message can carry the link to its answer page.
    pub reply_link: bool,
    /// A text that asks for an answer ends with a line of the choices.
    pub choices_line: bool,
    /// A person can say stop by the channel itself.
    pub opt_out: bool,
    /// A message that is sent again leaves no second copy.
    pub repeatable: bool,
    /// The far end can be asked what became of a message before it is called unknown.
    pub askable: bool,
    /// A text has room for the mark of a drill at its end, too.
    pub mark_last: bool,
    /// The headline is shown as the beginning of the text.
    pub headline_in_text: bool,
    /// Devices speak: no text is shown.
    pub speaks: bool,
    /// Who is not there now may come: after a refusal for now the person's next device follows at once, and
    /// this one is tried again as long as the alert lasts, and when they come.
    pub presence: bool,
}

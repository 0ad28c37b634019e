//! Channels as engine, store and doors see them: addresses, texts, traits. One file a channel, one list of
//! them.
//!
//! A channel is a file of this crate with a type that implements [`Channel`], and a line in the list below.
//! Names in the API, columns of CSV files, enums of `/openapi.json`, help of the command line come from
//! [`ALL`]. How to speak to the world outside is the business of the channel's folder in `gateway`.
//!
//! Architecture Invariant: outside this crate and that folder nobody asks which channel it is, but for two
//! places: messages of platforms are short messages ([`SMS`]), and the SMTP door hears answers to mail
//! ([`MAIL`]).

mod addr_spec;
mod content;
mod defaults;
pub mod drill;
mod list;
mod phone;

pub use content::Part;
pub use defaults::Defaults;
pub use list::{
    NoChannel, address, endpoint, meant, name, named, names, not_built, number, numbers, of, traits,
};

use records::{AlertNo, AlertRequest, ChannelNumber, Content, EndpointNo};

/// An address in normal form: two that reach the same device are equal.
pub type Address = String;

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
}

/// A way of reaching a device, as far as it must be known without speaking its protocol.
pub trait Channel: Sync {
    /// Its place in [`ALL`].
    fn number(&self) -> ChannelNumber;

    /// Its name in the API, in the config and before an address: `sms:+46701234567`. Lower case, `a`–`z`
    /// only.
    fn name(&self) -> &'static str;

    /// An address of it, for help and examples: without the name before it.
    fn example(&self) -> &'static str;

    /// What people call its addresses where they do not know its name, in small letters without blanks and
    /// signs: `phone` for a column that should be `sms`.
    fn other_names(&self) -> &'static [&'static str] {
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
}

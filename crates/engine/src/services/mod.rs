//! Services that people use from their devices by a word: what they are in, groups, subscriptions, language,
//! quiet hours, their own page, and alerts that were prepared.
//!
//! The actor appends messages that are service words, or that nobody understands, to a topic. The desk
//! ([`desk`]) takes them from there, finds who has the address ([`people`]), does what they ask
//! ([`acts`]) and replies by the device they wrote from ([`replies`]). It replies to nobody who is not known,
//! and to nobody too often ([`guard`]): no loop of two programs lasts. The same acts, and
//! those with devices, are on a page of the person's own ([`own_page`]), which also leads to a chat with a
//! bot ([`chat_link`]).

mod acts;
mod chat_link;
mod desk;
mod groups;
mod guard;
mod joining;
mod logins;
mod own_page;
mod page_notes;
mod people;
mod phrases;
mod prepared;
mod replies;

pub(crate) use acts::SUBSCRIPTIONS;
pub use chat_link::ChatLink;
pub(crate) use chat_link::chat_payload;
pub(crate) use desk::ServiceDesk;
pub use joining::{JoinRequest, Joining};
pub use logins::{LoginDevice, Logins};
pub use own_page::{
    CodeResult, GroupStanding, JoinResult, OwnPage, PageAct, PageGroup, PageView, RefusedDevice,
};
pub(crate) use page_notes::PageNotes;
pub use page_notes::{CODE_MINUTES, WaitingDevice};

use crate::inbound_text::ServiceWord;
use records::{AlertRequest, Mode};

/// What people may do from their devices.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServiceRules {
    /// Service words are understood.
    pub enabled: bool,
    /// Words of the config, beside the field's own.
    pub words: Vec<ServiceWord>,
    /// Who replies; empty: nobody is named.
    pub organisation: String,
    /// Alerts that were prepared to be sent from a device.
    pub prepared: Vec<PreparedAlert>,
    /// Bots whose chats are connected by a link on people's pages.
    pub bots: Vec<ChatBot>,
}

/// A bot of Telegram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatBot {
    /// The route that speaks for it.
    pub route: String,
    /// Its user name.
    pub name: String,
}

/// An alert that somebody may send from a device, by its name and a PIN.
#[derive(Clone, PartialEq)]
pub struct PreparedAlert {
    /// Its name, one word.
    pub name: String,
    /// Who may send it: `recipient:ID` and `group:NAME`.
    pub who: Vec<String>,
    /// What they must know.
    pub pin: String,
    /// What is sent; its end is counted from then on.
    pub request: AlertRequest,
    /// How long it is tried, seconds.
    pub tried_s: u32,
}

impl std::fmt::Debug for PreparedAlert {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PreparedAlert").field("name", &self.name).finish_non_exhaustive()
    }
}

impl PreparedAlert {
    /// Live, or a drill.
    pub fn mode(&self) -> Mode {
        self.request.mode
    }
}

//! Gateways: one folder a channel, each with the same modules (config, encode, session, outcome).
//!
//! - [`GatewayContext`], [`RunningGateway`]: the handles that every gateway is given, and the handle of a
//!   running one.
//! - [`dispatcher`]: from segments on the bus to entries that may be written, and their outcomes.
//! - [`registry`]: the list of gateways, one a channel.
//! - [`route_keys`]: keys of a `[[route]]` that all channels have.
//! - [`route_loop`]: opens, drains and reloads a route, and shares its rate, for every channel.
//! - [`journal`]: appends outcomes to their topic before anybody acts on them; recovery after a crash.
//! - [`cluster`]: gateways of several processes: claims of segments, shares of rates.
//! - [`funds`]: reserves money before anything is written. [`documents`]: CAP and attachments of an alert.
//! - [`sms`]: SMPP. [`mail`]: SMTP. [`topic`]: text topics. [`edge`]: files for sites, by paced UDP.
//!   [`pager`]: SNPP, and SMTP to paging carriers. [`webhook`]: devices and systems, by HTTP. [`mqtt`]:
//!   devices at a broker. [`im`]: Matrix and Telegram. [`line`]: sessions at the topic door. [`notice`]:
//!   callbacks, by HTTP.

mod callback_urls;
pub mod cluster;
#[cfg(test)]
mod conformance;
pub mod context;
pub mod dispatcher;
pub mod documents;
pub mod funds;
mod http_calls;
pub mod journal;
pub mod notice;
pub mod registry;
pub mod route_keys;
pub mod route_loop;
mod surroundings;
mod tls_words;
mod worker;

/// Declares a channel a line: `folder::Gateway`. A new channel is its folder, its file in the crate
/// `channels`, and a line in the list of each.
macro_rules! gateways {
    ($($folder:ident :: $gateway:ident),* $(,)?) => {
        $(pub mod $folder;)*
        /// The gateways of all channels.
        pub static GATEWAYS: &[&dyn Gateway] = &[$(&$folder::$gateway),*];
    };
}

gateways! {
    sms::SmsGateway,
    mail::MailGateway,
    topic::TopicGateway,
    edge::EdgeGateway,
    file::FileGateway,
    pager::PagerGateway,
    webhook::WebhookGateway,
    mqtt::MqttGateway,
    im::ImGateway,
    line::LineGateway,
}

pub use callback_urls::CallbackUrls;
pub use context::{Behind, Clock, GatewayContext, RouteProblem, RunningGateway, Stop, WriteObserver};
pub use dispatcher::AccountLimits;
pub use documents::{AlertDocuments, AttachedFile, DocumentSet, NoDocuments};
pub use funds::Funds;
pub use registry::{AnyRoute, Gateway, Simulator, SimulatorOptions};
pub use route_loop::{ChangeScope, Changed, RouteSettings};
pub use settings::Secret;
pub use surroundings::Surroundings;

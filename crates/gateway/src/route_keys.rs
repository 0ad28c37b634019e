//! Keys of a `[[route]]` that all channels have. The keys of one channel stand in its folder.

use records::{ChannelNumber, Mode};
use settings::{AllowedWord, Node, Problems, Schema, ValueFormat, read_parsed, section, words};
use std::time::Duration;

section! {
    /// Routes: carriers, relays and other ways out, at most 500. A route has the keys of its channel beside
    /// those of all routes.
    RouteKeys {
        /// Its name, unique: letters, digits, `-`, `_` and `.` (not first), at most 100. It names topics on
        /// disk: a renamed route loses the messages that wait for it.
        #[manual(required, example = "carrier-1")]
        name: String = String::new(),
        /// Its channel: what it carries, and by which protocol. Each channel has keys of its own.
        #[manual(required, example = "sms")]
        channel: Option<ChannelNumber> as Option<ChannelName> = None,
        /// Live alerts use live routes only, drills drill routes only.
        #[manual(required, example = "live")]
        mode: Option<Mode> as Option<ModeWords> = None,
        /// `host:port` of the SMSC or relay, for channels that connect to one.
        #[manual(default = "none; needed unless `sim` is true", example = "smsc.example:2775")]
        address: Option<String> = None,
        /// Instead of an address: a simulator in this process answers, by a real listener; reports then show
        /// `simulated`.
        sim: bool = false,
        /// Messages per second over all sessions, for SMS parts, for edge sites copies that are begun; 0 is
        /// unlimited.
        #[manual(example = 5.0)]
        rate: f64 = 0.0,
        /// Beginnings of addresses that the route is for; for SMS such as `"+46"`. None: all.
        #[manual(example = ["+46", "+47"])]
        prefixes: Vec<String> = Vec::new(),
        /// Senders whose messages it is for. None: all.
        #[manual(example = ["CITY", "+4670000"])]
        senders: Vec<String> = Vec::new(),
        /// Accounts whose messages it is for. None: all.
        #[manual(example = ["default"])]
        accounts: Vec<String> = Vec::new(),
        /// Among routes that fit, lower goes first.
        priority: i32 = 0,
        /// Minor units for a part, at least 0; among equal priorities lower goes first.
        cost: i64 = 0,
        /// Share among routes that are equal otherwise; at least 1.
        weight: u32 = 1,
        /// Longest time in which a message is tried, by this server and by the network; for SMS at most 99d.
        /// Of an edge route: how long a push goes on, 1s to 24h; until then late sites get the archive too.
        #[manual(default = "the alert's own end; 10m of an edge route", example = "24h")]
        validity: Option<Duration> = None,
        /// Whether the network sends receipts: a delivery that waits for one may wait for it.
        #[manual(default = "as networks of the channel do: true for sms and edge", example = true)]
        receipts: Option<bool> = None,
    }
}

/// A channel by its name.
#[derive(Debug)]
pub enum ChannelName {}

impl ValueFormat for ChannelName {
    type Value = ChannelNumber;

    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<ChannelNumber> {
        read_parsed(node, path, problems, channels::number)
    }

    fn write(value: &ChannelNumber) -> Option<String> {
        Some(settings::format_text(channels::name(*value)))
    }

    fn schema() -> Schema {
        let word =
            |gateway: &&dyn crate::Gateway| AllowedWord { word: channels::name(gateway.channel()), doc: "" };
        Schema::Words(crate::registry::ALL.iter().map(word).collect())
    }
}

words! {
    /// The mode of a route or a client.
    ModeWords for Mode {
        /// Live alerts.
        Live = "live",
        /// Drills.
        Drill = "drill",
    }
}

impl RouteKeys {
    /// The address that is connected to.
    pub(crate) fn peer(&self) -> String {
        self.address.clone().unwrap_or_default()
    }

    /// Seconds of `validity`.
    pub fn validity_s(&self) -> Option<u32> {
        self.validity.map(|validity| u32::try_from(validity.as_secs()).unwrap_or(u32::MAX))
    }
}

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
        /// Its channel. Each channel has its own protocol and keys.
        #[manual(required, example = "sms")]
        channel: Option<ChannelNumber> as Option<ChannelName> = None,
        /// Live alerts use live routes only, drills drill routes only.
        #[manual(required, example = "live")]
        mode: Option<Mode> as Option<ModeWords> = None,
        /// `host:port` of the SMSC or relay, for channels that connect to one.
        #[manual(default = "none; needed unless `sim` is true", example = "smsc.example:2775")]
        address: Option<String> = None,
        /// Instead of an address: the route connects to a simulator in this process, over a real socket;
        /// reports then show `simulated`.
        sim: bool = false,
        /// Messages per second over all sessions (SMS: parts; edge sites: pushes begun); 0 is unlimited.
        #[manual(example = 5.0)]
        rate: f64 = 0.0,
        /// The route whose carrier account it has too, as a drill route has that of a live one: both
        /// together send no more than `rate`, which is the same in both, and the route that is named goes
        /// first. Of the same channel, and itself without `shares`.
        #[manual(default = "none: an account of its own", example = "carrier-1")]
        shares: Option<String> = None,
        /// Prefixes of the addresses that the route takes; for SMS such as `"+46"`. None: all (of channel
        /// `im`: those of its network).
        #[manual(example = ["+46", "+47"])]
        prefixes: Vec<String> = Vec::new(),
        /// Senders whose messages it takes. None: all.
        #[manual(example = ["CITY", "+4670000"])]
        senders: Vec<String> = Vec::new(),
        /// Accounts whose messages it takes. None: all.
        #[manual(example = ["default"])]
        accounts: Vec<String> = Vec::new(),
        /// Among routes that take a message, the lowest priority goes first.
        priority: i32 = 0,
        /// Minor units for a part, at least 0; among equal priorities the lowest cost goes first.
        cost: i64 = 0,
        /// Share among routes that are equal otherwise; at least 1.
        weight: u32 = 1,
        /// Longest time in which this server and the network try a message; for SMS at most 99d. On an edge
        /// route: duration of a push, 1s to 24h; sites that connect late, but within it, get the archive too.
        #[manual(default = "the alert's own end; 10m of an edge route", example = "24h")]
        validity: Option<Duration> = None,
        /// Whether the network sends receipts. If not, no delivery waits for one.
        #[manual(default = "as networks of the channel do: true for sms, edge, and im by Matrix", example = true)]
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

use crate::behaviour::{Behaviour, SLOW_ANSWER};
use crate::chance::Delay;
use crate::town::Habits;
use mqtt::check_topic_filter;
use serde::{Deserialize, Serialize};

/// What the broker is and does: a scenario. Every field has a default that gives a broker without faults and
/// without devices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BrokerOptions {
    /// Where it listens; port 0 takes a free one.
    pub listen: String,
    /// Where its page and its JSON are; nothing: nowhere.
    pub control: Option<String>,
    /// User name and password that a client must have; nothing: anybody may connect.
    pub login: Option<BrokerLogin>,
    /// A simulated device listens on every topic that this filter matches; nothing: on none.
    pub devices: Option<String>,
    /// What the devices do with their messages, as phones would; nothing: they confirm them and say nothing.
    pub people: Option<Habits>,
    /// How long the acknowledgement of a message takes.
    pub latency: Delay,
    /// Share of the messages of QoS 1 that are refused.
    pub refused: f64,
    /// Reason Code of those, from 128 on: 135 is Not authorized, 151 Quota exceeded.
    pub refused_with: u8,
    /// Receive Maximum: messages of a client that may be unacknowledged.
    pub receive_maximum: u16,
    /// Maximum Packet Size, octets.
    pub packet_octets_max: u32,
    /// So many of the last messages are kept to be looked at.
    pub keep: usize,
    /// Messages are counted by topic and id, to find repeats.
    pub count: bool,
    /// Decides whom the shares hit.
    pub seed: u64,
}

/// Who may connect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrokerLogin {
    /// User name.
    pub username: String,
    /// Its password.
    pub password: String,
}

impl Default for BrokerOptions {
    fn default() -> Self {
        BrokerOptions {
            listen: "127.0.0.1:0".to_owned(),
            control: None,
            login: None,
            devices: None,
            people: None,
            latency: Delay::NONE,
            refused: 0.0,
            refused_with: 0x97,
            receive_maximum: 1_000,
            packet_octets_max: 256 * 1024,
            keep: 1_000,
            count: true,
            seed: 1,
        }
    }
}

/// At most so many messages are kept in memory.
const KEEP_MAX: usize = 1_000_000;

impl BrokerOptions {
    /// A device on every topic, everything taken at once and counted, nothing kept: what a load is measured
    /// against.
    pub fn sink() -> Self {
        BrokerOptions { devices: Some("#".to_owned()), keep: 0, ..BrokerOptions::default() }
    }

    /// Reads a scenario file.
    ///
    /// # Errors
    /// What is wrong with it, in words, with the line where there is one.
    pub fn from_toml(text: &str) -> Result<Self, String> {
        let options: BrokerOptions = toml::from_str(text).map_err(|error| error.to_string())?;
        options.check()?;
        Ok(options)
    }

    /// The same scenario with another behaviour.
    pub(super) fn behaving(&self, behaviour: Behaviour) -> Result<BrokerOptions, String> {
        let mut options = self.clone();
        match behaviour {
            Behaviour::Works | Behaviour::Down => {}
            Behaviour::Slow => options.latency = SLOW_ANSWER,
            Behaviour::WithoutReceipts => {
                return Err("a broker sends no receipts: devices confirm".to_owned());
            }
        }
        Ok(options)
    }

    /// Checks what a scenario may get wrong.
    ///
    /// # Errors
    /// The first field that cannot be, with its limit.
    pub fn check(&self) -> Result<(), String> {
        if let Some(why) = self.devices.as_deref().and_then(|filter| check_topic_filter(filter).err()) {
            return Err(format!("devices: {why}"));
        }
        if !(0.0..=1.0).contains(&self.refused) {
            return Err(format!("refused: a share of {} is not between 0 and 1", self.refused));
        }
        if self.refused_with < 0x80 {
            return Err(format!("refused_with: {} is no failure, which is 128 to 255", self.refused_with));
        }
        if self.receive_maximum == 0 {
            return Err("receive_maximum: at least 1".to_owned());
        }
        if self.packet_octets_max < 64 {
            return Err("packet_octets_max: at least 64".to_owned());
        }
        if self.keep > KEEP_MAX {
            return Err(format!("keep: {} is over the limit of {KEEP_MAX}", self.keep));
        }
        self.people.as_ref().map_or(Ok(()), Habits::check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_reads_from_toml_and_what_cannot_be_is_refused_by_field() {
        let text = "devices = \"sirens/#\"\nlatency = \"5ms\"\nrefused = 0.1\nrefused_with = 135\n[people]\nseed = 4\n";
        let options = BrokerOptions::from_toml(text).unwrap();
        assert_eq!((options.refused_with, options.people.map(|people| people.seed)), (0x87, Some(4)));
        for (text, word) in [
            ("devices = \"a#\"", "devices"),
            ("refused = 1.5", "refused"),
            ("refused_with = 16", "refused_with"),
            ("receive_maximum = 0", "receive_maximum"),
            ("packet_octets_max = 1", "packet_octets_max"),
            ("keep = 100000000", "keep"),
            ("lissten = \"x\"", "lissten"),
        ] {
            let error = BrokerOptions::from_toml(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}

use serde::{Deserialize, Serialize};

/// A way of reaching a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Channel {
    /// Short messages, by SMPP.
    Sms = 0,
    /// Mail, by SMTP.
    Mail = 1,
    /// Text topics, for displays and scripts, by the topic protocol.
    Topic = 2,
    /// Files for edge sites: sirens, signs, studios; by paced UDP.
    Edge = 3,
}

/// Channels the design names that a later version builds. They are refused by name.
const PLANNED: [&str; 6] = ["pager", "voice", "fax", "im", "webhook", "push"];

impl Channel {
    /// All channels that exist, in the order a recipient without an order of their own is tried.
    pub const ALL: [Channel; 4] = [Channel::Sms, Channel::Mail, Channel::Topic, Channel::Edge];

    /// The channel's name, as in `sms:+46701234567`.
    pub fn name(self) -> &'static str {
        match self {
            Channel::Sms => "sms",
            Channel::Mail => "mail",
            Channel::Topic => "topic",
            Channel::Edge => "edge",
        }
    }
}

impl std::fmt::Display for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Channel {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "sms" => Ok(Channel::Sms),
            "mail" => Ok(Channel::Mail),
            "topic" => Ok(Channel::Topic),
            "edge" => Ok(Channel::Edge),
            planned if PLANNED.contains(&planned) => Err(format!("channel {planned} is not built yet")),
            other => Err(format!("channel {other:?} is unknown; channels are sms, mail, topic, edge")),
        }
    }
}

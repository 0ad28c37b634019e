//! Known facts that complete an address: the region of national numbers, the names a channel's sites have.

use phonenumber::country::Id;
use records::ChannelNumber;
use std::sync::Arc;

/// Names shown to the sender of an unknown one.
const NAMES_SHOWN: usize = 5;

/// What is known of addresses here: what fills in a part that one leaves out, and which names there are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Defaults {
    region: Option<Id>,
    /// By channel, each list in order. A channel without a list: another process knows its names, so that
    /// nobody here can tell.
    known: Arc<[(ChannelNumber, Box<[String]>)]>,
}

impl Defaults {
    /// National phone numbers are those of this region: two letters of ISO 3166-1, such as `SE`.
    ///
    /// # Errors
    /// The region is unknown; in words.
    pub fn in_region(region: &str) -> Result<Defaults, String> {
        match region.to_ascii_uppercase().parse() {
            Ok(id) => Ok(Defaults { region: Some(id), ..Defaults::default() }),
            Err(_) => Err(format!("region {region:?} is unknown: two letters of ISO 3166-1, such as SE")),
        }
    }

    /// The same, where these are all names that the channel has; with none of them any may be one.
    #[must_use]
    pub fn with_names(self, channel: ChannelNumber, names: impl IntoIterator<Item = String>) -> Defaults {
        let mut names: Vec<String> = names.into_iter().collect();
        names.sort_unstable();
        let others = self.known.iter().filter(|(of, _)| *of != channel).cloned();
        let own = (!names.is_empty()).then_some((channel, names.into_boxed_slice()));
        Defaults { known: others.chain(own).collect(), ..self }
    }

    /// The same, where a channel may have any name: of a request that was accepted once, the name may be gone
    /// since.
    #[must_use]
    pub fn with_any_name(&self) -> Defaults {
        Defaults { region: self.region, ..Defaults::default() }
    }

    pub(crate) fn region(&self) -> Option<Id> {
        self.region
    }

    /// The channel's names are known and this is none of them: then those there are, in words.
    pub(crate) fn names_without(&self, channel: ChannelNumber, name: &str) -> Option<String> {
        let (_, known) = self.known.iter().find(|(of, _)| *of == channel)?;
        if known.binary_search_by(|one| one.as_str().cmp(name)).is_ok() {
            return None;
        }
        let shown = known[..known.len().min(NAMES_SHOWN)].join(", ");
        let more = known.len().saturating_sub(NAMES_SHOWN);
        Some(if more > 0 { format!("{shown} and {more} more") } else { shown })
    }
}

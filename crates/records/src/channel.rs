use serde::{Deserialize, Serialize};

/// A channel's number: all that records hold of it, one octet. The crate `channels` has the names, addresses
/// and texts behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChannelNumber(pub u8);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_one_octet_in_what_is_stored() {
        let stored = postcard::to_allocvec(&(ChannelNumber(3), Some(ChannelNumber(200)))).unwrap();
        assert_eq!(stored, [3, 1, 200]);
        assert_eq!(postcard::from_bytes(&stored), Ok((ChannelNumber(3), Some(ChannelNumber(200)))));
    }
}

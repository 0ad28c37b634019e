use crate::{ChannelNumber, DecodeError, DeviceProfile, EndpointNo, Timestamp};
use serde::{Deserialize, Serialize};

/// A roster is stored in blocks of so many endpoints (the last may be shorter).
pub const ROSTER_BLOCK_ENDPOINTS: usize = 512;

/// What solve found: the endpoints of an alert, in blocks, written once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct RosterBlock {
    /// The first entry's endpoint number.
    pub first: EndpointNo,
    /// In the order of their numbers.
    pub entries: Vec<RosterEntry>,
    /// Daily spans in which whoever is behind an endpoint is not to be disturbed, in the order of the places
    /// of their entries; an endpoint may have several, of several people.
    pub quiet: Vec<QuietSpan>,
    /// What devices can show, where that is less than their channel can carry, in the order of the places of
    /// their entries.
    pub profiles: Vec<PlacedProfile>,
}

/// The profile of an endpoint's device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedProfile {
    /// The place of the entry in its block.
    pub place: u16,
    /// What the device can show.
    pub profile: DeviceProfile,
}

/// A daily span in which nothing is sent to an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuietSpan {
    /// The place of the entry in its block.
    pub place: u16,
    /// First quiet minute after midnight.
    pub from: u16,
    /// First minute after midnight that is not quiet; less than `from`: the span passes midnight.
    pub to: u16,
    /// Whose midnight: an IANA name.
    pub zone: String,
}

/// Form of a block that has quiet spans; without them it is written in the first form.
const FORM_WITH_QUIET: u8 = 2;
/// Form of a block that has profiles of devices.
const FORM_WITH_PROFILES: u8 = 3;

/// A block in the first form, which is that of all blocks without quiet spans.
#[derive(Deserialize)]
struct FirstForm {
    first: EndpointNo,
    entries: Vec<RosterEntry>,
}

/// A block in the form of blocks with quiet spans and without profiles.
#[derive(Deserialize)]
struct QuietForm {
    first: EndpointNo,
    entries: Vec<RosterEntry>,
    quiet: Vec<QuietSpan>,
}

/// One endpoint, or one exclusion (then `excluded` says why).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RosterEntry {
    /// How; nothing for a person without any device.
    pub channel: Option<ChannelNumber>,
    /// Where; empty for a person without any device.
    pub address: String,
    /// Everyone behind the address who is in the audience.
    pub persons: Vec<Person>,
    /// Which text: a language of the alert's texts, or nothing for the default. In a drill also a language
    /// that has no text, for the mark on the default one.
    pub language: Option<String>,
    /// Values for the placeholders of a personal text, in the template's order of first use; empty where the
    /// text is not personal.
    pub values: Vec<(String, String)>,
    /// Do not send before, by the quiet hours of whoever is behind it.
    pub not_before: Option<Timestamp>,
    /// An end of its own.
    pub expires: Option<Timestamp>,
    /// Whose constraints hold: 0 the alert's, i the audience entry i - 1's.
    pub rule: u32,
    /// Why it is left out.
    pub excluded: Option<crate::Reason>,
    /// In a standing alert: the platform's message itself.
    pub message: Option<Box<RosterMessage>>,
}

/// A platform's message as an endpoint of its standing alert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RosterMessage {
    /// Its id.
    pub id: crate::MessageId,
    /// Who is told.
    pub party: crate::MessageClient,
    /// When it was taken.
    pub at: Timestamp,
    /// What is sent.
    pub short: crate::Short,
    /// By this route alone.
    pub route: Option<String>,
    /// What the client wants to hear.
    pub tell: crate::DlrRequest,
}

/// A person credited with an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// The recipient's id; empty where the audience named a bare address.
    pub recipient: String,
    /// Their name.
    pub name: String,
    /// This endpoint's place in their order, from 0.
    pub step: u8,
}

impl RosterBlock {
    /// As stored.
    pub fn encode(&self) -> Vec<u8> {
        if !self.profiles.is_empty() {
            let mut out = vec![FORM_WITH_PROFILES];
            crate::write_behind(&mut out, self);
            return out;
        }
        if self.quiet.is_empty() {
            return crate::to_bytes(&(self.first, &self.entries));
        }
        let mut out = vec![FORM_WITH_QUIET];
        crate::write_behind(&mut out, &(self.first, &self.entries, &self.quiet));
        out
    }
    /// Reads what [`RosterBlock::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        match bytes.split_first() {
            Some((&FORM_WITH_PROFILES, rest)) => {
                crate::read_one("roster block", rest).map(|(block, _)| block)
            }
            Some((&FORM_WITH_QUIET, rest)) => {
                let (QuietForm { first, entries, quiet }, _) = crate::read_one("roster block", rest)?;
                Ok(RosterBlock { first, entries, quiet, profiles: Vec::new() })
            }
            _ => {
                let FirstForm { first, entries } = crate::from_bytes("roster block", bytes)?;
                Ok(RosterBlock { first, entries, ..RosterBlock::default() })
            }
        }
    }
    /// The quiet spans of an endpoint of this block.
    pub fn quiet_of(&self, endpoint: EndpointNo) -> &[QuietSpan] {
        let Some(place) = endpoint.0.checked_sub(self.first.0) else { return &[] };
        let from = self.quiet.partition_point(|span| u32::from(span.place) < place);
        let len = self.quiet[from..].partition_point(|span| u32::from(span.place) == place);
        &self.quiet[from..from + len]
    }
    /// What the device of an endpoint of this block can show; nothing: all that its channel carries.
    pub fn profile_of(&self, endpoint: EndpointNo) -> Option<DeviceProfile> {
        if self.profiles.is_empty() {
            return None;
        }
        let place = endpoint.0.checked_sub(self.first.0)?;
        let found = self.profiles.binary_search_by_key(&place, |one| u32::from(one.place)).ok()?;
        Some(self.profiles[found].profile)
    }
}

/// A roster block as octets, in which each entry is found without reading the others: for blocks that grow,
/// and of which one entry at a time is wanted. Encodes to what [`RosterBlock::encode`] makes of the same
/// entries.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RosterSheet {
    first: EndpointNo,
    octets: Vec<u8>,
    ends: Vec<u32>,
}

impl RosterSheet {
    /// Nobody in it yet.
    pub fn new(first: EndpointNo) -> RosterSheet {
        RosterSheet { first, ..RosterSheet::default() }
    }
    /// The first entry's endpoint number.
    pub fn first(&self) -> EndpointNo {
        self.first
    }
    /// How many entries.
    pub fn len(&self) -> usize {
        self.ends.len()
    }
    /// Nobody?
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
    /// Octets it takes, about.
    pub fn octets(&self) -> usize {
        self.octets.len() + 4 * self.ends.len()
    }
    /// Adds an entry behind the others.
    pub fn push(&mut self, entry: &RosterEntry) {
        crate::write_behind(&mut self.octets, entry);
        self.ends.push(self.octets.len() as u32);
    }
    /// One entry; nothing if it is not in this block.
    pub fn entry(&self, of: EndpointNo) -> Result<Option<RosterEntry>, DecodeError> {
        match self.span(of) {
            Some(span) => crate::read_one("roster entry", &self.octets[span]).map(|(entry, _)| Some(entry)),
            None => Ok(None),
        }
    }
    /// Puts another entry in the place of one. False if it is not in this block.
    pub fn replace(&mut self, of: EndpointNo, entry: &RosterEntry) -> bool {
        let Some(span) = self.span(of) else { return false };
        let mut octets = Vec::new();
        crate::write_behind(&mut octets, entry);
        let place = (of.0 - self.first.0) as usize;
        let (was, is) = (span.len() as u32, octets.len() as u32);
        self.octets.splice(span, octets);
        self.ends[place..].iter_mut().for_each(|end| *end = *end + is - was);
        true
    }
    /// Lets go of the entries from place `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.ends.truncate(len);
        self.octets.truncate(self.ends.last().map_or(0, |end| *end as usize));
    }
    /// As stored.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.octets.len() + 12);
        crate::extend_with(&mut out, &(self.first, self.ends.len()));
        out.extend_from_slice(&self.octets);
        out
    }
    /// Reads what [`RosterSheet::encode`] or [`RosterBlock::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<RosterSheet, DecodeError> {
        let block = RosterBlock::decode(bytes)?;
        let mut sheet = RosterSheet::new(block.first);
        block.entries.iter().for_each(|entry| sheet.push(entry));
        Ok(sheet)
    }

    fn span(&self, of: EndpointNo) -> Option<std::ops::Range<usize>> {
        let place = of.0.checked_sub(self.first.0)? as usize;
        let end = *self.ends.get(place)? as usize;
        let begin = place.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        Some(begin..end)
    }
}

impl From<&RosterBlock> for RosterSheet {
    fn from(block: &RosterBlock) -> RosterSheet {
        let mut sheet = RosterSheet::new(block.first);
        block.entries.iter().for_each(|entry| sheet.push(entry));
        sheet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(address: &str) -> RosterEntry {
        RosterEntry {
            channel: Some(ChannelNumber(0)),
            address: address.into(),
            persons: Vec::new(),
            language: None,
            values: Vec::new(),
            not_before: None,
            expires: Some(Timestamp(77)),
            rule: 0,
            excluded: None,
            message: None,
        }
    }

    #[test]
    fn a_sheet_is_stored_as_the_block_with_the_same_entries() {
        for count in [0, 1, 130] {
            let entries: Vec<RosterEntry> = (0..count).map(|i| entry(&format!("+46{i}"))).collect();
            let block = RosterBlock { first: EndpointNo(1024), entries, ..RosterBlock::default() };
            let sheet = RosterSheet::from(&block);
            assert_eq!(sheet.encode(), block.encode());
            assert_eq!(RosterSheet::decode(&block.encode()).unwrap(), sheet);
        }
    }

    #[test]
    fn a_block_with_quiet_spans_has_a_form_of_its_own_and_the_first_form_is_read_for_ever() {
        let span = |place, from| QuietSpan { place, from, to: 420, zone: "Europe/Stockholm".into() };
        let entries = vec![entry("+461"), entry("+462"), entry("+463")];
        let mut block = RosterBlock { first: EndpointNo(512), entries, ..RosterBlock::default() };
        let first_form = block.encode();
        assert_eq!(first_form[0], crate::FORM);
        assert_eq!(first_form[1..3], [0x80, 4], "512, then the entries: as 0.2.0 wrote it");
        assert_eq!(RosterBlock::decode(&first_form).unwrap(), block);
        block.quiet = vec![span(0, 1320), span(2, 1320), span(2, 0)];
        let octets = block.encode();
        assert_eq!(octets[0], FORM_WITH_QUIET);
        assert_eq!(RosterBlock::decode(&octets).unwrap(), block);
        let places = [(511, 0), (512, 1), (513, 0), (514, 2), (515, 0)];
        for (endpoint, count) in places {
            assert_eq!(block.quiet_of(EndpointNo(endpoint)).len(), count, "{endpoint}");
        }
        let newer = [&[FORM_WITH_PROFILES + 1][..], &octets[1..]].concat();
        assert!(RosterBlock::decode(&newer).unwrap_err().to_string().contains("newer version"));
    }

    #[test]
    fn a_block_with_profiles_has_a_form_of_its_own_and_keeps_its_quiet_spans() {
        let profile = |length| DeviceProfile { length: Some(length), ..DeviceProfile::default() };
        let block = RosterBlock {
            first: EndpointNo(512),
            entries: vec![entry("+461"), entry("+462"), entry("+463")],
            quiet: vec![QuietSpan { place: 1, from: 1320, to: 420, zone: "UTC".into() }],
            profiles: [(0, 20), (2, 80)]
                .map(|(place, n)| PlacedProfile { place, profile: profile(n) })
                .into(),
        };
        let octets = block.encode();
        assert_eq!(octets[0], FORM_WITH_PROFILES);
        assert_eq!(RosterBlock::decode(&octets).unwrap(), block);
        let found = |endpoint| block.profile_of(EndpointNo(endpoint)).and_then(|one| one.length);
        assert_eq!([511, 512, 513, 514, 515].map(found), [None, Some(20), None, Some(80), None]);
    }

    #[test]
    fn entries_of_a_sheet_are_read_replaced_and_let_go_of_one_by_one() {
        let mut sheet = RosterSheet::new(EndpointNo(512));
        ["+1", "+22", "+333"].iter().for_each(|address| sheet.push(&entry(address)));
        let address =
            |sheet: &RosterSheet, of| sheet.entry(EndpointNo(of)).unwrap().map(|entry| entry.address);
        assert_eq!(address(&sheet, 513).as_deref(), Some("+22"));
        assert!(sheet.replace(EndpointNo(513), &entry("+1234567890")));
        assert_eq!(address(&sheet, 513).as_deref(), Some("+1234567890"));
        assert_eq!(address(&sheet, 514).as_deref(), Some("+333"));
        assert!(sheet.replace(EndpointNo(512), &entry("")));
        assert_eq!(address(&sheet, 513).as_deref(), Some("+1234567890"));
        for beyond in [511, 515] {
            assert_eq!(address(&sheet, beyond), None);
            assert!(!sheet.replace(EndpointNo(beyond), &entry("+9")));
        }
        sheet.truncate(1);
        sheet.push(&entry("+4"));
        assert_eq!(
            (address(&sheet, 512).as_deref(), address(&sheet, 513).as_deref()),
            (Some(""), Some("+4"))
        );
        assert_eq!(sheet.len(), 2);
    }
}

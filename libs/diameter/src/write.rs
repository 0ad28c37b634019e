//! Messages written into the caller's buffer: lengths are patched when they are known, nothing else is
//! allocated.

use crate::avp::{AVP_HEADER_OCTETS, AVP_OCTETS_MAX, Address, Avp, AvpFlags, AvpName, time_octets};
use crate::dictionary;
use crate::header::{CommandFlags, Header, MESSAGE_OCTETS_MAX};
use std::net::IpAddr;

/// Appends one message to a buffer. Whatever the buffer holds already is let be.
///
/// The `V` bit is set where the name has a vendor, the `M` bit as the dictionary says.
#[must_use = "a message is whole only after `finish`"]
pub struct Writer<'b> {
    out: &'b mut Vec<u8>,
    /// Where the message begins in `out`.
    begin: usize,
    overflowed: bool,
}

impl<'b> Writer<'b> {
    /// Begins a message with this header; its length is written by [`finish`](Self::finish).
    pub fn message(out: &'b mut Vec<u8>, header: &Header) -> Writer<'b> {
        let begin = out.len();
        out.extend_from_slice(&header.octets());
        Writer { out, begin, overflowed: false }
    }

    /// Begins a request: `R` is set besides `flags`.
    pub fn request(
        out: &'b mut Vec<u8>,
        command: u32,
        application: u32,
        flags: CommandFlags,
        hop_by_hop: u32,
        end_to_end: u32,
    ) -> Writer<'b> {
        let flags = flags.with(CommandFlags::REQUEST);
        Writer::message(out, &Header { length: 0, flags, command, application, hop_by_hop, end_to_end })
    }

    /// Begins the answer to a request: `P` and both identifiers are the request's, all other flags are clear
    /// (RFC 6733, section 6.2).
    pub fn answer(out: &'b mut Vec<u8>, to: &Header) -> Writer<'b> {
        let flags = CommandFlags(to.flags.0 & CommandFlags::PROXIABLE.0);
        Writer::message(out, &Header { flags, ..*to })
    }

    /// Sets `E`: this is an answer-message about a protocol error (section 7.2).
    pub fn error(&mut self) {
        if let Some(flags) = self.out.get_mut(self.begin + 4) {
            *flags |= CommandFlags::ERROR.0;
        }
    }

    /// Octets of the message so far.
    pub fn octets(&self) -> usize {
        self.out.len() - self.begin
    }

    /// An AVP with these flags and this data; `V` is set or cleared as the name asks.
    #[inline]
    pub fn raw(&mut self, name: AvpName, flags: AvpFlags, data: &[u8]) {
        let header = self.header(name, flags, data.len());
        self.out.extend_from_slice(data);
        self.pad(header + data.len());
    }

    /// OctetString.
    #[inline]
    pub fn octet_string(&mut self, name: AvpName, data: &[u8]) {
        self.raw(name, dictionary::flags_sent(name), data);
    }

    /// Four octets in one piece with their header: most AVPs of credit control are that.
    #[inline]
    fn word(&mut self, name: AvpName, data: [u8; 4]) {
        if name.vendor != 0 {
            return self.octet_string(name, &data);
        }
        let mut octets = [0; 12];
        octets[0..4].copy_from_slice(&name.code.to_be_bytes());
        octets[4] = dictionary::flags_sent(name).0;
        octets[7] = 12;
        octets[8..12].copy_from_slice(&data);
        self.out.extend_from_slice(&octets);
    }

    /// Unsigned32.
    #[inline]
    pub fn u32(&mut self, name: AvpName, value: u32) {
        self.word(name, value.to_be_bytes());
    }

    /// Unsigned64.
    #[inline]
    pub fn u64(&mut self, name: AvpName, value: u64) {
        self.octet_string(name, &value.to_be_bytes());
    }

    /// Integer32, or Enumerated.
    #[inline]
    pub fn i32(&mut self, name: AvpName, value: i32) {
        self.word(name, value.to_be_bytes());
    }

    /// Integer64.
    #[inline]
    pub fn i64(&mut self, name: AvpName, value: i64) {
        self.octet_string(name, &value.to_be_bytes());
    }

    /// UTF8String.
    #[inline]
    pub fn utf8(&mut self, name: AvpName, text: &str) {
        self.octet_string(name, text.as_bytes());
    }

    /// DiameterIdentity, or DiameterURI.
    #[inline]
    pub fn identity(&mut self, name: AvpName, identity: &str) {
        self.octet_string(name, identity.as_bytes());
    }

    /// Address.
    pub fn address(&mut self, name: AvpName, address: Address<'_>) {
        self.group(name, |writer| {
            let mut put = |family: u16, octets: &[u8]| {
                writer.out.extend_from_slice(&family.to_be_bytes());
                writer.out.extend_from_slice(octets);
            };
            match address {
                Address::Ip(IpAddr::V4(ip)) => put(1, &ip.octets()),
                Address::Ip(IpAddr::V6(ip)) => put(2, &ip.octets()),
                Address::Other { family, octets } => put(family, octets),
            }
        });
    }

    /// Time: seconds since 1970. Only 1968 to 2104 can be said; the nearest is written of what lies outside.
    pub fn time(&mut self, name: AvpName, unix_s: i64) {
        self.word(name, time_octets(unix_s));
    }

    /// A group; `members` writes what is in it.
    #[inline]
    pub fn group(&mut self, name: AvpName, members: impl FnOnce(&mut Writer<'_>)) {
        self.group_with(name, dictionary::flags_sent(name), members);
    }

    /// A group with these flags.
    #[inline]
    pub fn group_with(&mut self, name: AvpName, flags: AvpFlags, members: impl FnOnce(&mut Writer<'_>)) {
        let begin = self.out.len();
        self.header(name, flags, 0);
        let mut inner = Writer { out: &mut *self.out, begin: self.begin, overflowed: false };
        members(&mut inner);
        self.overflowed |= inner.overflowed;
        let octets = self.out.len() - begin;
        self.overflowed |= octets > AVP_OCTETS_MAX;
        if let Some(length) = self.out.get_mut(begin + 5..begin + 8) {
            length.copy_from_slice(&(octets as u32).to_be_bytes()[1..]);
        }
        self.pad(octets);
    }

    /// An AVP just as it came, with its flags. What padding it had becomes zeros.
    pub fn copy(&mut self, avp: &Avp<'_>) {
        self.out.extend_from_slice(avp.octets);
        self.pad(avp.octets.len());
    }

    /// AVPs that were written before, with their padding: what many messages have in common is written once.
    #[inline]
    pub fn written(&mut self, avps: &[u8]) {
        self.written_padded(avps);
    }

    /// The same of one AVP that lacks its padding.
    pub fn written_padded(&mut self, avp: &[u8]) {
        self.out.extend_from_slice(avp);
        self.pad(avp.len());
    }

    /// Writes the length and returns it, in octets. A message that is too long for its header (16 MiB) is
    /// taken back: 0.
    pub fn finish(self) -> usize {
        let octets = self.octets();
        if self.overflowed || octets > MESSAGE_OCTETS_MAX as usize {
            self.out.truncate(self.begin);
            return 0;
        }
        if let Some(length) = self.out.get_mut(self.begin + 1..self.begin + 4) {
            length.copy_from_slice(&(octets as u32).to_be_bytes()[1..]);
        }
        octets
    }

    /// The header of an AVP with so many octets of data; returns its own.
    #[inline]
    fn header(&mut self, name: AvpName, flags: AvpFlags, data: usize) -> usize {
        let is_vendor = name.vendor != 0;
        let header = if is_vendor { AVP_HEADER_OCTETS + 4 } else { AVP_HEADER_OCTETS };
        self.overflowed |= header + data > AVP_OCTETS_MAX;
        let mut octets = [0; AVP_HEADER_OCTETS];
        octets[0..4].copy_from_slice(&name.code.to_be_bytes());
        octets[4..8].copy_from_slice(&((header + data) as u32).to_be_bytes());
        octets[4] = flags.0 & !AvpFlags::VENDOR.0 | if is_vendor { AvpFlags::VENDOR.0 } else { 0 };
        self.out.extend_from_slice(&octets);
        if is_vendor {
            self.out.extend_from_slice(&name.vendor.to_be_bytes());
        }
        header
    }

    #[inline]
    fn pad(&mut self, octets: usize) {
        let end = self.out.len() + (octets.wrapping_neg() & 3);
        // Three are written without asking how many are needed.
        self.out.extend_from_slice(&[0; 3]);
        self.out.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dictionary::avp;
    use crate::message::Message;

    const REQUEST: Header = Header {
        length: 0,
        flags: CommandFlags(0xF0),
        command: 272,
        application: 4,
        hop_by_hop: 7,
        end_to_end: 9,
    };

    #[test]
    fn an_answer_echoes_the_identifiers_and_the_proxiable_bit_alone() {
        let mut out = vec![0xAA];
        let octets = Writer::answer(&mut out, &REQUEST).finish();
        assert_eq!((octets, out.len(), out[0]), (20, 21, 0xAA), "what the buffer held is let be");
        let header = Message::read(&out[1..]).unwrap().header;
        assert_eq!(header, Header { length: 20, flags: CommandFlags::PROXIABLE, ..REQUEST });
        out.clear();
        let mut writer = Writer::answer(&mut out, &REQUEST);
        writer.error();
        writer.finish();
        assert_eq!(Message::read(&out).unwrap().header.flags, CommandFlags::PROXIABLE | CommandFlags::ERROR);
    }

    #[test]
    fn every_type_is_read_as_it_was_written() {
        let mut out = Vec::new();
        let mut writer = Writer::request(&mut out, 272, 4, CommandFlags::PROXIABLE, 1, 2);
        writer.utf8(avp::SESSION_ID, "a;1;2;å");
        writer.identity(avp::ORIGIN_HOST, "a.example");
        writer.u32(avp::CC_REQUEST_NUMBER, u32::MAX);
        writer.i32(avp::EXPONENT, i32::MIN);
        writer.u64(avp::CC_TOTAL_OCTETS, u64::MAX);
        writer.i64(avp::VALUE_DIGITS, i64::MIN);
        writer.time(avp::EVENT_TIMESTAMP, 1_763_845_888);
        writer.octet_string(avp::CLASS, &[1, 2, 3]);
        writer.address(avp::HOST_IP_ADDRESS, Address::Ip("10.1.2.3".parse().unwrap()));
        writer.address(avp::HOST_IP_ADDRESS, Address::Other { family: 8, octets: b"46701" });
        writer.group(avp::UNIT_VALUE, |unit| unit.i64(avp::VALUE_DIGITS, -5));
        assert_eq!(writer.octets() % 4, 0);
        writer.finish();
        let message = Message::read(&out).unwrap();
        assert!(message.header.flags.is_request() && message.header.flags.is_proxiable());
        let avps: Vec<_> = message.avps().map(Result::unwrap).collect();
        assert_eq!(avps[0].utf8(), Ok("a;1;2;å"));
        assert!(avps[0].flags.is_mandatory() && !avps[0].flags.is_vendor());
        assert_eq!(avps[1].identity(), Ok("a.example"));
        assert_eq!(avps[2].u32(), Ok(u32::MAX));
        assert_eq!(avps[3].i32(), Ok(i32::MIN));
        assert_eq!(avps[4].u64(), Ok(u64::MAX));
        assert_eq!(avps[5].i64(), Ok(i64::MIN));
        assert_eq!(avps[6].time(), Ok(1_763_845_888));
        assert_eq!(avps[7].data, [1, 2, 3]);
        assert_eq!(avps[8].address(), Ok(Address::Ip("10.1.2.3".parse().unwrap())));
        assert_eq!(avps[9].address(), Ok(Address::Other { family: 8, octets: b"46701" }));
        let members: Vec<_> = avps[10].group().map(Result::unwrap).collect();
        assert_eq!((members.len(), members[0].i64()), (1, Ok(-5)));
    }

    #[test]
    fn vendors_and_unknown_avps_are_written_with_the_right_bits() {
        let mut out = Vec::new();
        let mut writer = Writer::message(&mut out, &REQUEST);
        writer.u32(AvpName { code: 4_000_000, vendor: 99 }, 5);
        writer.raw(AvpName::ietf(4_000_001), AvpFlags(0xFF), b"x");
        writer.finish();
        let message = Message::read(&out).unwrap();
        let avps: Vec<_> = message.avps().map(Result::unwrap).collect();
        assert_eq!((avps[0].flags, avps[0].u32()), (AvpFlags::VENDOR, Ok(5)));
        assert_eq!((avps[1].flags, avps[1].data), (AvpFlags(0x7F), &b"x"[..]), "no vendor, no V");
    }

    #[test]
    fn copies_are_octet_for_octet_but_for_the_padding() {
        let mut out = Vec::new();
        let octets = [0, 0, 1, 28, 0x5F, 0, 0, 9, b'x', 1, 2, 3];
        let avp = crate::avp::Avps::new(&octets).next().unwrap().unwrap();
        let mut writer = Writer::answer(&mut out, &REQUEST);
        writer.copy(&avp);
        writer.finish();
        assert_eq!(out[20..], [0, 0, 1, 28, 0x5F, 0, 0, 9, b'x', 0, 0, 0]);
    }

    #[test]
    fn a_group_has_the_lengths_of_the_rfcs_example() {
        // Section 4.4.1; what the unknown AVPs hold does not matter, how much does.
        let sessions =
            ["grump.example.com:33041;23432;893;0AF3B81", "grump.example.com:33054;23561;2358;0AF3B82"];
        let mut out = Vec::new();
        let mut writer = Writer::answer(&mut out, &REQUEST);
        writer.group(AvpName::ietf(999_999), |group| {
            group.identity(avp::ORIGIN_HOST, "example.com");
            sessions.iter().for_each(|session| group.utf8(avp::SESSION_ID, session));
            group.octet_string(AvpName::ietf(8_341), &[0x21; 215]);
            group.octet_string(AvpName::ietf(15_930), &[0xFE; 129]);
        });
        writer.finish();
        let message = Message::read(&out).unwrap();
        let example = message.avps().next().unwrap().unwrap();
        assert_eq!(example.octets.len(), 496);
        let begin = message.position(&example);
        let members: Vec<_> = example
            .group()
            .map(Result::unwrap)
            .map(|avp| (message.position(&avp) - begin, avp.name.code, avp.octets.len()))
            .collect();
        assert_eq!(
            members,
            [(8, 264, 19), (28, 263, 49), (80, 263, 50), (132, 8_341, 223), (356, 15_930, 137)]
        );
    }

    #[test]
    fn what_is_too_long_for_24_bits_is_taken_back() {
        let mut out = vec![1, 2, 3];
        let mut writer = Writer::answer(&mut out, &REQUEST);
        writer.octet_string(avp::CLASS, &vec![0; AVP_OCTETS_MAX]);
        assert_eq!(writer.finish(), 0);
        assert_eq!(out, [1, 2, 3]);
        let mut writer = Writer::answer(&mut out, &REQUEST);
        let half = vec![0; AVP_OCTETS_MAX / 2];
        writer.group(avp::FAILED_AVP, |group| {
            group.octet_string(avp::CLASS, &half);
            group.group(avp::FAILED_AVP, |group| group.octet_string(avp::CLASS, &half));
        });
        assert_eq!(writer.finish(), 0);
        assert_eq!(out, [1, 2, 3]);
    }
}

//! The data of an AVP as its type (RFC 6733, sections 4.2 and 4.3).

use super::{Avp, AvpError, AvpProblem};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Seconds from 1900 to 1970.
const NTP_TO_UNIX_S: i64 = 2_208_988_800;
/// Seconds of an NTP era.
const ERA_S: i64 = 1 << 32;

/// One in each octet.
const ONES: u64 = 0x0101_0101_0101_0101;

/// Whether all octets are right: `wrong` sets the highest bit of some octet where one of eight is wrong,
/// `is_right` asks one alone.
#[inline]
fn each_octet(octets: &[u8], wrong: impl Fn(u64) -> u64, is_right: impl Fn(&u8) -> bool) -> bool {
    let Some(last) = octets.last_chunk::<8>() else { return octets.iter().all(is_right) };
    // The last eight may be looked at twice: that is quicker than one by one.
    let mut found = wrong(u64::from_ne_bytes(*last));
    let mut rest = octets;
    while let Some((eight, behind)) = rest.split_first_chunk::<8>() {
        found |= wrong(u64::from_ne_bytes(*eight));
        rest = behind;
    }
    found & (0x80 * ONES) == 0
}

/// Data of type Address: the family of the IANA's "Address Family Numbers", then the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Address<'a> {
    /// Family 1 or 2.
    Ip(IpAddr),
    /// Any other family, such as 8 (E.164).
    Other {
        /// Its number.
        family: u16,
        /// The address.
        octets: &'a [u8],
    },
}

impl<'a> Avp<'a> {
    #[inline]
    fn sized<const N: usize>(&self) -> Result<[u8; N], AvpError> {
        match self.data.try_into() {
            Ok(octets) => Ok(octets),
            Err(_) => Err(self.error(AvpProblem::Size { octets: self.data.len() as u32 })),
        }
    }

    /// As Unsigned32.
    ///
    /// # Errors
    /// Other than four octets.
    #[inline]
    pub fn u32(&self) -> Result<u32, AvpError> {
        self.sized().map(u32::from_be_bytes)
    }

    /// As Unsigned64.
    ///
    /// # Errors
    /// Other than eight octets.
    #[inline]
    pub fn u64(&self) -> Result<u64, AvpError> {
        self.sized().map(u64::from_be_bytes)
    }

    /// As Integer32 or Enumerated.
    ///
    /// # Errors
    /// Other than four octets.
    #[inline]
    pub fn i32(&self) -> Result<i32, AvpError> {
        self.sized().map(i32::from_be_bytes)
    }

    /// As Integer64.
    ///
    /// # Errors
    /// Other than eight octets.
    #[inline]
    pub fn i64(&self) -> Result<i64, AvpError> {
        self.sized().map(i64::from_be_bytes)
    }

    /// As UTF8String.
    ///
    /// # Errors
    /// Not UTF-8.
    #[inline]
    pub fn utf8(&self) -> Result<&'a str, AvpError> {
        std::str::from_utf8(self.data).map_err(|_| self.error(AvpProblem::Text))
    }

    /// As DiameterIdentity (or DiameterURI): a name in ASCII, without spaces, not empty.
    ///
    /// # Errors
    /// Anything else.
    #[inline]
    pub fn identity(&self) -> Result<&'a str, AvpError> {
        self.check_identity()?;
        self.utf8()
    }

    /// Whether it is UTF-8. Text of ASCII alone, which is most, is told eight octets at a time.
    #[inline]
    pub(crate) fn check_utf8(&self) -> Result<(), AvpError> {
        if each_octet(self.data, |x| x, |octet| octet.is_ascii()) { Ok(()) } else { self.utf8().map(drop) }
    }

    /// Whether it is a name in ASCII, without spaces, not empty.
    #[inline]
    pub(crate) fn check_identity(&self) -> Result<(), AvpError> {
        // The highest bit is set in x where an octet is over 0x7F, in x + 1 where it is 0x7F, in the
        // difference where it is under 0x21; a borrow or a carry comes from an octet that is wrong itself.
        let wrong = |x: u64| (x.wrapping_sub(0x21 * ONES) & !x) | x | x.wrapping_add(ONES);
        if !self.data.is_empty() && each_octet(self.data, wrong, u8::is_ascii_graphic) {
            Ok(())
        } else {
            Err(self.error(AvpProblem::Text))
        }
    }

    /// As Address.
    ///
    /// # Errors
    /// Fewer than two octets, or an IP address of another size than its family's.
    pub fn address(&self) -> Result<Address<'a>, AvpError> {
        let wrong = || self.error(AvpProblem::Size { octets: self.data.len() as u32 });
        let (family, octets) = self.data.split_first_chunk::<2>().ok_or_else(wrong)?;
        match u16::from_be_bytes(*family) {
            1 => {
                let octets: [u8; 4] = octets.try_into().map_err(|_| wrong())?;
                Ok(Address::Ip(IpAddr::V4(Ipv4Addr::from(octets))))
            }
            2 => {
                let octets: [u8; 16] = octets.try_into().map_err(|_| wrong())?;
                Ok(Address::Ip(IpAddr::V6(Ipv6Addr::from(octets))))
            }
            family => Ok(Address::Other { family, octets }),
        }
    }

    /// As Time: seconds since 1970-01-01T00:00:00Z. The four octets roll over on 2036-02-07: with their
    /// highest bit clear they are behind that, with it set before (section 4.3.1), so that a Time lies
    /// between 1968-01-20 and 2104-02-26.
    ///
    /// # Errors
    /// Other than four octets.
    pub fn time(&self) -> Result<i64, AvpError> {
        let seconds = self.u32()?;
        let era = if seconds & 0x8000_0000 == 0 { ERA_S } else { 0 };
        Ok(i64::from(seconds) + era - NTP_TO_UNIX_S)
    }
}

/// A moment, in seconds since 1970, as the data of a Time AVP. What a Time cannot say (before 1968, after
/// 2104) becomes the nearest that it can.
pub const fn time_octets(unix_s: i64) -> [u8; 4] {
    const FIRST: i64 = 0x8000_0000;
    const LAST: i64 = FIRST + ERA_S - 1;
    let ntp = unix_s.saturating_add(NTP_TO_UNIX_S);
    let ntp = if ntp < FIRST {
        FIRST
    } else if ntp > LAST {
        LAST
    } else {
        ntp
    };
    // The era is not sent: the low 32 bits are.
    (ntp as u32).to_be_bytes()
}

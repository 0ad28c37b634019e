//! An SME address: type of number, numbering plan, digits or text (3.4 §5.2.5 to 5.2.9).

use crate::error::{DecodeError, EncodeError, ParameterProblem};
use crate::limits::Field;
use crate::status::Status;
use crate::wire::{BodyReader, BodyWriter};

/// Greatest `addr_ton`: abbreviated.
const TON_MAX: u8 = 6;
/// Values of `addr_npi`: unknown, ISDN, data, telex, land mobile, national, private, ERMES, internet, WAP
/// client id.
const NPIS: [u8; 10] = [0, 1, 3, 4, 6, 8, 9, 10, 14, 18];

/// An address of a phone, a sender, or a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Address<'a> {
    /// `addr_ton`: 0 unknown, 1 international, 2 national, 3 network specific, 4 subscriber, 5 alphanumeric,
    /// 6 abbreviated.
    pub ton: u8,
    /// `addr_npi`: 0 unknown, 1 ISDN (E.164), 8 national, 9 private …
    pub npi: u8,
    /// The digits or text, without NUL: at most 20 octets, 64 in data_sm and alert_notification.
    pub addr: &'a [u8],
}

impl<'a> Address<'a> {
    /// An address from its three parts.
    #[must_use]
    pub fn new(ton: u8, npi: u8, addr: &'a [u8]) -> Self {
        Address { ton, npi, addr }
    }

    /// An international number, digits without `+`.
    #[must_use]
    pub fn international(digits: &'a [u8]) -> Self {
        Address { ton: 1, npi: 1, addr: digits }
    }

    /// A sender's name, at most 11 characters on GSM networks.
    #[must_use]
    pub fn alphanumeric(name: &'a [u8]) -> Self {
        Address { ton: 5, npi: 0, addr: name }
    }

    #[inline]
    pub(crate) fn decode(body: &mut BodyReader<'a>, field: &Field) -> Result<Self, DecodeError> {
        Ok(Address { ton: body.u8(field.name)?, npi: body.u8(field.name)?, addr: body.cstring(field)? })
    }

    #[inline]
    pub(crate) fn encode(&self, out: &mut BodyWriter<'_>, field: &Field) -> Result<(), EncodeError> {
        out.raw(&[self.ton, self.npi]);
        out.cstring(self.addr, field)
    }

    #[inline]
    pub(crate) fn check_source(&self) -> Result<(), DecodeError> {
        self.check("source_addr_ton", Status::RINVSRCTON, "source_addr_npi", Status::RINVSRCNPI)
    }

    /// A destination must also be there: success for an empty one hides the sender's fault.
    #[inline]
    pub(crate) fn check_destination(&self) -> Result<(), DecodeError> {
        if self.addr.is_empty() {
            let (status, field) = (Status::RINVDSTADR, "destination_addr");
            return Err(DecodeError { status, field, problem: ParameterProblem::Missing });
        }
        self.check("dest_addr_ton", Status::RINVDSTTON, "dest_addr_npi", Status::RINVDSTNPI)
    }

    #[inline]
    fn check(
        &self,
        ton: &'static str,
        bad_ton: Status,
        npi: &'static str,
        bad_npi: Status,
    ) -> Result<(), DecodeError> {
        let problem = ParameterProblem::BadValue;
        if self.ton > TON_MAX {
            return Err(DecodeError { status: bad_ton, field: ton, problem });
        }
        if !NPIS.contains(&self.npi) {
            return Err(DecodeError { status: bad_npi, field: npi, problem });
        }
        Ok(())
    }
}

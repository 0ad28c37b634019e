//! `command_status`: every code of SMPP 3.4 §5.1.3 and 5.0 §4.7.6, with its name and text.

use std::fmt;

/// A `command_status`. Any value is kept: the vendor range 0x400 to 0x4FF, and reserved codes, pass through
/// unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Status(pub u32);

macro_rules! statuses {
    ($($name:ident = $code:literal, $text:literal;)*) => {
        impl Status {
            $(#[doc = $text] pub const $name: Status = Status($code);)*

            /// Every code with a name, in rising order.
            pub const ALL: &'static [Status] = &[$(Status::$name),*];

            /// The specification's name without its `ESME_` prefix, or `None` for a vendor's or reserved
            /// code.
            #[must_use]
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some(stringify!($name)),)*
                    _ => None,
                }
            }

            /// What the code means, in words.
            #[must_use]
            pub fn text(self) -> &'static str {
                match self.0 {
                    $($code => $text,)*
                    VENDOR_FIRST..=VENDOR_LAST => "vendor specific error",
                    _ => "reserved status",
                }
            }
        }
    };
}

/// First code of the range left to SMSC vendors.
pub const VENDOR_FIRST: u32 = 0x400;
/// Last code of the range left to SMSC vendors.
pub const VENDOR_LAST: u32 = 0x4FF;

statuses! {
    ROK = 0x00, "no error";
    RINVMSGLEN = 0x01, "message length is invalid";
    RINVCMDLEN = 0x02, "command length is invalid";
    RINVCMDID = 0x03, "invalid command id";
    RINVBNDSTS = 0x04, "incorrect bind status for given command";
    RALYBND = 0x05, "already in bound state";
    RINVPRTFLG = 0x06, "invalid priority flag";
    RINVREGDLVFLG = 0x07, "invalid registered delivery flag";
    RSYSERR = 0x08, "system error";
    RINVSRCADR = 0x0A, "invalid source address";
    RINVDSTADR = 0x0B, "invalid destination address";
    RINVMSGID = 0x0C, "message id is invalid";
    RBINDFAIL = 0x0D, "bind failed";
    RINVPASWD = 0x0E, "invalid password";
    RINVSYSID = 0x0F, "invalid system id";
    RCANCELFAIL = 0x11, "cancel_sm failed";
    RREPLACEFAIL = 0x13, "replace_sm failed";
    RMSGQFUL = 0x14, "message queue full";
    RINVSERTYP = 0x15, "invalid service type";
    RINVNUMDESTS = 0x33, "invalid number of destinations";
    RINVDLNAME = 0x34, "invalid distribution list name";
    RINVDESTFLAG = 0x40, "destination flag is invalid";
    RINVSUBREP = 0x42, "invalid submit with replace request";
    RINVESMCLASS = 0x43, "invalid esm_class";
    RCNTSUBDL = 0x44, "cannot submit to distribution list";
    RSUBMITFAIL = 0x45, "submit failed";
    RINVSRCTON = 0x48, "invalid source address type of number";
    RINVSRCNPI = 0x49, "invalid source address numbering plan";
    RINVDSTTON = 0x50, "invalid destination address type of number";
    RINVDSTNPI = 0x51, "invalid destination address numbering plan";
    RINVSYSTYP = 0x53, "invalid system type";
    RINVREPFLAG = 0x54, "invalid replace_if_present flag";
    RINVNUMMSGS = 0x55, "invalid number of messages";
    RTHROTTLED = 0x58, "throttling error: message limits exceeded";
    RINVSCHED = 0x61, "invalid scheduled delivery time";
    RINVEXPIRY = 0x62, "invalid validity period";
    RINVDFTMSGID = 0x63, "predefined message is invalid or not found";
    RX_T_APPN = 0x64, "temporary application error of the receiving ESME";
    RX_P_APPN = 0x65, "permanent application error of the receiving ESME";
    RX_R_APPN = 0x66, "reject by the application of the receiving ESME";
    RQUERYFAIL = 0x67, "query_sm failed";
    RINVOPTPARSTREAM = 0xC0, "error in the optional part of the body";
    ROPTPARNOTALLWD = 0xC1, "optional parameter not allowed";
    RINVPARLEN = 0xC2, "invalid parameter length";
    RMISSINGOPTPARAM = 0xC3, "expected optional parameter missing";
    RINVOPTPARAMVAL = 0xC4, "invalid optional parameter value";
    RDELIVERYFAILURE = 0xFE, "delivery failure";
    RUNKNOWNERR = 0xFF, "unknown error";
    RSERTYPUNAUTH = 0x100, "not authorised to use the service type";
    RPROHIBITED = 0x101, "prohibited from using the operation";
    RSERTYPUNAVAIL = 0x102, "service type is unavailable";
    RSERTYPDENIED = 0x103, "service type is denied";
    RINVDCS = 0x104, "invalid data coding scheme";
    RINVSRCADDRSUBUNIT = 0x105, "source address sub unit is invalid";
    RINVDSTADDRSUBUNIT = 0x106, "destination address sub unit is invalid";
    RINVBCASTFREQINT = 0x107, "broadcast frequency interval is invalid";
    RINVBCASTALIAS_NAME = 0x108, "broadcast alias name is invalid";
    RINVBCASTAREAFMT = 0x109, "broadcast area format is invalid";
    RINVNUMBCAST_AREAS = 0x10A, "number of broadcast areas is invalid";
    RINVBCASTCNTTYPE = 0x10B, "broadcast content type is invalid";
    RINVBCASTMSGCLASS = 0x10C, "broadcast message class is invalid";
    RBCASTFAIL = 0x10D, "broadcast_sm failed";
    RBCASTQUERYFAIL = 0x10E, "query_broadcast_sm failed";
    RBCASTCANCELFAIL = 0x10F, "cancel_broadcast_sm failed";
    RINVBCAST_REP = 0x110, "number of repeated broadcasts is invalid";
    RINVBCASTSRVGRP = 0x111, "broadcast service group is invalid";
    RINVBCASTCHANIND = 0x112, "broadcast channel indicator is invalid";
}

impl Status {
    /// Whether the request was carried out.
    #[must_use]
    pub fn is_ok(self) -> bool {
        self.0 == 0
    }

    /// Whether the code lies in the range left to vendors.
    #[must_use]
    pub fn is_vendor(self) -> bool {
        (VENDOR_FIRST..=VENDOR_LAST).contains(&self.0)
    }

    /// Whether the peer asks for less speed: the message itself is not refused, it may be sent again later.
    #[must_use]
    pub fn is_throttle(self) -> bool {
        matches!(self, Status::RTHROTTLED | Status::RMSGQFUL)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} (0x{:02X}, {})", self.0, self.text()),
            None => write!(f, "0x{:02X} ({})", self.0, self.text()),
        }
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "Status(0x{:02X})", self.0),
        }
    }
}

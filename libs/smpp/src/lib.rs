//! SMPP 3.3, 3.4 and 5.0 without IO: PDUs and TLVs, text coding and splitting, the session machine with its window.

pub mod error;
pub mod frame;
pub mod limits;
pub mod pdu;
pub mod session;
pub mod status;
pub mod time;
pub mod tlv;
mod wire;

pub use error::{DecodeError, EncodeError, Problem};
pub use status::Status;
pub use tlv::{Tag, Tlv, TlvBuf, Tlvs};
pub use wire::Writer;

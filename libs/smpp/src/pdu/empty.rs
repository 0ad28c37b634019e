//! PDUs that are a header and nothing else. TLVs behind it are no one's in the specification, but kept;
//! octets that are no TLVs make the length wrong.

/// Defines the body of a PDU that has none.
macro_rules! empty_body {
    ($(#[$doc:meta])* $name:ident, $command:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name<'a> {
            /// None in the specification; a vendor's are kept.
            pub tlvs: $crate::tlv::Tlvs<'a>,
        }

        impl<'a> $crate::pdu::Body<'a> for $name<'a> {
            fn command(&self) -> $crate::pdu::Command {
                $command
            }

            fn encode_body(&self, out: &mut $crate::wire::BodyWriter<'_>) -> Result<(), $crate::error::EncodeError> {
                out.tlvs(self.tlvs)
            }

            fn decode_body(_: $crate::pdu::Command, body: &'a [u8]) -> Result<Self, $crate::error::DecodeError> {
                match $crate::tlv::Tlvs::parse(body) {
                    Ok(tlvs) => Ok($name { tlvs }),
                    Err(error) => Err($crate::error::DecodeError { status: $crate::status::Status::RINVCMDLEN, ..error }),
                }
            }
        }
    };
}

pub(crate) use empty_body;

//! Intake record of a message, written from the octets of the PDU without a copy in between.
//!
//! The structs here have the same form on disk as [`records::Intake::Message`]; a test holds them together.

use postcard::ser_flavors::Flavor;
use records::{FORM, Lane, Mode, Timestamp};
use serde::{Serialize, Serializer};

#[derive(Serialize)]
enum IntakeForm<'a> {
    Message(&'a MessageForm<'a>),
}

/// [`records::Message`].
#[derive(Serialize)]
pub(super) struct MessageForm<'a> {
    pub account: &'a str,
    pub party: MessageClientForm<'a>,
    pub at: Timestamp,
    pub lane: Lane,
    pub mode: Mode,
    pub to: &'a str,
    pub short: ShortForm<'a>,
    pub not_before: Option<Timestamp>,
    pub expires: Timestamp,
    pub route: Option<&'a str>,
    pub tell: DlrRequestForm<'a>,
}

/// [`records::MessageClient`], of which this door has one kind.
#[derive(Serialize)]
pub(super) enum MessageClientForm<'a> {
    Smpp(&'a str),
}

/// [`records::Short`].
#[derive(Serialize)]
pub(super) struct ShortForm<'a> {
    pub source: ShortAddressForm<'a>,
    pub dest: Option<(u8, u8)>,
    pub text: ShortTextForm<'a>,
    pub udh: Octets<'a>,
    pub service_type: &'a str,
    pub esm_class: u8,
    pub protocol_id: u8,
    pub priority_flag: Option<u8>,
    pub replace_if_present: bool,
    pub registered_delivery: Option<u8>,
    pub tlvs: Octets<'a>,
}

/// [`records::ShortAddress`].
#[derive(Serialize)]
pub(super) struct ShortAddressForm<'a> {
    pub ton_npi: Option<(u8, u8)>,
    pub addr: &'a str,
}

/// [`records::ShortText`].
#[derive(Serialize)]
pub(super) enum ShortTextForm<'a> {
    Text { text: &'a str, class: Option<u8> },
    Octets { data_coding: u8, octets: Octets<'a> },
}

/// [`records::DlrRequest`].
#[derive(Serialize)]
pub(super) struct DlrRequestForm<'a> {
    pub mask: u8,
    pub url: Option<&'a str>,
    pub values: &'a [(char, &'a str)],
}

/// Octets, written at once and not one by one.
#[derive(Clone, Copy)]
pub(super) struct Octets<'a>(pub &'a [u8]);

impl Serialize for Octets<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// Writes to the end of a vector.
struct VecWriter<'a>(&'a mut Vec<u8>);

impl Flavor for VecWriter<'_> {
    type Output = ();

    #[inline(always)]
    fn try_extend(&mut self, data: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(data);
        Ok(())
    }

    #[inline(always)]
    fn try_push(&mut self, data: u8) -> postcard::Result<()> {
        self.0.push(data);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

impl MessageForm<'_> {
    /// Appends the record.
    pub(super) fn encode_into(&self, out: &mut Vec<u8>) {
        out.push(FORM);
        // A vector takes everything, and every length is known.
        postcard::serialize_with_flavor(&IntakeForm::Message(self), VecWriter(out))
            .expect("a message has a known length");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use records::{DlrRequest, Intake, Message, MessageClient, Short, ShortAddress, ShortText};

    fn written(message: &Message) -> Vec<u8> {
        let (MessageClient::Smpp(system_id), short) = (&message.party, &message.short) else {
            panic!("{message:?}")
        };
        let values: Vec<(char, &str)> =
            message.tell.values.iter().map(|(deliver_sm, value)| (*deliver_sm, &**value)).collect();
        let form = MessageForm {
            account: &message.account,
            party: MessageClientForm::Smpp(system_id),
            at: message.at,
            lane: message.lane,
            mode: message.mode,
            to: &message.to,
            short: ShortForm {
                source: ShortAddressForm { ton_npi: short.source.ton_npi, addr: &short.source.addr },
                dest: short.dest,
                text: match &short.text {
                    ShortText::Text { text, class } => ShortTextForm::Text { text, class: *class },
                    ShortText::Octets { data_coding, octets } => {
                        ShortTextForm::Octets { data_coding: *data_coding, octets: Octets(octets) }
                    }
                },
                udh: Octets(&short.udh),
                service_type: &short.service_type,
                esm_class: short.esm_class,
                protocol_id: short.protocol_id,
                priority_flag: short.priority_flag,
                replace_if_present: short.replace_if_present,
                registered_delivery: short.registered_delivery,
                tlvs: Octets(&short.tlvs),
            },
            not_before: message.not_before,
            expires: message.expires,
            route: message.route.as_deref(),
            tell: DlrRequestForm {
                mask: message.tell.mask,
                url: message.tell.url.as_deref(),
                values: &values,
            },
        };
        let mut octets = b"front".to_vec();
        form.encode_into(&mut octets);
        octets[5..].to_vec()
    }

    fn octets() -> impl Strategy<Value = Box<[u8]>> {
        prop::collection::vec(any::<u8>(), 0..300).prop_map(Vec::into_boxed_slice)
    }

    fn words() -> impl Strategy<Value = String> {
        prop::collection::vec(any::<char>(), 0..40).prop_map(String::from_iter)
    }

    fn shorts() -> impl Strategy<Value = Short> {
        let text = prop_oneof![
            (words(), any::<Option<u8>>())
                .prop_map(|(text, class)| ShortText::Text { text: text.into(), class }),
            (any::<u8>(), octets())
                .prop_map(|(data_coding, octets)| ShortText::Octets { data_coding, octets }),
        ];
        let source = (any::<Option<(u8, u8)>>(), words())
            .prop_map(|(ton_npi, addr)| ShortAddress { ton_npi, addr: addr.into() });
        let flags = any::<(u8, u8, Option<u8>, bool, Option<u8>)>();
        (source, any::<Option<(u8, u8)>>(), text, octets(), words(), flags, octets()).prop_map(
            |(source, dest, text, udh, service_type, flags, tlvs)| Short {
                source,
                dest,
                text,
                udh,
                service_type: service_type.into(),
                esm_class: flags.0,
                protocol_id: flags.1,
                priority_flag: flags.2,
                replace_if_present: flags.3,
                registered_delivery: flags.4,
                tlvs,
            },
        )
    }

    fn messages() -> impl Strategy<Value = Message> {
        let lane = prop_oneof![Just(Lane::Emergency), Just(Lane::Urgent), Just(Lane::Routine)];
        let mode = prop_oneof![Just(Mode::Live), Just(Mode::Drill)];
        let values = prop::collection::vec((any::<char>(), words()), 0..4);
        let tell =
            (any::<u8>(), prop::option::of(words()), values).prop_map(|(mask, url, values)| DlrRequest {
                mask,
                url: url.map(Into::into),
                values: values.into_iter().map(|(deliver_sm, value)| (deliver_sm, value.into())).collect(),
            });
        let times = any::<(i64, Option<i64>, i64)>();
        let names = (words(), words(), words(), prop::option::of(words()));
        (names, lane, mode, shorts(), times, tell).prop_map(|(names, lane, mode, short, times, tell)| {
            Message {
                account: names.0,
                party: MessageClient::Smpp(names.1),
                at: Timestamp(times.0),
                lane,
                mode,
                to: names.2,
                short,
                not_before: times.1.map(Timestamp),
                expires: Timestamp(times.2),
                route: names.3,
                tell,
            }
        })
    }

    proptest! {
        #[test]
        fn a_message_is_written_as_the_records_have_it(message in messages()) {
            let octets = written(&message);
            let record = Intake::Message(Box::new(message));
            prop_assert_eq!(&octets, &record.encode());
            prop_assert_eq!(Intake::decode(&octets).unwrap(), record);
        }
    }
}

//! Telnet filter takes the commands of RFC 854 out of what a person's client sends: every option is refused,
//! and CR NUL is a line end.

/// "Interpret as command" (RFC 854, "Telnet command structure").
pub const IAC: u8 = 255;
const DONT: u8 = 254;
const DO: u8 = 253;
const WONT: u8 = 252;
const WILL: u8 = 251;
/// Begins the parameters of an option (RFC 855).
const SB: u8 = 250;
/// Ends them.
const SE: u8 = 240;

/// Where the last octet left the filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum FilterState {
    #[default]
    Data,
    /// Behind a CR.
    CarriageReturn,
    /// Behind IAC.
    Command,
    /// Behind IAC and one of WILL, WONT, DO, DONT.
    Option(u8),
    /// In the parameters of an option.
    Parameters,
    /// In them, behind IAC.
    ParametersCommand,
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TelnetFilter {
    state: FilterState,
}

/// Whether a connection that begins so is one of telnet: a command with an option, or the parameters of one.
pub fn begins(octets: &[u8]) -> bool {
    matches!(octets, [IAC, SB..=DONT, ..])
}

impl TelnetFilter {
    /// Takes octets of the client: data go to `input`, refusals of options to `output`.
    pub fn take(&mut self, octets: &[u8], input: &mut Vec<u8>, output: &mut Vec<u8>) {
        for &octet in octets {
            self.state = self.step(octet, input, output);
        }
    }

    fn step(&self, octet: u8, input: &mut Vec<u8>, output: &mut Vec<u8>) -> FilterState {
        match (self.state, octet) {
            (FilterState::Data | FilterState::CarriageReturn, IAC) => FilterState::Command,
            (FilterState::Data | FilterState::CarriageReturn, b'\r') => {
                input.push(b'\r');
                FilterState::CarriageReturn
            }
            (FilterState::CarriageReturn, 0) => {
                input.push(b'\n');
                FilterState::Data
            }
            // NUL alone does nothing (RFC 854, "The NVT printer and keyboard").
            (FilterState::Data, 0) => FilterState::Data,
            (FilterState::Data | FilterState::CarriageReturn, data) => {
                input.push(data);
                FilterState::Data
            }
            (FilterState::Command, IAC) => {
                input.push(IAC);
                FilterState::Data
            }
            (FilterState::Command, WILL..=DONT) => FilterState::Option(octet),
            (FilterState::Command, SB) => FilterState::Parameters,
            (FilterState::Command, _) => FilterState::Data,
            (FilterState::Option(verb), option) => {
                // What the client will not do, or does not want done, is so already.
                match verb {
                    WILL => output.extend_from_slice(&[IAC, DONT, option]),
                    DO => output.extend_from_slice(&[IAC, WONT, option]),
                    _ => {}
                }
                FilterState::Data
            }
            (FilterState::Parameters, IAC) => FilterState::ParametersCommand,
            (FilterState::ParametersCommand, SE) => FilterState::Data,
            (FilterState::Parameters | FilterState::ParametersCommand, _) => FilterState::Parameters,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filtered<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, Vec<u8>) {
        let (mut filter, mut input, mut output) = (TelnetFilter::default(), Vec::new(), Vec::new());
        pieces.into_iter().for_each(|piece| filter.take(piece, &mut input, &mut output));
        (input, output)
    }

    #[test]
    fn each_command_of_rfc_854_is_taken_out_and_each_option_is_refused() {
        for (octets, input, output) in [
            (&b"help\r\n"[..], &b"help\r\n"[..], &b""[..]),
            (b"help\r\0", b"help\r\n", b""),
            (b"help\n", b"help\n", b""),
            (b"a\0b", b"ab", b""),
            (b"\xff\xfb\x18x", b"x", b"\xff\xfe\x18"),
            (b"\xff\xfd\x03x", b"x", b"\xff\xfc\x03"),
            (b"\xff\xfc\x01\xff\xfe\x01x", b"x", b""),
            (b"\xff\xfa\x1f\0\x50\0\x18\xff\xf0x", b"x", b""),
            (b"\xff\xfa\x18\0a\xff\xffb\n\xff\xf0x", b"x", b""),
            (b"\xff\xf1\xff\xf2\xff\xf4\xff\xf6x", b"x", b""),
            (b"a\xff\xffb", b"a\xffb", b""),
            (b"\r\xff\xf1\n", b"\r\n", b""),
            (b"a\r\r\n", b"a\r\r\n", b""),
        ] {
            assert_eq!(filtered([octets]), (input.to_vec(), output.to_vec()), "{octets:?}");
        }
    }

    #[test]
    fn a_connection_of_telnet_begins_with_an_option() {
        assert!(begins(b"\xff\xfd\x01") && begins(b"\xff\xfa\x18"));
        assert!(!begins(b"\xff") && !begins(b"\xff\xffx") && !begins(b"LIST") && !begins(b""));
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference_and_nothing_grows(
            octets in prop::collection::vec(prop_oneof![Just(IAC), 240..=254u8, Just(b'\r'), Just(0u8), any::<u8>()], 0..200),
            size in 1..9usize,
        ) {
            let (input, output) = filtered([&octets[..]]);
            prop_assert_eq!(filtered(octets.chunks(size)), (input.clone(), output.clone()));
            prop_assert!(input.len() + output.len() <= octets.len());
        }

        #[test]
        fn plain_text_passes_as_it_is(text in "[ -~\u{e5}\u{20ac}]{0,80}") {
            prop_assert_eq!(filtered([text.as_bytes()]), (text.as_bytes().to_vec(), Vec::new()));
        }
    }
}

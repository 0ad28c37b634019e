//! Keys of tests: the RSA key of RFC 7515 Appendix A.2, whose signatures are in that document.

use crate::text::from_base64url;
use ring::rsa::{KeyPair, KeyPairComponents, PublicKeyComponents};

const COMPONENTS: &str = include_str!("rfc7515_a2_key");

/// A component of the RSA key by its JWK name, in base64url.
pub(crate) fn component(name: &str) -> &'static str {
    COMPONENTS.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap()
}

/// The RSA key.
pub(crate) fn rsa() -> KeyPair {
    let octets = |name| from_base64url(component(name)).unwrap();
    KeyPair::from_components(&KeyPairComponents {
        public_key: PublicKeyComponents { n: octets("n"), e: octets("e") },
        d: octets("d"),
        p: octets("p"),
        q: octets("q"),
        dP: octets("dP"),
        dQ: octets("dQ"),
        qInv: octets("qInv"),
    })
    .unwrap()
}

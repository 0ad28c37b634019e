//! Signature of a request after Standard Webhooks, verified as a receiver does.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

/// What a secret begins with.
const PREFIX: &str = "whsec_";
/// The version of a signature that is verified.
const VERSION: &str = "v1,";

/// Verifies requests under one secret.
pub(super) struct Verifier {
    key: Option<hmac::Key>,
    tolerance_s: u64,
}

/// The headers of a request.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SignedHeaders<'a> {
    pub(super) id: &'a str,
    pub(super) timestamp: &'a str,
    pub(super) signature: &'a str,
}

impl Verifier {
    /// Without a secret everything passes.
    pub(super) fn new(secret: Option<&str>, tolerance_s: u64) -> Result<Verifier, String> {
        let key = secret.map(|secret| {
            let coded = secret.strip_prefix(PREFIX).ok_or(format!("secret: does not begin with {PREFIX}"))?;
            let octets = STANDARD.decode(coded).map_err(|error| format!("secret: {error}"))?;
            Ok::<_, String>(hmac::Key::new(hmac::HMAC_SHA256, &octets))
        });
        Ok(Verifier { key: key.transpose()?, tolerance_s })
    }

    /// Whether one of the signatures is right, and its moment is about now.
    pub(super) fn verify(&self, headers: SignedHeaders<'_>, body: &[u8], now_s: u64) -> bool {
        let Some(key) = &self.key else { return true };
        let is_now = headers.timestamp.parse().is_ok_and(|at: u64| now_s.abs_diff(at) <= self.tolerance_s);
        let mut signed = format!("{}.{}.", headers.id, headers.timestamp).into_bytes();
        signed.extend_from_slice(body);
        let is_right = |signature: &str| {
            let octets = signature.strip_prefix(VERSION).and_then(|coded| STANDARD.decode(coded).ok());
            octets.is_some_and(|octets| hmac::verify(key, &signed, &octets).is_ok())
        };
        is_now && !headers.id.is_empty() && headers.signature.split(' ').any(is_right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standards_own_example_is_verified_and_nothing_else() {
        // From the reference libraries' tests.
        let verifier = Verifier::new(Some("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), 300).unwrap();
        let right = SignedHeaders {
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
            timestamp: "1614265330",
            signature: "v1,AAAA v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        };
        let (body, now) = (&br#"{"test": 2432232314}"#[..], 1_614_265_400);
        assert!(verifier.verify(right, body, now));
        assert!(!verifier.verify(right, b"{}", now));
        assert!(!verifier.verify(right, body, now + 1_000), "it is too old");
        assert!(!verifier.verify(SignedHeaders { id: "msg", ..right }, body, now));
        assert!(!verifier.verify(SignedHeaders { signature: "", ..right }, body, now));
        assert!(Verifier::new(None, 0).unwrap().verify(SignedHeaders::default(), body, now));
    }
}

//! Standard Webhooks: `webhook-id`, `webhook-timestamp`, `webhook-signature`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use records::{Account, Timestamp};
use ring::hmac;

use settings::Secret;

/// What a secret begins with.
const PREFIX: &str = "whsec_";
/// Octets of a secret, by the standard.
const OCTETS: std::ops::RangeInclusive<usize> = 24..=64;
/// Secrets at a time.
const SECRETS_MAX: usize = 4;

/// Signs notices.
#[derive(Clone)]
pub struct Signer {
    keys: Vec<hmac::Key>,
}

impl Signer {
    /// From secrets as they stand in the config.
    ///
    /// # Errors
    /// None or too many of them, or one that is not a secret.
    pub fn new(secrets: &[Secret]) -> Result<Signer, String> {
        if secrets.is_empty() || secrets.len() > SECRETS_MAX {
            return Err(format!("{} secrets are outside 1 to {SECRETS_MAX}", secrets.len()));
        }
        Ok(Signer { keys: secrets.iter().map(key).collect::<Result<_, _>>()? })
    }

    /// The signer with the secrets of an account other than `default`, as [`account_secret`] makes them.
    pub fn of_account(&self, account: &str) -> Signer {
        let own = |key| hmac::Key::new(hmac::HMAC_SHA256, made(key, account).as_ref());
        Signer { keys: self.keys.iter().map(own).collect() }
    }

    /// The value of `webhook-signature`, one signature for each secret.
    pub fn sign(&self, id: &str, seconds: i64, body: &str) -> String {
        let signed = format!("{id}.{seconds}.{body}");
        let one = |key: &hmac::Key| format!("v1,{}", STANDARD.encode(hmac::sign(key, signed.as_bytes())));
        self.keys.iter().map(one).collect::<Vec<_>>().join(" ")
    }
}

/// The secret that signs callbacks of an account, in the form of Standard Webhooks. The account `default`
/// has the installation's; of any other it is made: HMAC-SHA256 with the installation's octets as key, of
/// `campanile: callbacks of account` and the name. So no account can sign what another one receives.
///
/// # Errors
/// The installation's secret is no secret.
pub fn account_secret(secret: &Secret, account: &str) -> Result<Secret, String> {
    let whole = key(secret)?;
    if account == Account::DEFAULT {
        return Ok(secret.clone());
    }
    Ok(Secret::from(format!("{PREFIX}{}", STANDARD.encode(made(&whole, account)))))
}

fn made(key: &hmac::Key, account: &str) -> hmac::Tag {
    hmac::sign(key, format!("campanile: callbacks of account {account}").as_bytes())
}

/// Whole seconds since 1970.
pub(crate) fn seconds(at: Timestamp) -> i64 {
    const MICROS: i64 = 1_000_000;
    at.0.div_euclid(MICROS)
}

fn key(secret: &Secret) -> Result<hmac::Key, String> {
    let coded = secret.reveal().strip_prefix(PREFIX).ok_or(format!("a secret begins with {PREFIX}"))?;
    let octets = STANDARD.decode(coded).map_err(|_| format!("the part behind {PREFIX} is not base64"))?;
    if !OCTETS.contains(&octets.len()) {
        return Err(format!(
            "a secret of {} octets is outside {} to {}",
            octets.len(),
            OCTETS.start(),
            OCTETS.end()
        ));
    }
    Ok(hmac::Key::new(hmac::HMAC_SHA256, &octets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_that_of_the_standards_own_example() {
        // From the reference libraries' tests.
        let signer = Signer::new(&["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".into()]).unwrap();
        let signature = signer.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn two_secrets_make_two_signatures() {
        let one = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let two = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
        let both = Signer::new(&[one.into(), two.into()]).unwrap().sign("id", 1, "body");
        let each = [one, two].map(|secret| Signer::new(&[secret.into()]).unwrap().sign("id", 1, "body"));
        assert_eq!(both, each.join(" "));
    }

    #[test]
    fn each_account_has_a_secret_of_its_own_and_the_default_one_the_installations() {
        let secret = Secret::from("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let signer = Signer::new(std::slice::from_ref(&secret)).unwrap();
        let own = |account: &str| account_secret(&secret, account).unwrap();
        assert_eq!(own("default").reveal(), secret.reveal());
        for (account, other) in [("north", "south"), ("south", "north"), ("north", "default")] {
            let made = Signer::new(&[own(account)]).unwrap().sign("id", 1, "body");
            assert_eq!(made, signer.of_account(account).sign("id", 1, "body"), "{account}");
            assert_ne!(made, Signer::new(&[own(other)]).unwrap().sign("id", 1, "body"), "{account}");
        }
        assert!(account_secret(&"hunter2".into(), "north").is_err());
    }

    #[test]
    fn what_is_no_secret_is_refused_without_repeating_it() {
        let long = format!("whsec_{}", STANDARD.encode([7; 65]));
        for secret in ["", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_!!!", "whsec_c2hvcnQ=", &long] {
            let error = Signer::new(&[secret.into()]).err().unwrap();
            assert!(secret.is_empty() || !error.contains(secret), "{error}");
        }
        assert!(Signer::new(&[]).is_err());
    }
}

//! Claims of a person (OIDC Core §5.1) as a user: subject, address, name, groups.

use super::id_token::IdClaims;
use crate::text::shown;
use serde_json::{Map, Value};

/// Groups of a person; further ones are left out.
pub const GROUPS_MAX: usize = 1_000;
/// Characters of a group's name; longer ones are left out, as a part of a name could be another group's.
pub const GROUP_CHARACTERS_MAX: usize = 256;
/// Characters of a person's name; further ones are cut off.
pub const NAME_CHARACTERS_MAX: usize = 200;
/// Octets of a mail address (RFC 5321 §4.5.3.1.3); a longer one is left out.
pub const MAIL_OCTETS_MAX: usize = 254;

/// A person, as a provider names them. Only `subject` together with the issuer says who it is: addresses and
/// names change hands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcUser {
    /// `sub`.
    pub subject: String,
    /// `email`.
    pub mail: Option<String>,
    /// `email_verified`: the provider saw to it that the address is theirs. To a user who exists it ties
    /// nobody without this.
    pub is_mail_verified: bool,
    /// `name`, or given and family name, or `preferred_username`.
    pub name: Option<String>,
    /// Groups by the configured claim; nothing: the token has no such claim, which is not the same as none.
    pub groups: Option<Vec<String>>,
    /// There are more groups than fit a token, at another endpoint (OIDC Core §5.6.2, `_claim_names`).
    pub has_groups_elsewhere: bool,
}

/// The user of a valid token. `groups_claim` is the claim's name, as `groups`; where no claim has it as a
/// whole, full stops lead into objects, as `realm_access.roles`.
pub fn user(claims: &IdClaims, groups_claim: &str) -> OidcUser {
    let all = &claims.all;
    let mail = all.get("email").and_then(Value::as_str);
    let mail = mail.filter(|mail| mail.len() <= MAIL_OCTETS_MAX && is_mail(mail)).map(str::to_owned);
    let elsewhere = all.get("_claim_names").and_then(Value::as_object);
    OidcUser {
        subject: claims.subject.clone(),
        is_mail_verified: mail.is_some() && all.get("email_verified").is_some_and(is_true),
        mail,
        name: name(all),
        groups: find(all, groups_claim).and_then(groups),
        has_groups_elsewhere: elsewhere.is_some_and(|names| names.contains_key(groups_claim)),
    }
}

/// Some providers write the word.
fn is_true(value: &Value) -> bool {
    match value {
        Value::Bool(value) => *value,
        Value::String(word) => word == "true",
        _ => false,
    }
}

fn is_mail(mail: &str) -> bool {
    let is_clean = mail.chars().all(|c| !c.is_control() && !c.is_whitespace());
    is_clean && mail.rsplit_once('@').is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty())
}

fn name(all: &Map<String, Value>) -> Option<String> {
    let text = |claim| {
        let text = all.get(claim).and_then(Value::as_str)?;
        Some(shown(text.trim(), NAME_CHARACTERS_MAX)).filter(|text| !text.is_empty())
    };
    let both = || {
        let parts: Vec<String> = ["given_name", "family_name"].into_iter().filter_map(text).collect();
        Some(parts.join(" ")).filter(|name| !name.is_empty())
    };
    text("name").or_else(both).or_else(|| text("preferred_username"))
}

fn find<'a>(all: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    if let Some(value) = all.get(path) {
        return Some(value);
    }
    let mut steps = path.split('.');
    let first = all.get(steps.next()?)?;
    steps.try_fold(first, |value, step| value.get(step))
}

/// A list of names, or one name.
fn groups(value: &Value) -> Option<Vec<String>> {
    let list = match value {
        Value::Array(list) => list.as_slice(),
        Value::String(_) => std::slice::from_ref(value),
        _ => return None,
    };
    let is_name = |name: &&str| {
        !name.is_empty()
            && name.len() <= 4 * GROUP_CHARACTERS_MAX
            && name.chars().count() <= GROUP_CHARACTERS_MAX
    };
    let names = list.iter().filter_map(Value::as_str).filter(is_name).take(GROUPS_MAX);
    Some(names.map(str::to_owned).collect())
}

//! Addresses in the form they are kept: E.164 for phones (ITU-T E.164, 6.2), addr-spec for mail (RFC 5322, 3.4.1).

use phonenumber::Mode;
use phonenumber::country::Id;
use std::sync::Arc;

/// E.164 allows so many digits, country code included.
const PHONE_DIGITS_MAX: usize = 15;
/// No country has shorter numbers that can be reached from abroad.
const PHONE_DIGITS_MIN: usize = 7;
/// RFC 5321, 4.5.3.1.1.
const MAIL_LOCAL_OCTETS_MAX: usize = 64;
/// RFC 5321, 4.5.3.1.3, less the angle brackets.
const MAIL_OCTETS_MAX: usize = 254;
/// RFC 1035, 2.3.4.
const LABEL_OCTETS_MAX: usize = 63;
/// Edge sites that are named to who named another one.
const SITES_TOLD: usize = 5;
/// How people separate the digits they write.
const PHONE_SEPARATORS: &str = " -.()/\u{a0}\u{2010}\u{2011}\u{2013}";

/// What is known of addresses: what fills in what one leaves out, and which edge sites there are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Defaults {
    region: Option<Id>,
    /// In order. Empty: another process has them, so that nobody here can tell.
    edge_sites: Arc<[String]>,
}

impl Defaults {
    /// National phone numbers are those of this region: two letters of ISO 3166-1, such as `SE`.
    pub fn in_region(region: &str) -> Result<Defaults, String> {
        match region.to_ascii_uppercase().parse() {
            Ok(id) => Ok(Defaults { region: Some(id), ..Defaults::default() }),
            Err(_) => Err(format!("region {region:?} is unknown: two letters of ISO 3166-1, such as SE")),
        }
    }

    /// The same, where these are all edge sites; with none of them any may be one.
    #[must_use]
    pub fn with_edge_sites(self, sites: impl IntoIterator<Item = String>) -> Defaults {
        let mut sites: Vec<String> = sites.into_iter().collect();
        sites.sort_unstable();
        Defaults { edge_sites: sites.into(), ..self }
    }

    /// The same, where any name may be an edge site's: of what was taken once, the site may be gone since.
    #[must_use]
    pub fn with_any_edge_site(&self) -> Defaults {
        Defaults { region: self.region, ..Defaults::default() }
    }
}

/// An edge site's name. It must be one of those that are known, if some are.
pub fn edge_site(text: &str, defaults: &Defaults) -> Result<String, String> {
    let name = records::checked_edge_site(text.trim())?;
    let known = &defaults.edge_sites;
    if known.is_empty() || known.binary_search(&name).is_ok() {
        return Ok(name);
    }
    let mut told = known[..known.len().min(SITES_TOLD)].join(", ");
    if known.len() > SITES_TOLD {
        told = format!("{told} and {} more", known.len() - SITES_TOLD);
    }
    Err(format!(
        "{name:?} is no edge site of this server, which has {told}: correct the name, or add a [[edge.site]] with it to the config"
    ))
}

/// A phone number as `+` and digits. National numbers need a default region.
pub fn phone(text: &str, defaults: &Defaults) -> Result<String, String> {
    if let Some(digits) = text.strip_prefix('+')
        && digits.bytes().all(|octet| octet.is_ascii_digit())
    {
        return international(digits);
    }
    let text = text.trim();
    let number = text.strip_prefix("tel:").unwrap_or(text);
    let digits = number.strip_prefix('+').unwrap_or(number);
    if let Some(strange) = digits.chars().find(|c| !(c.is_ascii_digit() || PHONE_SEPARATORS.contains(*c))) {
        return Err(format!("{text:?} is not a phone number: it has {strange:?}"));
    }
    // Written with 00 it is international, unless a region says what 00 means there.
    let opened = match (number.strip_prefix("00"), defaults.region) {
        (Some(rest), None) => format!("+{rest}"),
        _ => number.to_owned(),
    };
    if !opened.starts_with('+') && defaults.region.is_none() {
        return Err(format!("{text:?} has no country code: write it with +, or set a default region"));
    }
    let parsed = phonenumber::parse(defaults.region, opened).map_err(|error| format!("{text:?}: {error}"))?;
    international(parsed.format().mode(Mode::E164).to_string().trim_start_matches('+'))
}

fn international(digits: &str) -> Result<String, String> {
    if !(PHONE_DIGITS_MIN..=PHONE_DIGITS_MAX).contains(&digits.len()) {
        let len = digits.len();
        return Err(format!(
            "+{digits} has {len} digits, a number has {PHONE_DIGITS_MIN} to {PHONE_DIGITS_MAX}"
        ));
    }
    if !has_country_code(digits.as_bytes()) {
        return Err(format!("+{digits} does not begin with a country code"));
    }
    Ok(format!("+{digits}"))
}

/// Begins with a country code that is assigned (ITU Operational Bulletin, list of E.164 assigned country codes).
fn has_country_code(digits: &[u8]) -> bool {
    let digit = |place: usize| digits.get(place).map_or(0, |octet| u16::from(octet - b'0'));
    let (one, two) = (digit(0), digit(0) * 10 + digit(1));
    let three = two * 10 + digit(2);
    match one {
        1 => digits.len() == 11,
        7 => digits.len() == 11,
        _ => {
            matches!(two, 20 | 27 | 30..=34 | 36 | 39..=41 | 43..=49 | 51..=58 | 60..=66 | 81 | 82 | 84 | 86 | 90..=95 | 98)
                || matches!(three,
                    211..=213 | 216 | 218 | 220..=258 | 260..=269 | 290 | 291 | 297..=299 | 350..=359 | 370..=383
                    | 385..=387 | 389 | 420 | 421 | 423 | 500..=509 | 590..=599 | 670 | 672..=683 | 685..=692 | 800 | 808
                    | 850 | 852 | 853 | 855 | 856 | 870 | 878 | 880..=883 | 886 | 888 | 960..=968 | 970..=977 | 979
                    | 992..=996 | 998)
        }
    }
}

/// A mail address with its domain in lower case.
pub fn mail(text: &str) -> Result<String, String> {
    let text = text.trim();
    let refused = |why: &str| Err(format!("{text:?} is not a mail address: {why}"));
    let Some((local, domain)) = text.rsplit_once('@') else {
        return refused("it has no @");
    };
    if text.len() > MAIL_OCTETS_MAX || local.len() > MAIL_LOCAL_OCTETS_MAX {
        return Err(format!(
            "a mail address of {} octets is too long: at most {MAIL_OCTETS_MAX}, {MAIL_LOCAL_OCTETS_MAX} before the @",
            text.len()
        ));
    }
    if !text.is_ascii() {
        return refused("write it in ASCII, the domain in its xn-- form");
    }
    if !is_local(local) {
        return refused("what stands before the @ cannot");
    }
    if !is_domain(domain) {
        return refused("what stands behind the @ is not a domain");
    }
    Ok(format!("{local}@{}", domain.to_ascii_lowercase()))
}

/// dot-atom or quoted-string (RFC 5322, 3.2.3 and 3.2.4), without comments and folding.
fn is_local(local: &str) -> bool {
    if let Some(quoted) = local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        let mut escaped = false;
        let plain = quoted.bytes().all(|octet| {
            let bare = !escaped && octet == b'"';
            escaped = !escaped && octet == b'\\';
            (b' '..=b'~').contains(&octet) && !bare
        });
        return plain && !escaped;
    }
    let atom = |atom: &str| !atom.is_empty() && atom.bytes().all(is_atext);
    local.split('.').all(atom)
}

fn is_atext(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&octet)
}

fn is_domain(domain: &str) -> bool {
    if let Some(literal) = domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let v6 = literal.strip_prefix("IPv6:").map(|v6| v6.parse::<std::net::Ipv6Addr>().is_ok());
        return v6.unwrap_or_else(|| literal.parse::<std::net::Ipv4Addr>().is_ok());
    }
    let label = |label: &str| {
        (1..=LABEL_OCTETS_MAX).contains(&label.len())
            && label.bytes().all(|octet| octet.is_ascii_alphanumeric() || octet == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    domain.split('.').all(label)
}

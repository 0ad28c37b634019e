//! Final-Unit-Indication tells clients what to do when the last units are used (RFC 8506, sections 5.6 and
//! 8.34).

use diameter::credit::answer::{ExtendedFinalUnit, FinalUnit, RedirectServer};
use diameter::header::{HEADER_OCTETS, Header};
use diameter::write::Writer;
use ledger::config::FinalAction;
use std::net::IpAddr;

/// Where subscribers without money are sent, or what they may still do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FinalUnits {
    /// A URL, a SIP URI or an IP address: for [`FinalAction::Redirect`].
    pub redirect: Option<String>,
    /// IPFilterRules of what stays allowed: for [`FinalAction::RestrictAccess`].
    pub rules: Vec<String>,
    /// Names of filters that clients know: likewise.
    pub filters: Vec<String>,
    /// As QoS-Final-Unit-Indication (section 8.68), for clients that know RFC 8506 and not only RFC 4006.
    pub extended: bool,
}

impl FinalUnits {
    /// What is wrong with them for this action, in words.
    ///
    /// # Errors
    /// A key and what it needs.
    pub fn check(&self, action: FinalAction) -> Result<(), (&'static str, String)> {
        match action {
            FinalAction::Redirect if self.redirect.is_none() => {
                Err(("redirect", "is needed: a URL, a SIP URI or an IP address".to_owned()))
            }
            FinalAction::RestrictAccess if self.rules.is_empty() && self.filters.is_empty() => {
                Err(("rules", "rules or filters are needed: what stays allowed".to_owned()))
            }
            FinalAction::RestrictAccess if self.extended && !self.rules.is_empty() => {
                Err(("rules", "cannot be told in QoS-Final-Unit-Indication: name filters".to_owned()))
            }
            _ => Ok(()),
        }
    }

    fn server(&self) -> Option<RedirectServer<'_>> {
        let address = self.redirect.as_deref()?;
        if let Ok(ip) = address.parse::<IpAddr>() {
            return Some(RedirectServer::Ip(ip));
        }
        let is_sip = ["sip:", "sips:"].iter().any(|scheme| {
            address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        });
        Some(if is_sip { RedirectServer::SipUri(address) } else { RedirectServer::Url(address) })
    }

    /// The AVPs, written once.
    pub(super) fn written(&self) -> Written {
        let rules: Vec<&str> = self.rules.iter().map(String::as_str).collect();
        let filters: Vec<&str> = self.filters.iter().map(String::as_str).collect();
        let terminate = match self.extended {
            true => FinalUnit::Extended(ExtendedFinalUnit::Terminate),
            false => FinalUnit::Terminate,
        };
        let redirect = self.server().map(|server| match self.extended {
            true => FinalUnit::Extended(ExtendedFinalUnit::Redirect(server)),
            false => FinalUnit::Redirect(server),
        });
        let restrict = match self.extended {
            true => FinalUnit::Extended(ExtendedFinalUnit::RestrictAccess { filters: &filters }),
            false => FinalUnit::RestrictAccess { rules: &rules, filters: &filters },
        };
        let terminate = octets(&terminate);
        Written {
            redirect: redirect.map_or_else(|| terminate.clone(), |redirect| octets(&redirect)),
            restrict: octets(&restrict),
            terminate,
        }
    }
}

fn octets(unit: &FinalUnit<'_>) -> Vec<u8> {
    let mut octets = Vec::new();
    let mut writer = Writer::message(&mut octets, &Header::default());
    unit.write(&mut writer);
    writer.finish();
    octets.split_off(HEADER_OCTETS)
}

/// Final-Unit-Indication of each action, as it is sent.
pub(super) struct Written {
    terminate: Vec<u8>,
    redirect: Vec<u8>,
    restrict: Vec<u8>,
}

impl Written {
    pub(super) fn of(&self, action: u8) -> &[u8] {
        match action {
            1 => &self.redirect,
            2 => &self.restrict,
            _ => &self.terminate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use diameter::avp::Avps;
    use diameter::dictionary::avp;

    #[test]
    fn each_kind_of_address_is_told_by_its_type() {
        for (address, kind) in
            [("10.0.0.1", 0), ("2001:db8::1", 1), ("https://topup.example/", 2), ("SIP:help@town.test", 3)]
        {
            let units = FinalUnits { redirect: Some(address.to_owned()), ..FinalUnits::default() };
            let written = units.written();
            let found = Avps::new(written.of(1)).next().unwrap().unwrap();
            assert_eq!(found.name, avp::FINAL_UNIT_INDICATION);
            let member = |name| found.group().find_name(name).unwrap();
            assert_eq!(member(avp::FINAL_UNIT_ACTION).i32(), Ok(1));
            let server = member(avp::REDIRECT_SERVER);
            let of = |name| server.group().find_name(name).unwrap();
            assert_eq!(of(avp::REDIRECT_ADDRESS_TYPE).i32(), Ok(kind), "{address}");
            assert_eq!(of(avp::REDIRECT_SERVER_ADDRESS).data, address.as_bytes());
        }
    }

    #[test]
    fn an_action_without_what_it_needs_is_refused_by_its_key() {
        let none = FinalUnits::default();
        assert_eq!(none.check(FinalAction::Terminate), Ok(()));
        assert_eq!(none.check(FinalAction::Redirect).unwrap_err().0, "redirect");
        assert_eq!(none.check(FinalAction::RestrictAccess).unwrap_err().0, "rules");
        let rules =
            FinalUnits { rules: vec!["permit in ip from any to 10.0.0.1".into()], extended: true, ..none };
        assert_eq!(rules.check(FinalAction::RestrictAccess).unwrap_err().0, "rules");
        let filters = FinalUnits { rules: Vec::new(), filters: vec!["topup".into()], ..rules };
        assert_eq!(filters.check(FinalAction::RestrictAccess), Ok(()));
        let found = filters.written();
        let found = Avps::new(found.of(2)).next().unwrap().unwrap();
        assert_eq!(found.name, avp::QOS_FINAL_UNIT_INDICATION);
        assert_eq!(found.group().find_name(avp::FILTER_ID).unwrap().data, b"topup");
    }
}

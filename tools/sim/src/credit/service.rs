//! Services of a request and their cost: a service-specific unit 1, a second 1, a million octets (begun) 1.

use diameter::credit::answer::{FinalUnit, Grant, ServiceGrant};
use diameter::credit::{CreditControlRequest, Units};
use diameter::result_code;

/// Octets that cost 1.
const MEGABYTE: u64 = 1_000_000;
/// Services of one request; a longer one is refused.
const SERVICES_MAX: usize = 64;

/// Rating-Group and Service-Identifier of a Multiple-Services-Credit-Control. `None`: units at the top of the
/// request.
pub(super) type Key = Option<(Option<u32>, Option<u32>)>;

/// One service of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) key: Key,
    /// `None`: nothing is asked for.
    pub(super) requested: Option<Units>,
    /// What it used costs so much.
    pub(super) used: u64,
}

/// What one service of an answer is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Granted {
    pub(super) key: Key,
    pub(super) code: u32,
    pub(super) units: Option<Units>,
    /// There is no more behind them.
    pub(super) is_final: bool,
}

/// The services of a request.
///
/// # Errors
/// Units that have no price here, or of which nothing is said; more services than are taken.
pub(super) fn asked(request: &CreditControlRequest<'_>) -> Result<Vec<Asked>, ()> {
    let mut all = Vec::new();
    for service in request.services() {
        let service = service.map_err(|_| ())?;
        let used = used(service.used().map_while(Result::ok).map(|used| used.units))?;
        let key = Some((service.rating_group, service.service_identifier));
        all.push(Asked { key, requested: priced(service.requested)?, used });
    }
    if all.len() > SERVICES_MAX {
        return Err(());
    }
    let used = used(request.used().map_while(Result::ok).map(|used| used.units))?;
    let requested = priced(request.requested)?;
    if all.is_empty() && (requested.is_some() || used > 0) {
        all.push(Asked { key: None, requested, used });
    }
    Ok(all)
}

/// Units that have a price; input and output beside their total count for nothing.
fn priced(units: Option<Units>) -> Result<Option<Units>, ()> {
    let Some(units) = units else { return Ok(None) };
    let Units { specific, time_s, total_octets, .. } = units;
    let known = Units { specific, time_s, total_octets, ..Units::default() };
    let has_parts = total_octets.is_none() && units.input_octets.or(units.output_octets).is_some();
    let is_unknown = known.is_empty() || units.money.is_some() || has_parts;
    if is_unknown { Err(()) } else { Ok(Some(known)) }
}

fn used(all: impl Iterator<Item = Units>) -> Result<u64, ()> {
    let mut sum = 0_u64;
    for units in all.filter(|units| !units.is_empty()) {
        let cost = priced(Some(units))?.as_ref().map_or(0, price);
        sum = sum.checked_add(cost).ok_or(())?;
    }
    Ok(sum)
}

fn price(units: &Units) -> u64 {
    let octets = units.total_octets.unwrap_or(0).div_ceil(MEGABYTE);
    units.specific.unwrap_or(0).saturating_add(units.time_s.unwrap_or(0).into()).saturating_add(octets)
}

impl Asked {
    /// What it asks for costs so much.
    pub(super) fn price(&self) -> u64 {
        self.requested.as_ref().map_or(0, price)
    }

    /// All that it asks for.
    pub(super) fn in_whole(&self) -> Granted {
        Granted { key: self.key, code: result_code::SUCCESS, units: self.requested, is_final: false }
    }

    /// As much of what it asks for as so much pays.
    pub(super) fn within(&self, mut left: u64) -> Granted {
        let Some(wanted) = self.requested.filter(|_| self.price() > left) else { return self.in_whole() };
        let mut pay = |count: u64| {
            let paid = count.min(left);
            left -= paid;
            paid
        };
        let units = Units {
            specific: wanted.specific.map(&mut pay),
            time_s: wanted.time_s.map(|seconds| u32::try_from(pay(seconds.into())).unwrap_or(u32::MAX)),
            total_octets: wanted
                .total_octets
                .map(|octets| octets.min(pay(octets.div_ceil(MEGABYTE)).saturating_mul(MEGABYTE))),
            ..Units::default()
        };
        match price(&units) {
            0 => Granted { code: result_code::CREDIT_LIMIT_REACHED, units: None, ..self.in_whole() },
            _ => Granted { units: Some(units), is_final: true, ..self.in_whole() },
        }
    }
}

impl Granted {
    /// What it is told at the top of the answer, or in its Multiple-Services-Credit-Control.
    pub(super) fn grant(&self) -> Option<Grant> {
        self.units.map(Grant::of)
    }

    /// Its Final-Unit-Indication.
    pub(super) fn final_unit(&self) -> Option<FinalUnit<'static>> {
        self.is_final.then_some(FinalUnit::Terminate)
    }

    /// Its Multiple-Services-Credit-Control; nothing for what stands at the top. `identifier` holds its
    /// Service-Identifier.
    pub(super) fn control<'a>(&self, identifier: &'a [u32]) -> Option<ServiceGrant<'a>> {
        let (rating_group, _) = self.key?;
        Some(ServiceGrant {
            granted: self.grant(),
            service_identifiers: identifier,
            rating_group,
            result_code: Some(self.code),
            final_unit: self.final_unit(),
            ..ServiceGrant::default()
        })
    }
}

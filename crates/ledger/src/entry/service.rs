//! A service of an entry, and how it stands on disk: which fields are there (varint), then those fields, the
//! usual ones first.

use super::SUCCESS;
use crate::request::{Terms, Units, Weights};
use crate::varint::{Cursor, Reader};

/// One service of the entry: its charging record, its answer, and what is reserved for it from now on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceEntry {
    pub rating_group: Option<u32>,
    pub service_id: Option<u32>,
    pub result: u32,
    pub used: Units,
    pub granted: Units,
    /// What was taken for this service, by the record; the moves say it of the account.
    pub cost: i64,
    /// What is reserved for it after this entry, in minor units.
    pub reserved: i64,
    /// What was used and could not be paid.
    pub shortfall: i64,
    /// Which tariff it was; 0: the built-in one.
    pub tariff: u16,
    pub validity_s: u32,
    pub is_final: bool,
    pub terms: Terms,
    /// It is no part of the answer: the record of what was used before the tariff changed, before that of the
    /// service; or what a service that the request did not name still holds of a credit pool.
    pub is_part: bool,
    /// Specific units taken from bundles of messages.
    pub bundled: u64,
    /// Specific units of bundles that are reserved for it after this entry.
    pub bundle_reserved: u64,
}

/// Room for a service: fields 3, twice units 36, cost, reserved, shortfall and both of bundles 50, result,
/// group, id and validity 20, tariff 3, terms 12, pool 30: 190.
pub(super) const SERVICE_ROOM: usize = 190;

mod service_field {
    pub const GRANTED: u64 = 1;
    pub const COST: u64 = 1 << 1;
    pub const RESULT: u64 = 1 << 2; // else 2001
    pub const RATING_GROUP: u64 = 1 << 3;
    pub const SERVICE_ID: u64 = 1 << 4;
    pub const USED: u64 = 1 << 5;
    pub const RESERVED: u64 = 1 << 6;
    pub const SHORTFALL: u64 = 1 << 7;
    pub const TARIFF: u64 = 1 << 8;
    pub const VALIDITY: u64 = 1 << 9;
    pub const FINAL: u64 = 1 << 10;
    pub const BUNDLED: u64 = 1 << 11;
    pub const BUNDLE_RESERVED: u64 = 1 << 12;
    pub const TERMS: u64 = 1 << 13;
    pub const PART: u64 = 1 << 14;
    pub const POOL: u64 = 1 << 15;
    pub const ALL: u64 = (1 << 16) - 1;
}

#[inline]
fn put_units(into: &mut Cursor<'_>, units: &Units) {
    into.octet(units.present);
    if units.present & Units::SPECIFIC != 0 {
        into.number(units.specific);
    }
    if units.present == Units::SPECIFIC {
        return;
    }
    if units.present & Units::TIME != 0 {
        into.number(u64::from(units.time_s));
    }
    if units.present & Units::OCTETS != 0 {
        into.number(units.octets);
    }
    if units.present & Units::MONEY != 0 {
        into.signed(units.money);
    }
}

fn units(reader: &mut Reader<'_>) -> Option<Units> {
    let mut units = Units { present: reader.octet()?, ..Units::default() };
    if units.present > 15 {
        return None;
    }
    if units.present & Units::SPECIFIC != 0 {
        units.specific = reader.number()?;
    }
    if units.present & Units::TIME != 0 {
        units.time_s = reader.number_u32()?;
    }
    if units.present & Units::OCTETS != 0 {
        units.octets = reader.number()?;
    }
    if units.present & Units::MONEY != 0 {
        units.money = reader.signed()?;
    }
    Some(units)
}

impl ServiceEntry {
    #[inline]
    fn fields(&self) -> u64 {
        use service_field::*;
        let mut fields = 0;
        let mut set = |is: bool, field: u64| fields |= if is { field } else { 0 };
        set(!self.granted.is_empty(), GRANTED);
        set(self.cost != 0, COST);
        set(self.result != SUCCESS, RESULT);
        set(self.rating_group.is_some(), RATING_GROUP);
        set(self.service_id.is_some(), SERVICE_ID);
        set(!self.used.is_empty(), USED);
        // One look for all of them: a service of an EVENT has none.
        let numbers = (self.reserved | self.shortfall) as u64 | self.bundled | self.bundle_reserved;
        let small = u32::from(self.tariff) | self.validity_s | u32::from(self.is_final | self.is_part);
        if numbers | u64::from(small) != 0 { fields | self.rare_fields() } else { fields }
    }

    fn rare_fields(&self) -> u64 {
        use service_field::*;
        let mut fields = 0;
        let mut set = |is: bool, field: u64| fields |= if is { field } else { 0 };
        set(self.reserved != 0, RESERVED);
        set(self.shortfall != 0, SHORTFALL);
        set(self.tariff != 0, TARIFF);
        set(self.validity_s != 0, VALIDITY);
        set(self.is_final, FINAL);
        set(self.bundled != 0, BUNDLED);
        set(self.bundle_reserved != 0, BUNDLE_RESERVED);
        set(self.terms != Terms { pool: self.terms.pool, ..Terms::default() }, TERMS);
        set(self.terms.pool != Weights::default(), POOL);
        set(self.is_part, PART);
        fields
    }

    #[inline]
    pub(super) fn encode(&self, into: &mut Cursor<'_>) {
        use service_field::*;
        let fields = self.fields();
        into.number(fields);
        if fields & GRANTED != 0 {
            put_units(into, &self.granted);
        }
        if fields & COST != 0 {
            into.signed(self.cost);
        }
        if fields & RESULT != 0 {
            into.number(u64::from(self.result));
        }
        if fields & RATING_GROUP != 0 {
            into.number(u64::from(self.rating_group.unwrap_or(0)));
        }
        if fields & SERVICE_ID != 0 {
            into.number(u64::from(self.service_id.unwrap_or(0)));
        }
        if fields >= USED {
            self.encode_rare(fields, into);
        }
    }

    #[inline(never)]
    fn encode_rare(&self, fields: u64, into: &mut Cursor<'_>) {
        use service_field::*;
        if fields & USED != 0 {
            put_units(into, &self.used);
        }
        for (field, value) in [
            (RESERVED, self.reserved as u64),
            (SHORTFALL, self.shortfall as u64),
            (TARIFF, u64::from(self.tariff)),
            (VALIDITY, u64::from(self.validity_s)),
            (BUNDLED, self.bundled),
            (BUNDLE_RESERVED, self.bundle_reserved),
        ] {
            if fields & field != 0 {
                into.number(value);
            }
        }
        if fields & TERMS != 0 {
            into.array([self.terms.final_action, self.terms.threshold_percent]);
            into.number(self.terms.holding_s.into());
            into.number(self.terms.tariff_change_s.into());
        }
        if fields & POOL != 0 {
            let Weights { time, octets, specific } = self.terms.pool;
            [time, octets, specific].into_iter().for_each(|weight| into.number(weight));
        }
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Option<ServiceEntry> {
        use service_field::*;
        let fields = reader.number()?;
        if fields & !ALL != 0 {
            return None;
        }
        let mut service =
            ServiceEntry { result: SUCCESS, is_final: fields & FINAL != 0, ..ServiceEntry::default() };
        service.is_part = fields & PART != 0;
        if fields & GRANTED != 0 {
            service.granted = units(reader)?;
        }
        if fields & COST != 0 {
            service.cost = reader.signed()?;
        }
        if fields & RESULT != 0 {
            service.result = reader.number_u32()?;
        }
        if fields & RATING_GROUP != 0 {
            service.rating_group = Some(reader.number_u32()?);
        }
        if fields & SERVICE_ID != 0 {
            service.service_id = Some(reader.number_u32()?);
        }
        if fields & USED != 0 {
            service.used = units(reader)?;
        }
        if fields & RESERVED != 0 {
            service.reserved = reader.number()? as i64;
        }
        if fields & SHORTFALL != 0 {
            service.shortfall = reader.number()? as i64;
        }
        if fields & TARIFF != 0 {
            service.tariff = reader.number()?.try_into().ok()?;
        }
        if fields & VALIDITY != 0 {
            service.validity_s = reader.number_u32()?;
        }
        if fields & BUNDLED != 0 {
            service.bundled = reader.number()?;
        }
        if fields & BUNDLE_RESERVED != 0 {
            service.bundle_reserved = reader.number()?;
        }
        if fields & TERMS != 0 {
            service.terms = Terms {
                final_action: reader.octet()?,
                threshold_percent: reader.octet()?,
                holding_s: reader.number_u32()?,
                tariff_change_s: reader.number_u32()?,
                pool: Weights::default(),
            };
        }
        if fields & POOL != 0 {
            service.terms.pool =
                Weights { time: reader.number()?, octets: reader.number()?, specific: reader.number()? };
        }
        Some(service)
    }
}

//! Authenticator data (§6.1): what the authenticator says and signs.
//!
//! ```text
//! rpIdHash      32   SHA-256 of the relying party's id
//! flags          1   UP 0x01, UV 0x04, BE 0x08, BS 0x10, AT 0x40, ED 0x80
//! signCount      4
//! with AT:  aaguid 16, length 2, credential id, COSE key (CBOR)
//! with ED:  extensions (a CBOR map)
//! ```

use super::cbor::{self, CborValue};
use super::relying_party::RelyingParty;
use super::{ID_OCTETS_MAX, PasskeyError, UserVerification};

const UP: u8 = 0x01;
const UV: u8 = 0x04;
const BE: u8 = 0x08;
const BS: u8 = 0x10;
const AT: u8 = 0x40;
const ED: u8 = 0x80;

pub(super) struct AuthenticatorData<'a> {
    rp_id_hash: &'a [u8],
    flags: u8,
    pub(super) sign_count: u32,
    /// The new credential; of a registration alone.
    pub(super) attested: Option<AttestedCredential<'a>>,
}

pub(super) struct AttestedCredential<'a> {
    pub(super) aaguid: [u8; 16],
    pub(super) id: &'a [u8],
    pub(super) key: CborValue,
}

impl<'a> AuthenticatorData<'a> {
    pub(super) fn read(octets: &'a [u8]) -> Result<AuthenticatorData<'a>, PasskeyError> {
        let mut rest = octets;
        let rp_id_hash = take(&mut rest, 32)?;
        let flags = take(&mut rest, 1)?[0];
        let sign_count = take(&mut rest, 4)?.iter().fold(0, |count, octet| count << 8 | u32::from(*octet));
        let attested = if flags & AT != 0 { Some(AttestedCredential::read(&mut rest)?) } else { None };
        if flags & ED != 0 && !matches!(take_cbor(&mut rest)?, CborValue::Map(_)) {
            return Err(PasskeyError::AuthenticatorData("has extensions that are no map"));
        }
        if !rest.is_empty() {
            return Err(PasskeyError::AuthenticatorData("has octets after its end"));
        }
        Ok(AuthenticatorData { rp_id_hash, flags, sign_count, attested })
    }

    /// Checks what both ceremonies check (§7.1 steps 14 to 18, §7.2 steps 15 to 19).
    pub(super) fn check(
        &self,
        party: &RelyingParty,
        verification: UserVerification,
    ) -> Result<(), PasskeyError> {
        if !party.is_id_hash(self.rp_id_hash) {
            return Err(PasskeyError::RpIdHash);
        }
        if self.flags & UP == 0 {
            return Err(PasskeyError::UserPresence);
        }
        if verification == UserVerification::Required && !self.is_user_verified() {
            return Err(PasskeyError::UserVerification);
        }
        if self.is_backed_up() && !self.is_backup_eligible() {
            return Err(PasskeyError::BackupState);
        }
        Ok(())
    }

    pub(super) fn is_user_verified(&self) -> bool {
        self.flags & UV != 0
    }

    pub(super) fn is_backup_eligible(&self) -> bool {
        self.flags & BE != 0
    }

    pub(super) fn is_backed_up(&self) -> bool {
        self.flags & BS != 0
    }
}

impl<'a> AttestedCredential<'a> {
    fn read(rest: &mut &'a [u8]) -> Result<AttestedCredential<'a>, PasskeyError> {
        let aaguid = take(rest, 16)?.try_into().unwrap_or_default();
        let length = take(rest, 2)?.iter().fold(0, |length, octet| length << 8 | usize::from(*octet));
        if !(1..=ID_OCTETS_MAX).contains(&length) {
            return Err(PasskeyError::AuthenticatorData("has a credential id that is empty or too long"));
        }
        let id = take(rest, length)?;
        Ok(AttestedCredential { aaguid, id, key: take_cbor(rest)? })
    }
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8], PasskeyError> {
    let (taken, left) =
        rest.split_at_checked(length).ok_or(PasskeyError::AuthenticatorData("ends too early"))?;
    *rest = left;
    Ok(taken)
}

fn take_cbor(rest: &mut &[u8]) -> Result<CborValue, PasskeyError> {
    let (value, used) = cbor::read_first(rest)?;
    *rest = &rest[used..];
    Ok(value)
}

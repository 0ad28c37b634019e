//! TimeStampToken: SignedData (RFC 5652, section 5) over a TSTInfo (RFC 3161, section 2.4.2), verified.

use super::der::{CONTEXT_0, DerReader, GENERALIZED_TIME, INTEGER, OCTET_STRING, OID, SEQUENCE, SET, Value};
use crate::EvidenceError;
use ring::digest;
use rustls_pki_types::{CertificateDer, SignatureVerificationAlgorithm, TrustAnchor, UnixTime};
use sha2::{Digest, Sha256};
use std::time::Duration;
use webpki::{EndEntityCert, KeyUsage};

/// Octets of a token, and of an answer, at most.
pub const TOKEN_OCTETS_MAX: usize = 64 << 10;
/// Certificates in a token at most.
const CERTIFICATES_MAX: usize = 16;

/// Object identifiers, as DER has them.
pub(super) const SHA256: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01];
const SHA384: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02];
const SHA512: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03];
const SIGNED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02];
const TST_INFO: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x10, 0x01, 0x04];
const CONTENT_TYPE: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x03];
const MESSAGE_DIGEST: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x04];
/// signingCertificate (RFC 2634) and signingCertificateV2 (RFC 5035).
const SIGNER_V1: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x10, 0x02, 0x0c];
const SIGNER_V2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x10, 0x02, 0x2f];
/// id-kp-timeStamping, the one purpose an authority's certificate has (RFC 3161, section 2.3).
const TIME_STAMPING: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x08];

/// Signatures of each hash: RSA (PKCS #1 1.5), ECDSA over P-256 and P-384.
const WITH_SHA256: &[&dyn SignatureVerificationAlgorithm] = &[
    webpki::ring::RSA_PKCS1_2048_8192_SHA256,
    webpki::ring::ECDSA_P256_SHA256,
    webpki::ring::ECDSA_P384_SHA256,
];
const WITH_SHA384: &[&dyn SignatureVerificationAlgorithm] = &[
    webpki::ring::RSA_PKCS1_2048_8192_SHA384,
    webpki::ring::ECDSA_P256_SHA384,
    webpki::ring::ECDSA_P384_SHA384,
];
const WITH_SHA512: &[&dyn SignatureVerificationAlgorithm] = &[webpki::ring::RSA_PKCS1_2048_8192_SHA512];

/// A token, as an authority signed it.
#[derive(Debug)]
pub struct TimestampToken<'a> {
    /// TSTInfo.
    info: &'a [u8],
    certificates: Vec<CertificateDer<'a>>,
    signer: Signer<'a>,
}

#[derive(Debug)]
struct Signer<'a> {
    digest: &'a [u8],
    /// With their tag `[0]`; they are signed with that of a SET.
    attributes: Value<'a>,
    signature: &'a [u8],
}

/// What a token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// When, as the authority's clock had it; RFC 3339.
    pub at: String,
    /// The request's nonce.
    pub nonce: Option<u64>,
    seconds: u64,
}

impl<'a> TimestampToken<'a> {
    /// Reads a token. Nothing is verified.
    ///
    /// # Errors
    /// [`EvidenceError::Timestamp`].
    pub fn parse(octets: &'a [u8]) -> Result<TimestampToken<'a>, EvidenceError> {
        read(octets).map_err(EvidenceError::Timestamp)
    }

    /// Whether it is a time stamp of these octets, and signed by the certificate in it. Whose certificate
    /// that is, [`TimestampToken::check_authority`] verifies.
    ///
    /// # Errors
    /// [`EvidenceError::Timestamp`].
    pub fn check(&self, data: &[u8]) -> Result<Stamp, EvidenceError> {
        self.checked(data).map(|(stamp, _)| stamp).map_err(EvidenceError::Timestamp)
    }

    /// The same, and that an authority of one of these roots (DER) signed it, whose certificate was valid
    /// then and is for time stamps.
    ///
    /// # Errors
    /// [`EvidenceError::Timestamp`].
    pub fn check_authority(&self, data: &[u8], roots: &[CertificateDer<'_>]) -> Result<Stamp, EvidenceError> {
        self.trusted(data, roots).map_err(EvidenceError::Timestamp)
    }

    fn trusted(&self, data: &[u8], roots: &[CertificateDer<'_>]) -> Result<Stamp, String> {
        let (stamp, signer) = self.checked(data)?;
        let anchor =
            |root| webpki::anchor_from_trusted_cert(root).map_err(|error| format!("a root: {error}"));
        let anchors: Vec<TrustAnchor<'_>> = roots.iter().map(anchor).collect::<Result<_, _>>()?;
        let certificate = EndEntityCert::try_from(signer).map_err(|error| error.to_string())?;
        let at = UnixTime::since_unix_epoch(Duration::from_secs(stamp.seconds));
        let usage = KeyUsage::required(TIME_STAMPING);
        let all = [WITH_SHA256, WITH_SHA384, WITH_SHA512].concat();
        let chain = certificate.verify_for_usage(&all, &anchors, &self.certificates, at, usage, None, None);
        chain.map_err(|error| format!("the authority's certificate is of none of these roots: {error}"))?;
        Ok(stamp)
    }

    /// What it says, and the certificate that signed it.
    fn checked(&self, data: &[u8]) -> Result<(Stamp, &CertificateDer<'a>), String> {
        let stamp = stamp(self.info, &Sha256::digest(data))?;
        let hash = hash_of(self.signer.digest)?;
        let attributes = Attributes::read(self.signer.attributes.content)?;
        if attributes.content_type != TST_INFO {
            return Err("it signs something else".to_owned());
        }
        if attributes.digest != digest::digest(hash, self.info).as_ref() {
            return Err("its content was changed".to_owned());
        }
        let is_signer = |certificate: &&CertificateDer<'a>| attributes.names(certificate);
        let certificate = self.certificates.iter().find(is_signer);
        let certificate = certificate.ok_or("the certificate that signed it is not in it")?;
        let mut signed = self.signer.attributes.whole.to_vec();
        signed[0] = SET;
        let key = EndEntityCert::try_from(certificate).map_err(|error| error.to_string())?;
        let algorithms = algorithms_of(self.signer.digest);
        let mut tried = algorithms.iter();
        match tried.any(|algorithm| key.verify_signature(*algorithm, &signed, self.signer.signature).is_ok())
        {
            true => Ok((stamp, certificate)),
            false => Err("the authority's signature does not hold".to_owned()),
        }
    }
}

fn hash_of(oid: &[u8]) -> Result<&'static digest::Algorithm, String> {
    match oid {
        SHA256 => Ok(&digest::SHA256),
        SHA384 => Ok(&digest::SHA384),
        SHA512 => Ok(&digest::SHA512),
        _ => Err("its hash is none of SHA-256, SHA-384 and SHA-512".to_owned()),
    }
}

fn algorithms_of(hash: &[u8]) -> &'static [&'static dyn SignatureVerificationAlgorithm] {
    match hash {
        SHA256 => WITH_SHA256,
        SHA384 => WITH_SHA384,
        SHA512 => WITH_SHA512,
        _ => &[],
    }
}

/// ContentInfo, SignedData and the one SignerInfo.
fn read(octets: &[u8]) -> Result<TimestampToken<'_>, String> {
    if octets.len() > TOKEN_OCTETS_MAX {
        return Err(format!("it is longer than {TOKEN_OCTETS_MAX} octets"));
    }
    let mut outer = DerReader::new(octets);
    let mut content = outer.within(SEQUENCE)?;
    outer.end()?;
    if content.value(OID)?.content != SIGNED_DATA {
        return Err("it is no signed data".to_owned());
    }
    let mut signed = content.within(CONTEXT_0)?.within(SEQUENCE)?;
    content.end()?;
    signed.value(INTEGER)?;
    signed.value(SET)?;
    let mut inner = signed.within(SEQUENCE)?;
    if inner.value(OID)?.content != TST_INFO {
        return Err("it is no time stamp".to_owned());
    }
    let info = inner.within(CONTEXT_0)?.value(OCTET_STRING)?.content;
    let certificates = match signed.optional(CONTEXT_0)? {
        Some(set) => certificates(DerReader::new(set.content))?,
        None => Vec::new(),
    };
    signed.optional(CONTEXT_0 + 1)?; // revocation lists
    let mut signers = signed.within(SET)?;
    signed.end()?;
    let signer = signer(signers.within(SEQUENCE)?)?;
    signers.end().map_err(|_| "several signed it".to_owned())?;
    Ok(TimestampToken { info, certificates, signer })
}

fn certificates(mut set: DerReader<'_>) -> Result<Vec<CertificateDer<'_>>, String> {
    let mut found = Vec::new();
    while !set.is_empty() {
        found.push(CertificateDer::from(set.value(SEQUENCE)?.whole));
        if found.len() > CERTIFICATES_MAX {
            return Err(format!("it has more than {CERTIFICATES_MAX} certificates"));
        }
    }
    Ok(found)
}

fn signer(mut fields: DerReader<'_>) -> Result<Signer<'_>, String> {
    fields.value(INTEGER)?;
    fields.any()?; // issuer and serial number: the signed attribute says whose it is
    let digest = fields.within(SEQUENCE)?.value(OID)?.content;
    let attributes = fields.value(CONTEXT_0)?;
    fields.value(SEQUENCE)?; // the algorithm follows from hash and key
    let signature = fields.value(OCTET_STRING)?.content;
    fields.optional(CONTEXT_0 + 1)?;
    fields.end()?;
    Ok(Signer { digest, attributes, signature })
}

/// The signed attributes that matter.
struct Attributes<'a> {
    content_type: &'a [u8],
    digest: &'a [u8],
    /// The hash of the signer's certificate, and of which kind.
    signer: (&'static digest::Algorithm, &'a [u8]),
}

impl<'a> Attributes<'a> {
    fn read(content: &'a [u8]) -> Result<Attributes<'a>, String> {
        let (mut content_type, mut digest, mut signer) = (None, None, None);
        let mut all = DerReader::new(content);
        while !all.is_empty() {
            let mut attribute = all.within(SEQUENCE)?;
            let name = attribute.value(OID)?.content;
            let mut values = attribute.within(SET)?;
            match name {
                CONTENT_TYPE => content_type = Some(values.value(OID)?.content),
                MESSAGE_DIGEST => digest = Some(values.value(OCTET_STRING)?.content),
                SIGNER_V2 => signer = Some(certificate_hash(values, true)?),
                SIGNER_V1 if signer.is_none() => signer = Some(certificate_hash(values, false)?),
                _ => {}
            }
        }
        match (content_type, digest, signer) {
            (Some(content_type), Some(digest), Some(signer)) => {
                Ok(Attributes { content_type, digest, signer })
            }
            _ => Err("a signed attribute is missing: content type, digest or signing certificate".to_owned()),
        }
    }

    fn names(&self, certificate: &CertificateDer<'_>) -> bool {
        let (hash, expected) = self.signer;
        digest::digest(hash, certificate.as_ref()).as_ref() == expected
    }
}

/// SigningCertificate: the first ESSCertID names the signer.
fn certificate_hash<'a>(
    mut values: DerReader<'a>,
    is_second: bool,
) -> Result<(&'static digest::Algorithm, &'a [u8]), String> {
    let mut first = values.within(SEQUENCE)?.within(SEQUENCE)?.within(SEQUENCE)?;
    let hash = match (is_second, first.optional(SEQUENCE)?) {
        (true, Some(algorithm)) => hash_of(DerReader::new(algorithm.content).value(OID)?.content)?,
        (true, None) => &digest::SHA256,
        (false, _) => &digest::SHA1_FOR_LEGACY_USE_ONLY,
    };
    Ok((hash, first.value(OCTET_STRING)?.content))
}

/// TSTInfo, which must be of this SHA-256.
fn stamp(info: &[u8], imprint: &[u8]) -> Result<Stamp, String> {
    let mut outer = DerReader::new(info);
    let mut fields = outer.within(SEQUENCE)?;
    outer.end()?;
    if fields.value(INTEGER)?.content != [1] {
        return Err("its version is not 1".to_owned());
    }
    fields.value(OID)?;
    let mut stamped = fields.within(SEQUENCE)?;
    let is_sha256 = stamped.within(SEQUENCE)?.value(OID)?.content == SHA256;
    if !is_sha256 || stamped.value(OCTET_STRING)?.content != imprint {
        return Err("it is of something else: the statement was changed".to_owned());
    }
    fields.value(INTEGER)?;
    let at = fields.value(GENERALIZED_TIME)?.content;
    let (at, seconds) = time(at).ok_or("its time cannot be read")?;
    let mut nonce = None;
    while !fields.is_empty() {
        let value = fields.any()?;
        if value.tag == INTEGER {
            nonce = unsigned(value.content);
        }
    }
    Ok(Stamp { at, nonce, seconds })
}

fn unsigned(content: &[u8]) -> Option<u64> {
    let digits = content.strip_prefix(&[0]).unwrap_or(content);
    (digits.len() <= 8).then(|| digits.iter().fold(0, |number, digit| number << 8 | u64::from(*digit)))
}

/// `YYYYMMDDhhmmss[.f]Z`, as RFC 3339 and in seconds.
fn time(text: &[u8]) -> Option<(String, u64)> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    if whole.len() != 14 || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let part = |from: usize, to: usize| &whole[from..to];
    let point = if fraction.is_empty() { String::new() } else { format!(".{fraction}") };
    let at = format!(
        "{}-{}-{}T{}:{}:{}{point}Z",
        part(0, 4),
        part(4, 6),
        part(6, 8),
        part(8, 10),
        part(10, 12),
        part(12, 14)
    );
    let read: jiff::Timestamp = at.parse().ok()?;
    Some((at, u64::try_from(read.as_second()).ok()?))
}

#[cfg(test)]
mod tests;

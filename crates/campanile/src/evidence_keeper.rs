//! Evidence keeper makes evidence of alerts that have ended, and has it time-stamped. Of several processes
//! the leader does.

use crate::server::wall_clock;
use crate::setup::SourceSetup;
use engine::{AlertEvidence, Engine, Leader};
use evidence::timestamp::{REQUEST_TYPE, TOKEN_OCTETS_MAX, TimestampToken, request, token_of_response};
use evidence::{EvidenceHeader, PublicKey, SigningKey};
use futures_util::StreamExt;
use net::{TlsClient, TlsClientSettings};
use records::Timestamp;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::{EvidenceHead, SharedStore};
use tokio::task::JoinHandle;

/// Between two looks for alerts that have ended.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// After a look that failed.
const AGAIN: Duration = Duration::from_secs(30);
/// An authority that failed is asked again after this, then after twice as long, up to the longest.
const ASK_AGAIN_MIN: Duration = Duration::from_secs(5);
const ASK_AGAIN_MAX: Duration = Duration::from_secs(600);
/// Evidence is sent to the authority for so long after it was made.
const STAMPED_WITHIN_S: i64 = 7 * 86_400;
/// Statements sent in one look.
const STAMPED_AT_ONCE: usize = 20;
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// A whole answer.
const ANSWER_MAX: Duration = Duration::from_secs(20);

/// A time-stamping authority (RFC 3161).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimestampAuthority {
    /// Where it takes requests.
    pub url: String,
    /// Its roots; nothing: not looked at.
    pub ca_file: Option<PathBuf>,
}

/// The work, until it is stopped.
pub struct EvidenceKeeper {
    key: PublicKey,
    tasks: Vec<JoinHandle<()>>,
}

impl EvidenceKeeper {
    /// Begins.
    pub fn start(
        engine: &Engine,
        store: &SharedStore,
        key: SigningKey,
        sources: &SourceSetup,
    ) -> EvidenceKeeper {
        let public = key.public();
        let mut tasks = vec![tokio::spawn(make(engine.clone(), key))];
        if let Some(authority) = sources.timestamp.clone() {
            let stamping = Stamping { engine: engine.clone(), store: store.clone(), authority, failed: 0 };
            tasks.push(tokio::spawn(stamping.run()));
        }
        EvidenceKeeper { key: public, tasks }
    }

    /// Verifies what is made.
    pub fn key(&self) -> PublicKey {
        self.key
    }

    /// Ends: what was begun is begun again at the next start.
    pub fn stop(&self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

async fn make(engine: Engine, key: SigningKey) {
    let mut from = Timestamp(0);
    loop {
        if engine.leader() != Leader::Here {
            from = Timestamp(0);
            tokio::time::sleep(LOOK_EVERY).await;
            continue;
        }
        match AlertEvidence::of(&engine).make_due(&key, from).await {
            Ok(next) => {
                from = next;
                tokio::time::sleep(LOOK_EVERY).await;
            }
            Err(error) => {
                tracing::warn!(%error, "evidence of alerts that ended could not be made; it is tried again");
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}

/// Time stamps, asked for one by one.
struct Stamping {
    engine: Engine,
    store: SharedStore,
    authority: TimestampAuthority,
    /// How often in a row it failed.
    failed: u32,
}

impl Stamping {
    async fn run(mut self) {
        loop {
            let wait = match self.look().await {
                Ok(()) => {
                    self.failed = 0;
                    LOOK_EVERY
                }
                Err(error) => {
                    let wait = again_after(self.failed);
                    self.failed = self.failed.saturating_add(1);
                    tracing::warn!(error, again_in = ?wait, "the time-stamping authority failed; evidence waits for its time stamp, nothing else does");
                    wait
                }
            };
            tokio::time::sleep(wait).await;
        }
    }

    async fn look(&self) -> Result<(), String> {
        if self.engine.leader() != Leader::Here {
            return Ok(());
        }
        let since = wall_clock().plus_s(-STAMPED_WITHIN_S);
        let waiting = self.store.unstamped_evidence(since, STAMPED_AT_ONCE).await;
        for head in waiting.map_err(|error| error.to_string())? {
            self.stamp(&head).await?;
        }
        Ok(())
    }

    async fn stamp(&self, head: &EvidenceHead) -> Result<(), String> {
        let header = EvidenceHeader::parse(&head.header).map_err(|error| error.to_string())?;
        let signed = header.signed();
        let nonce = nonce()?;
        let answer = self.ask(request(signed.as_bytes(), nonce)).await?;
        let token = token_of_response(&answer)?;
        verify(&token, signed.as_bytes(), nonce, self.authority.ca_file.as_deref())?;
        let stamped = self.store.stamp_evidence(head.alert, head.version, token).await;
        stamped.map_err(|error| error.to_string())
    }

    async fn ask(&self, request: Vec<u8>) -> Result<Vec<u8>, String> {
        let said = |error: reqwest::Error| error.without_url().to_string();
        let sending = client()?.post(&self.authority.url).header("content-type", REQUEST_TYPE).body(request);
        let answer = sending.send().await.map_err(said)?;
        if !answer.status().is_success() {
            return Err(format!("it answered with status {}", answer.status().as_u16()));
        }
        let mut body = answer.bytes_stream();
        let mut octets = Vec::new();
        while let Some(piece) = body.next().await {
            octets.extend_from_slice(&piece.map_err(said)?);
            if octets.len() > TOKEN_OCTETS_MAX {
                return Err(format!("its answer is longer than {TOKEN_OCTETS_MAX} octets"));
            }
        }
        Ok(octets)
    }
}

fn again_after(failed: u32) -> Duration {
    ASK_AGAIN_MIN.saturating_mul(1 << failed.min(10)).min(ASK_AGAIN_MAX)
}

fn nonce() -> Result<u64, String> {
    let octets = crate::keys::random(size_of::<u64>())?;
    Ok(octets.iter().fold(0, |nonce, octet| nonce << 8 | u64::from(*octet)))
}

fn client() -> Result<reqwest::Client, String> {
    let trust = TlsClientSettings { ca_file: None, server_name: None };
    let tls = TlsClient::new(&trust).map_err(|error| error.to_string())?;
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(tls.config())
        .no_proxy()
        .connect_timeout(CONNECT_MAX)
        .timeout(ANSWER_MAX)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("campanile/", env!("CARGO_PKG_VERSION")));
    client.build().map_err(|error| format!("no HTTP client: {error}"))
}

/// A token is kept if it is of this statement, answers this request, and is the authority's.
fn verify(token: &[u8], signed: &[u8], nonce: u64, ca_file: Option<&Path>) -> Result<(), String> {
    let token = TimestampToken::parse(token).map_err(|error| error.to_string())?;
    let stamp = match ca_file {
        Some(file) => token.check_authority(signed, &roots_of(file)?),
        None => token.check(signed),
    };
    let stamp = stamp.map_err(|error| error.to_string())?;
    if stamp.nonce != Some(nonce) {
        return Err("its answer is to another request: the nonce differs".to_owned());
    }
    Ok(())
}

/// The certificates of a PEM file.
pub(crate) fn roots_of(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let wrong = |why: String| format!("{}: {why}", file.display());
    let octets = std::fs::read(file).map_err(|error| wrong(error.to_string()))?;
    let certificates = CertificateDer::pem_slice_iter(&octets).collect::<Result<Vec<_>, _>>();
    let certificates = certificates.map_err(|error| wrong(error.to_string()))?;
    if certificates.is_empty() { Err(wrong("it has no certificate".to_owned())) } else { Ok(certificates) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_that_fails_is_asked_again_ever_later() {
        let waits: Vec<u64> = [0, 1, 2, 7, 40].map(|failed| again_after(failed).as_secs()).to_vec();
        assert_eq!(waits, [5, 10, 20, 600, 600]);
    }
}

//! Import of people from LDAP servers: `[[directory]]`.
//!
//! A search with the Paged Results control (RFC 2696) reads the entries; [`entry`] makes people of them, and
//! `doors::http` imports these as it does a file. Referrals are not followed: a server that is not in the
//! config is not asked. Nothing is ever written to a directory.

pub mod entry;

use self::entry::AttributeMapping;
use doors::http::{DirectoryRow, DirectorySettings, DirectorySource};
use futures_util::future::BoxFuture;
use gateway::Secret;
use ldap3::adapters::{Adapter, EntriesOnly, PagedResults};
use ldap3::{Ldap, LdapConnAsync, LdapConnSettings, LdapError, Scope, SearchEntry};
use net::{TlsClient, TlsClientSettings};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// A whole run takes at most so long.
const RUN_MAX: Duration = Duration::from_secs(3_600);

/// An LDAP server, as the config declares it.
#[derive(Debug, Clone, PartialEq)]
pub struct LdapDirectory {
    /// What imports need to know of it.
    pub settings: DirectorySettings,
    /// STARTTLS on a connection in the clear.
    pub starttls: bool,
    /// Certificates trusted beside the world's roots.
    pub ca_file: Option<PathBuf>,
    /// Who asks; empty: anonymous.
    pub bind_dn: String,
    /// Their password.
    pub password: Secret,
    /// Where the search begins.
    pub base: String,
    /// Which entries are people.
    pub filter: String,
    /// What their attributes mean.
    pub mapping: AttributeMapping,
    /// Entries of one page.
    pub page: u16,
    /// Entries of a run; more end it as a failure.
    pub entries_max: u32,
    /// Time for a connection, and for each page.
    pub timeout: Duration,
}

impl DirectorySource for LdapDirectory {
    fn settings(&self) -> &DirectorySettings {
        &self.settings
    }

    fn read(&self, rows: mpsc::Sender<DirectoryRow>) -> BoxFuture<'_, Result<(), String>> {
        let directory = self.clone();
        Box::pin(async move {
            // The parser of entries panics on some malformed ones: then this task ends, and nothing else.
            let reading = tokio::spawn(async move { directory.search(&rows).await });
            let abort = reading.abort_handle();
            match tokio::time::timeout(RUN_MAX, reading).await {
                Ok(Ok(read)) => read,
                Ok(Err(_)) => Err("the directory sent an entry that is none of LDAP".to_owned()),
                Err(_) => {
                    abort.abort();
                    Err(format!("the directory was not read within {} s", RUN_MAX.as_secs()))
                }
            }
        })
    }
}

impl LdapDirectory {
    async fn search(&self, rows: &mpsc::Sender<DirectoryRow>) -> Result<(), String> {
        let mut ldap = self.connect().await?;
        let read = self.read_entries(&mut ldap, rows).await;
        if let Err(error) = ldap.unbind().await {
            tracing::debug!(directory = self.settings.name, %error, "the directory was not left in order");
        }
        read
    }

    /// A connection whose bind succeeded.
    async fn connect(&self) -> Result<Ldap, String> {
        let tls = TlsClientSettings { ca_file: self.ca_file.clone(), ..TlsClientSettings::default() };
        let tls = TlsClient::new(&tls).map_err(|error| error.to_string())?;
        let settings = LdapConnSettings::new()
            .set_conn_timeout(self.timeout)
            .set_starttls(self.starttls)
            .set_config(Arc::new(tls.config()));
        let url = &self.settings.url;
        let failed = |error: LdapError| format!("cannot connect to {url}: {error}");
        let (connection, mut ldap) = LdapConnAsync::with_settings(settings, url).await.map_err(failed)?;
        tokio::spawn(async move {
            if let Err(error) = connection.drive().await {
                tracing::debug!(%error, "a connection to a directory ended");
            }
        });
        if !self.bind_dn.is_empty() {
            let bound =
                ldap.with_timeout(self.timeout).simple_bind(&self.bind_dn, self.password.reveal()).await;
            let refused =
                |error: LdapError| format!("the directory does not admit {}: {error}", self.bind_dn);
            bound.and_then(|result| result.success()).map_err(refused)?;
        }
        Ok(ldap)
    }

    async fn read_entries(&self, ldap: &mut Ldap, rows: &mpsc::Sender<DirectoryRow>) -> Result<(), String> {
        let failed = |error: LdapError| format!("the search of {} failed: {error}", self.base);
        let adapters: Vec<Box<dyn Adapter<'_, String, Vec<String>>>> =
            vec![Box::new(EntriesOnly::new()), Box::new(PagedResults::new(i32::from(self.page)))];
        let wanted = self.mapping.wanted();
        let mut found = ldap
            .with_timeout(self.timeout)
            .streaming_search_with(adapters, &self.base, Scope::Subtree, &self.filter, wanted)
            .await
            .map_err(failed)?;
        let mut count = 0;
        while let Some(entry) = found.next().await.map_err(failed)? {
            count += 1;
            if count > self.entries_max {
                return Err(format!(
                    "the directory has more than {} entries that the filter finds: narrow it, or raise entries_max",
                    self.entries_max
                ));
            }
            let entry = SearchEntry::construct(entry);
            let person = self.mapping.person(&entry.attrs);
            let row = DirectoryRow { place: entry.dn, person };
            rows.send(row).await.map_err(|_| "the import was given up".to_owned())?;
        }
        // A size limit of the server's is an error: half a directory would look like people who went.
        found.finish().await.success().map_err(failed)?;
        Ok(())
    }
}

//! `[[directory]]`: LDAP servers that people are imported from.

use super::Config;
use super::check::Check;
use crate::directory::LdapDirectory;
use crate::directory::entry::AttributeMapping;
use doors::http::DirectorySettings;
use gateway::Secret;
use settings::{section, words};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Directories at most.
const DIRECTORIES_MAX: usize = 20;
/// A name is at most so many characters: it stands in URLs.
const NAME_CHARS_MAX: usize = 40;
/// Runs are at least so far apart.
const EVERY_MIN: Duration = Duration::from_secs(60);
/// Entries of a page.
const PAGE_MAX: u16 = 5_000;
/// Entries of a run.
const ENTRIES_MAX: u32 = 10_000_000;

section! {
    /// An LDAP server from which people are imported, by hand or at its times; at most 20.
    /// [People from elsewhere](directory.md) describes it.
    Directory {
        /// Its name: letters, digits, `-` and `_`, at most 40. People who come from it have it as their
        /// attribute `directory`.
        #[manual(required, example = "ad")]
        name: String = String::new(),
        /// `ldaps://HOST[:PORT]` or `ldap://HOST[:PORT]`.
        #[manual(required, example = "ldaps://dc1.example.org")]
        url: String = String::new(),
        /// STARTTLS on a connection to `ldap://…`.
        starttls: bool = false,
        /// Certificates (PEM) trusted beside the world's roots.
        #[manual(example = "tls/ad-ca.pem")]
        ca_file: Option<PathBuf> = None,
        /// Distinguished name of who reads it; empty: anonymous.
        #[manual(example = "cn=campanile,ou=services,dc=example,dc=org")]
        bind_dn: String = String::new(),
        /// Their password.
        #[manual(example = "a password of its own")]
        password: Option<Secret> = None,
        /// Where the search begins; it goes all the way down. Referrals are not followed.
        #[manual(required, example = "ou=people,dc=example,dc=org")]
        base: String = String::new(),
        /// Which entries are people.
        filter: String = "(objectClass=person)".to_owned(),
        /// Attributes of the directory, each with a field of a person: `id`, `name`, `language`, `time_zone`,
        /// `groups`, `lat`, `lon`, `prefers`, the name of a channel, or an attribute's name. Of a
        /// distinguished name of a group the first part's value counts.
        attributes: Vec<String> = usual_attributes(),
        /// Account of its people.
        account: String = records::Account::DEFAULT.to_owned(),
        /// Time between runs, at least 1m.
        #[manual(default = "by hand alone", example = "1d")]
        every: Option<Duration> = None,
        /// Its own runs wait for somebody who commits them.
        dry_run: bool = true,
        /// People who came from it and are absent now: `"never"` or `"absent"`.
        remove: RemoveChoice = RemoveChoice::Never,
        /// A run that would take away more of its people, in percent, is not committed by itself; 0 to 100.
        gone_percent_max: u8 = 10,
        /// A run that would change more of its people, in percent, is not committed by itself; 0 to 100.
        changed_percent_max: u8 = 50,
        /// Entries of one page of the search, 1 to 5,000.
        page: u16 = 500,
        /// Entries of a run, at least 1; more end it as a failure.
        entries_max: u32 = 1_000_000,
        /// Time for a connection, and for each page; 1s to 1h.
        timeout: Duration = Duration::from_secs(30),
    }
}

words! {
    /// What becomes of people who are absent.
    RemoveChoice {
        /// They stay.
        Never = "never",
        /// They go.
        Absent = "absent",
    }
}

fn usual_attributes() -> Vec<String> {
    ["uid:id", "cn:name", "mobile:sms", "mail:mail", "preferredLanguage:language", "memberOf:groups"]
        .map(str::to_owned)
        .to_vec()
}

impl Config {
    /// `[[directory]]`, as the server wants them.
    pub(super) fn directories(&self, data: &Path) -> Vec<LdapDirectory> {
        self.directory.iter().map(|directory| directory.source(data)).collect()
    }
}

impl Directory {
    fn source(&self, data: &Path) -> LdapDirectory {
        LdapDirectory {
            settings: DirectorySettings {
                name: self.name.clone(),
                account: self.account.clone(),
                url: self.url.clone(),
                every: self.every,
                dry_run: self.dry_run,
                removes_absent: self.remove == RemoveChoice::Absent,
                gone_percent_max: self.gone_percent_max,
                changed_percent_max: self.changed_percent_max,
            },
            starttls: self.starttls,
            ca_file: self.ca_file.as_ref().map(|file| data.join(file)),
            bind_dn: self.bind_dn.clone(),
            password: self.password.clone().unwrap_or_default(),
            base: self.base.clone(),
            filter: self.filter.clone(),
            // A mapping that is wrong was refused by the check.
            mapping: AttributeMapping::parse(&self.attributes).unwrap_or_default(),
            page: self.page,
            entries_max: self.entries_max,
            timeout: self.timeout,
        }
    }
}

impl Check<'_> {
    pub(super) fn directories(&mut self) {
        let directories = &self.config.directory;
        let many = directories.len() > DIRECTORIES_MAX;
        self.check("directory", many.then(|| format!("there are more than {DIRECTORIES_MAX}")));
        for (n, directory) in directories.iter().enumerate() {
            let at = |key: &str| format!("directory[{n}].{key}");
            let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            let name = &directory.name;
            let is_name = !name.is_empty() && name.chars().all(fits) && name.len() <= NAME_CHARS_MAX;
            let wrong = format!("needs 1 to {NAME_CHARS_MAX} letters, digits, - or _");
            self.check(&at("name"), (!is_name).then_some(wrong));
            let earlier = directories[..n].iter().any(|one| one.name == *name);
            self.check(&at("name"), earlier.then(|| format!("{name:?} is there twice")));
            self.directory_connection(directory, &at);
            self.check(
                &at("base"),
                directory.base.trim().is_empty().then_some("is needed: where people are"),
            );
            let filter = directory.filter.trim();
            let is_filter = filter.starts_with('(') && filter.ends_with(')');
            self.check(
                &at("filter"),
                (!is_filter).then_some("must be a filter such as (objectClass=person)"),
            );
            if let Err((m, why)) = AttributeMapping::parse(&directory.attributes) {
                self.add(&at(&format!("attributes[{m}]")), why);
            }
            let often = directory.every.is_some_and(|every| every < EVERY_MIN);
            self.check(&at("every"), often.then_some("must be at least 1m"));
            for (key, percent) in [
                ("gone_percent_max", directory.gone_percent_max),
                ("changed_percent_max", directory.changed_percent_max),
            ] {
                self.check(&at(key), (percent > 100).then_some("must be from 0 to 100"));
            }
            let page = !(1..=PAGE_MAX).contains(&directory.page);
            self.check(&at("page"), page.then(|| format!("must be from 1 to {PAGE_MAX}")));
            let entries = !(1..=ENTRIES_MAX).contains(&directory.entries_max);
            self.check(&at("entries_max"), entries.then(|| format!("must be from 1 to {ENTRIES_MAX}")));
            let timeout = !(1..=3_600).contains(&directory.timeout.as_secs());
            self.check(&at("timeout"), timeout.then_some("must be from 1s to 1h"));
        }
    }

    fn directory_connection(&mut self, directory: &Directory, at: &dyn Fn(&str) -> String) {
        let is_tls = directory.url.starts_with("ldaps://");
        let host = directory.url.strip_prefix("ldaps://").or(directory.url.strip_prefix("ldap://"));
        let is_url = host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '@', ' ']));
        self.check(&at("url"), (!is_url).then_some("must be ldaps://HOST[:PORT] or ldap://HOST[:PORT]"));
        let both = is_tls && directory.starttls;
        self.check(&at("starttls"), both.then_some("goes with ldap://, not with ldaps://"));
        let is_clear = !is_tls && !directory.starttls && !directory.bind_dn.is_empty();
        let is_local = host.is_some_and(|host| host.starts_with("127.") || host.starts_with("localhost"));
        let clear = "would send the password in the clear: use ldaps://, or starttls = true";
        self.check(&at("url"), (is_clear && !is_local).then_some(clear));
        let lacks = !directory.bind_dn.is_empty() && directory.password.is_none();
        self.check(&at("password"), lacks.then_some("is needed beside bind_dn"));
        if let Some(file) = &directory.ca_file {
            let settings = net::TlsClientSettings {
                ca_file: Some(self.data.join(file)),
                ..net::TlsClientSettings::default()
            };
            let wrong = net::TlsClient::new(&settings).err().map(|error| error.why);
            self.check(&at("ca_file"), wrong);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const WHOLE: &str = "[[directory]]\nname = \"ad\"\nurl = \"ldaps://dc1.example.org\"\n\
        bind_dn = \"cn=campanile\"\npassword = \"secret-471147\"\nbase = \"dc=example\"\n";

    fn parsed(text: &str) -> Result<Config, String> {
        let parsed = crate::config::parse(text, "c.toml", Path::new("/data"), &BTreeMap::new());
        parsed.map_err(|error| error.to_string())
    }

    #[test]
    fn a_directory_is_read_and_shows_no_password() {
        let sources = parsed(WHOLE).unwrap().directories(Path::new("/data"));
        let [source] = &sources[..] else { panic!("{sources:?}") };
        assert_eq!((source.settings.name.as_str(), source.settings.dry_run), ("ad", true));
        assert_eq!(source.password.reveal(), "secret-471147");
        assert!(!format!("{source:?}").contains("471147"));
    }

    #[test]
    fn a_directory_that_cannot_be_used_is_refused_by_its_key() {
        for (from, to, field) in [
            ("name = \"ad\"", "name = \"a d\"", "directory[0].name"),
            ("ldaps://", "https://", "directory[0].url"),
            ("ldaps://", "ldap://", "directory[0].url"),
            ("base = \"dc=example\"", "base = \"\"", "directory[0].base"),
            ("password = \"secret-471147\"\n", "", "directory[0].password"),
            ("base =", "starttls = true\nbase =", "directory[0].starttls"),
            ("base =", "filter = \"person\"\nbase =", "directory[0].filter"),
            ("base =", "attributes = [\"uid\"]\nbase =", "directory[0].attributes[0]"),
            ("base =", "every = \"1s\"\nbase =", "directory[0].every"),
            ("base =", "gone_percent_max = 101\nbase =", "directory[0].gone_percent_max"),
            ("base =", "changed_percent_max = 101\nbase =", "directory[0].changed_percent_max"),
            ("base =", "page = 0\nbase =", "directory[0].page"),
            ("base =", "remove = \"all\"\nbase =", "directory[0].remove"),
        ] {
            let error = parsed(&WHOLE.replace(from, to)).unwrap_err();
            assert!(error.contains(field), "{to}: {error}");
        }
        assert!(parsed(&format!("{WHOLE}{WHOLE}")).unwrap_err().contains("directory[1].name"));
    }
}

//! `[oidc]`: the provider of OpenID Connect at which people may sign in.

use super::Config;
use super::check::Check;
use super::sections::loopback;
use doors::http::{OidcSettings, SignInPolicy};
use gateway::Secret;
use records::{Mode, UserRole};
use settings::section;

/// Values of the claim that give roles.
const ROLES_MAX: usize = 500;

section! {
    /// Signing in at a provider of OpenID Connect, beside passwords and passkeys. It leads back to
    /// `/auth/oidc/callback` of `[http] public_url`, which is registered there. Off without this section.
    /// [Users](users.md) describes it.
    Oidc {
        /// The provider's issuer, exactly: `https://…`.
        #[manual(required, example = "https://id.example")]
        issuer: String = String::new(),
        /// This server's name at the provider.
        #[manual(required, example = "campanile")]
        client_id: String = String::new(),
        /// Its secret there; none of a public client.
        #[manual(example = "the secret that the provider shows")]
        client_secret: Option<Secret> = None,
        /// What people call the provider: "Sign in with …".
        name: String = "OpenID Connect".to_owned(),
        /// Scopes beside `openid`.
        scopes: Vec<String> = vec!["profile".to_owned(), "email".to_owned()],
        /// The claim that the roles follow from, at each sign-in; `a.b` is a member of another one.
        claim: String = "groups".to_owned(),
        /// Spaces of who signs in for the first time: `"live"`, `"drill"`. An administrator changes them.
        spaces: Vec<String> = vec!["drill".to_owned()],
        /// The account of its users.
        account: String = records::Account::DEFAULT.to_owned(),
        /// Roles by values of the claim. Who has none of them cannot sign in.
        role: Vec<OidcRole> = Vec::new(),
    }
}

section! {
    /// Roles of who has a value in the claim. Several give all of theirs.
    OidcRole {
        /// The value, exactly.
        #[manual(required, example = "duty-officers")]
        value: String = String::new(),
        /// `"viewer"`, `"author"`, `"operator"`, `"approver"`, `"directory"`, `"accounts"`,
        /// `"administrator"`.
        #[manual(required, example = ["author", "operator"])]
        roles: Vec<String> = Vec::new(),
    }
}

impl Config {
    /// How people sign in, as the door wants it.
    pub fn sign_in(&self) -> SignInPolicy {
        SignInPolicy {
            organisation: self.organisation.name.clone(),
            oidc: self.oidc.as_ref().map(Oidc::settings),
        }
    }
}

impl Oidc {
    fn settings(&self) -> OidcSettings {
        let roles = |role: &OidcRole| {
            let roles = role.roles.iter().filter_map(|role| role.parse::<UserRole>().ok());
            (role.value.clone(), roles.collect())
        };
        OidcSettings {
            issuer: self.issuer.clone(),
            client_id: self.client_id.clone(),
            client_secret: self.client_secret.as_ref().map(|secret| secret.reveal().to_owned()),
            name: self.name.clone(),
            scopes: self.scopes.clone(),
            claim: self.claim.clone(),
            roles: self.role.iter().map(roles).collect(),
            spaces: self.spaces.iter().filter_map(|space| mode(space)).collect(),
            account: self.account.clone(),
        }
    }
}

fn mode(word: &str) -> Option<Mode> {
    match word {
        "live" => Some(Mode::Live),
        "drill" => Some(Mode::Drill),
        _ => None,
    }
}

impl Check<'_> {
    pub(super) fn oidc(&mut self) {
        let Some(oidc) = &self.config.oidc else { return };
        let wrong = (!doors::http::is_provider_url(&oidc.issuer))
            .then_some("must be a URL that begins with https:// (http:// works for this machine alone)");
        self.check("oidc.issuer", wrong);
        let empty = |text: &str| text.is_empty().then_some("is needed");
        self.check("oidc.client_id", empty(&oidc.client_id));
        self.check("oidc.claim", empty(&oidc.claim));
        self.check("oidc.account", empty(&oidc.account));
        let url = self.config.http.public_url.is_none() && self.config.http.listen.ip() != loopback(0).ip();
        let no_url = "needs [http] public_url: the provider leads back to it";
        self.check("oidc", url.then_some(no_url));
        for (place, space) in oidc.spaces.iter().enumerate() {
            let wrong = mode(space).is_none().then(|| format!("{space:?} is neither live nor drill"));
            self.check(&format!("oidc.spaces[{place}]"), wrong);
        }
        let none = "is needed: without a role for a value of the claim nobody can sign in";
        self.check("oidc.role", oidc.role.is_empty().then_some(none));
        let over = (oidc.role.len() > ROLES_MAX).then(|| format!("has more than {ROLES_MAX} entries"));
        self.check("oidc.role", over);
        for (place, role) in oidc.role.iter().enumerate() {
            let at = format!("oidc.role[{place}]");
            self.check(&format!("{at}.value"), empty(&role.value));
            self.check(&format!("{at}.roles"), role.roles.is_empty().then_some("is needed"));
            for (index, word) in role.roles.iter().enumerate() {
                self.check(&format!("{at}.roles[{index}]"), word.parse::<UserRole>().err());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::path::Path;

    fn parsed(text: &str) -> Result<Config, String> {
        let parsed = crate::config::parse(text, "c.toml", Path::new("/data"), &BTreeMap::new());
        parsed.map_err(|problems| problems.to_string())
    }

    const RIGHT: &str = "[oidc]\nissuer = \"https://id.example\"\nclient_id = \"c\"\nclient_secret = \"s\"\n\
        [[oidc.role]]\nvalue = \"duty\"\nroles = [\"author\", \"operator\"]\n";

    #[test]
    fn a_provider_gives_roles_by_its_claim_and_the_drill_space() {
        let policy = parsed(RIGHT).unwrap().sign_in();
        let oidc = policy.oidc.unwrap();
        assert_eq!(oidc.roles, [("duty".to_owned(), vec![UserRole::Author, UserRole::Operator])]);
        assert_eq!((oidc.spaces, oidc.account.as_str()), (vec![Mode::Drill], "default"));
        assert_eq!(parsed("").unwrap().sign_in(), SignInPolicy::default());
    }

    #[test]
    fn each_mistake_is_named() {
        for (from, to, says) in [
            ("https://id", "ftp://id", "oidc.issuer: must be a URL"),
            ("\"c\"", "\"\"", "oidc.client_id: is needed"),
            ("author", "king", "oidc.role[0].roles[0]: role \"king\" is unknown"),
            ("client_secret = \"s\"", "spaces = [\"real\"]", "oidc.spaces[0]: \"real\" is neither"),
            ("duty", "", "oidc.role[0].value: is needed"),
        ] {
            let found = parsed(&RIGHT.replace(from, to)).unwrap_err();
            assert!(found.contains(says), "{found}");
        }
    }
}

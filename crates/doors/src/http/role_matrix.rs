//! Matrix of roles: how far a token or a user reaches with each operation, by role and by whose the account
//! is. The guard, the handlers, the description, the table of docs/operating.md and a test that tries every
//! operation of the table of routes read the same cells.
//!
//! A caller reaches into its own account at most; an admin of the account `default`, the system's, also into
//! all others where a cell says so. What another account has is not there: a handler answers 404 in the words
//! that it has for what nobody has. A user has several roles and reaches as far as the farthest of them; the
//! roles of tokens are unions of those of users (`admin` of Administrator, Directory and Accounts, `operator`
//! of Author, Operator and Directory, `viewer` of Viewer), but for what needs somebody who signed in.

use Reach::{All as ALL, Mine as MINE, Nothing as NONE, Own as OWN};
use records::{Account, Role, Token, UserRole};

/// What an operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequiredRole {
    /// Nothing: anybody may, without a token.
    Nothing,
    /// Alerts, reports, streams, attachments, read.
    SeeOwn,
    /// Alerts and CAP messages, submitted.
    Submit,
    /// What comes before an alert: forecasts, attachments.
    Prepare,
    /// Drafts written, alerts checked.
    Draft,
    /// Templates and areas changed.
    Compose,
    /// Schedules changed and run.
    Schedule,
    /// Alerts of others approved, returned, rejected: by users alone.
    Approve,
    /// People, groups, observers, read.
    See,
    /// Alerts steered, observers, answers.
    Change,
    /// Decisions that were made alone, reviewed.
    Review,
    /// People and groups changed.
    Directory,
    /// Tokens created, listed, revoked.
    Tokens,
    /// The secret that signs the account's callbacks.
    CallbackSecret,
    /// The audit trail.
    SeeAudit,
    /// The audit trail's chain, which is one over all accounts, verified.
    VerifyAudit,
    /// Money looked at: accounts, records, sessions.
    SeeMoney,
    /// Money moved: accounts opened, topped up, blocked, limited; sessions ended.
    ChangeMoney,
    /// Tariffs looked at.
    SeePrices,
    /// Clients of the SMPP door and platforms, looked at.
    SeeClients,
    /// How the server and its routes stand, and who is connected to the system.
    SeeSystem,
    /// The system changed: reload, routes held and tested, tariffs, Diameter peers, sessions of clients; its
    /// config looked at.
    ChangeSystem,
    /// Users created, changed, invited; their sessions ended.
    Users,
    /// A session: what somebody changes of their own.
    SignedIn,
}

/// How far a token reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// It may not.
    Nothing,
    /// To what the token itself submitted.
    Mine,
    /// To all of its account.
    Own,
    /// To every account.
    All,
}

/// Roles, in the order of the matrix's columns.
pub(crate) const ROLES: [Role; 4] = [Role::Admin, Role::Operator, Role::Viewer, Role::Submit];

/// One row: what it is called, and the reach of each role, in the account `default` and in any other.
pub(crate) struct MatrixRow {
    pub need: RequiredRole,
    /// For people: docs/operating.md has it, which a test compares.
    #[cfg_attr(not(test), allow(dead_code))]
    pub about: &'static str,
    pub default: [Reach; ROLES.len()],
    pub others: [Reach; ROLES.len()],
    /// Of users, in the order of [`UserRole::ALL`].
    pub users: [Reach; UserRole::ALL.len()],
    /// The same in another account than `default`.
    pub users_of_others: [Reach; UserRole::ALL.len()],
}

/// Reach of tokens in the account `default` and in any other.
type OfTokens = ([Reach; ROLES.len()], [Reach; ROLES.len()]);
/// Reach of users in the account `default`.
type OfUsers = [Reach; UserRole::ALL.len()];

/// A row whose users reach as far in every account.
const fn row(need: RequiredRole, tokens: OfTokens, users: OfUsers, about: &'static str) -> MatrixRow {
    MatrixRow { need, about, default: tokens.0, others: tokens.1, users, users_of_others: users }
}

impl MatrixRow {
    /// Users of other accounts than `default` reach no farther than this.
    const fn within(mut self, most: Reach) -> MatrixRow {
        let mut at = 0;
        while at < self.users_of_others.len() {
            if !matches!(self.users_of_others[at], Reach::Nothing) {
                self.users_of_others[at] = most;
            }
            at += 1;
        }
        self
    }
}

/// The matrix.
#[rustfmt::skip]
pub(crate) const MATRIX: [MatrixRow; 23] = [
    // Tokens of the account default: admin, operator, viewer, submit; those of any other account. Then users:
    // viewer, author, operator, approver, directory, accounts, administrator.
    row(RequiredRole::SeeOwn,       ([OWN,  OWN,  OWN,  MINE], [OWN,  OWN,  OWN,  MINE]), [OWN,  OWN,  OWN,  OWN,  OWN,  OWN,  OWN],  "read alerts, reports, event streams, attachments"),
    row(RequiredRole::Submit,       ([OWN,  OWN,  NONE, MINE], [OWN,  OWN,  NONE, MINE]), [NONE, NONE, OWN,  NONE, NONE, NONE, OWN],  "submit alerts, send CAP"),
    row(RequiredRole::Prepare,      ([OWN,  OWN,  NONE, MINE], [OWN,  OWN,  NONE, MINE]), [NONE, OWN,  OWN,  OWN,  NONE, NONE, OWN],  "forecast alerts, upload attachments"),
    row(RequiredRole::Draft,        ([OWN,  OWN,  NONE, MINE], [OWN,  OWN,  NONE, MINE]), [NONE, OWN,  OWN,  NONE, NONE, NONE, OWN],  "write drafts, check alerts"),
    row(RequiredRole::Compose,      ([OWN,  OWN,  NONE, NONE], [OWN,  OWN,  NONE, NONE]), [NONE, OWN,  OWN,  NONE, NONE, NONE, OWN],  "change templates and areas"),
    row(RequiredRole::Schedule,     ([OWN,  OWN,  NONE, NONE], [OWN,  OWN,  NONE, NONE]), [NONE, NONE, OWN,  NONE, NONE, NONE, OWN],  "change, skip and run schedules"),
    row(RequiredRole::Approve,      ([NONE, NONE, NONE, NONE], [NONE, NONE, NONE, NONE]), [NONE, NONE, NONE, OWN,  NONE, NONE, NONE], "approve, return, reject alerts of others"),
    row(RequiredRole::Review,       ([NONE, NONE, NONE, NONE], [NONE, NONE, NONE, NONE]), [NONE, NONE, NONE, OWN,  NONE, NONE, OWN],  "review alerts that were sent alone"),
    row(RequiredRole::See,          ([OWN,  OWN,  OWN,  NONE], [OWN,  OWN,  OWN,  NONE]), [OWN,  OWN,  OWN,  OWN,  OWN,  NONE, OWN],  "read people, groups, observers, templates, areas, schedules, messages of platforms"),
    row(RequiredRole::Change,       ([OWN,  OWN,  NONE, NONE], [OWN,  OWN,  NONE, NONE]), [NONE, NONE, OWN,  NONE, NONE, NONE, OWN],  "cancel, pause, resume, retry alerts; observers; answers"),
    row(RequiredRole::Directory,    ([OWN,  OWN,  NONE, NONE], [OWN,  OWN,  NONE, NONE]), [NONE, NONE, NONE, NONE, OWN,  NONE, NONE], "change people and groups, import, provision by SCIM"),
    row(RequiredRole::Tokens,       ([ALL,  NONE, NONE, NONE], [OWN,  NONE, NONE, NONE]), [NONE, NONE, NONE, NONE, NONE, NONE, ALL],  "create, list, revoke tokens; change client profiles").within(OWN),
    row(RequiredRole::CallbackSecret, ([OWN, NONE, NONE, NONE], [OWN, NONE, NONE, NONE]), [NONE, NONE, NONE, NONE, NONE, NONE, OWN],  "read the secret that signs callbacks"),
    row(RequiredRole::SeeAudit,     ([ALL,  NONE, NONE, NONE], [OWN,  NONE, NONE, NONE]), [NONE, NONE, NONE, NONE, NONE, NONE, ALL],  "read the audit trail").within(OWN),
    row(RequiredRole::VerifyAudit,  ([ALL,  NONE, NONE, NONE], [NONE, NONE, NONE, NONE]), [NONE, NONE, NONE, NONE, NONE, NONE, ALL],  "verify the audit trail").within(NONE),
    row(RequiredRole::SeeMoney,     ([ALL,  OWN,  OWN,  NONE], [OWN,  OWN,  OWN,  NONE]), [OWN,  NONE, OWN,  NONE, NONE, ALL,  NONE], "read charging accounts, records, credit sessions").within(OWN),
    row(RequiredRole::ChangeMoney,  ([ALL,  NONE, NONE, NONE], [NONE, NONE, NONE, NONE]), [NONE, NONE, NONE, NONE, NONE, ALL,  NONE], "open, top up, block, limit charging accounts; end credit sessions").within(NONE),
    row(RequiredRole::SeePrices,    ([ALL,  ALL,  ALL,  NONE], [ALL,  ALL,  ALL,  NONE]), [ALL,  ALL,  ALL,  ALL,  NONE, ALL,  ALL],  "read tariffs"),
    row(RequiredRole::SeeClients,   ([ALL,  ALL,  ALL,  NONE], [OWN,  OWN,  OWN,  NONE]), [ALL,  NONE, ALL,  NONE, NONE, NONE, ALL],  "read SMPP clients and platforms").within(OWN),
    row(RequiredRole::SeeSystem,    ([ALL,  ALL,  ALL,  NONE], [NONE, NONE, NONE, NONE]), [ALL,  NONE, ALL,  NONE, NONE, NONE, ALL],  "read routes, Diameter peers, topics, edge sites, the state of the server").within(NONE),
    row(RequiredRole::ChangeSystem, ([ALL,  NONE, NONE, NONE], [NONE, NONE, NONE, NONE]), [NONE, NONE, NONE, NONE, NONE, NONE, ALL],  "read, check and reload the config, name the organisation, change tariffs and Diameter peers, unbind clients, hold, release and test routes").within(NONE),
    row(RequiredRole::Users,        ([OWN,  NONE, NONE, NONE], [OWN,  NONE, NONE, NONE]), [NONE, NONE, NONE, NONE, NONE, NONE, OWN],  "create, change, invite users, also by SCIM; end their sessions"),
    row(RequiredRole::SignedIn,     ([NONE, NONE, NONE, NONE], [NONE, NONE, NONE, NONE]), [OWN,  OWN,  OWN,  OWN,  OWN,  OWN,  OWN],  "change one's own password, second factors, passkeys, sessions"),
];

impl RequiredRole {
    fn row(self) -> Option<&'static MatrixRow> {
        MATRIX.iter().find(|row| row.need == self)
    }

    /// How far a token reaches with it.
    pub(crate) fn reach(self, token: &Token) -> Reach {
        self.reach_of(token.role, &token.account)
    }

    /// The same for a token that there may be.
    pub(crate) fn reach_of(self, role: Role, account: &str) -> Reach {
        let column = ROLES.iter().position(|known| *known == role);
        match (self.row(), column) {
            (Some(row), Some(column)) if account == Account::DEFAULT => row.default[column],
            (Some(row), Some(column)) => row.others[column],
            _ => Reach::Nothing,
        }
    }

    /// How far a user of these roles reaches with it: as far as the farthest of them.
    pub(crate) fn reach_of_user(self, roles: &[UserRole], account: &str) -> Reach {
        let Some(row) = self.row() else { return Reach::Nothing };
        let reach = if account == Account::DEFAULT { &row.users } else { &row.users_of_others };
        let of_roles = UserRole::ALL.iter().zip(reach).filter(|(role, _)| roles.contains(role));
        of_roles.map(|(_, reach)| *reach).max().unwrap_or(Reach::Nothing)
    }

    /// What it is, for people.
    pub(crate) fn about(self) -> &'static str {
        self.row().map_or("", |row| row.about)
    }

    /// The roles of tokens that may, for people; where none may, those of users.
    pub(crate) fn words(self) -> String {
        let Some(row) = self.row() else { return "no token".to_owned() };
        let may = |reach: &[Reach; ROLES.len()], at: usize| reach[at] != Reach::Nothing;
        let roles: Vec<&str> = (0..ROLES.len())
            .rev()
            .filter(|at| may(&row.default, *at) || may(&row.others, *at))
            .map(|at| ROLES[at].name())
            .collect();
        if roles.is_empty() {
            return match self {
                RequiredRole::Approve | RequiredRole::Review => {
                    format!("{}; a token never approves", self.user_words())
                }
                _ => self.user_words(),
            };
        }
        let words = if roles.len() == ROLES.len() { "any role".to_owned() } else { listed(&roles) };
        let is_default_alone = row.others.iter().all(|reach| *reach == Reach::Nothing);
        if is_default_alone { format!("{words} of the account {}", Account::DEFAULT) } else { words }
    }

    /// The roles of users that may, for people.
    pub(crate) fn user_words(self) -> String {
        let Some(row) = self.row() else { return "no session".to_owned() };
        let reaches = UserRole::ALL.iter().zip(row.users.iter().zip(&row.users_of_others));
        let may = reaches.filter(|(_, (own, other))| **own.max(other) != Reach::Nothing);
        let roles: Vec<&str> = may.map(|(role, _)| role.name()).collect();
        match roles.len() {
            all if all == UserRole::ALL.len() => "a user who signed in".to_owned(),
            _ => format!("a user with the role {}", listed(&roles)),
        }
    }
}

/// `a, b or c`.
fn listed(words: &[&str]) -> String {
    match words {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        words => words.concat(),
    }
}

/// Whether a token of this role and account would reach nowhere that `maker` does not.
pub(crate) fn is_within(role: Role, account: &str, maker: &Token) -> bool {
    MATRIX.iter().all(|row| row.need.reach_of(role, account) <= row.need.reach(maker))
}

/// The role of a token that stands for a user where only tokens are known.
pub(crate) fn nearest_token_role(roles: &[UserRole]) -> Role {
    if roles.contains(&UserRole::Administrator) {
        Role::Admin
    } else if roles.contains(&UserRole::Operator) {
        Role::Operator
    } else {
        Role::Viewer
    }
}

/// The matrix as a table of Markdown, for docs/operating.md.
#[cfg(test)]
pub(crate) fn table() -> String {
    let cell = |reach: Reach| match reach {
        Reach::Nothing => "",
        Reach::Mine => "what it submitted itself",
        Reach::Own => "own account",
        Reach::All => "every account",
    };
    let mut out = "| may |".to_owned();
    out.extend(ROLES.iter().map(|role| format!(" `{}` |", role.name())));
    out.extend(UserRole::ALL.iter().map(|role| format!(" {} |", role.name())));
    out.push_str("\n|---|");
    out.push_str(&"---|".repeat(ROLES.len() + UserRole::ALL.len()));
    for row in &MATRIX {
        out.push_str(&format!("\n| {} |", row.about));
        let of_tokens = row.default.iter().zip(&row.others);
        for (default, other) in of_tokens.chain(row.users.iter().zip(&row.users_of_others)) {
            let words = match (default, other) {
                (Reach::All, Reach::All) => "yes".to_owned(),
                (default, other) if default == other => cell(*default).to_owned(),
                (_, Reach::Nothing) => "in `default` only".to_owned(),
                (default, other) => format!("{}; in `default`: {}", cell(*other), cell(*default)),
            };
            out.push_str(&if words.is_empty() { " |".to_owned() } else { format!(" {words} |") });
        }
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::Timestamp;

    fn token(role: Role, account: &str) -> Token {
        Token {
            id: "t".into(),
            hash: [0; 32],
            role,
            account: account.into(),
            name: String::new(),
            created: Timestamp(0),
            revoked: None,
        }
    }

    #[test]
    fn the_table_of_the_manual_is_the_matrix() {
        let manual = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operating.md");
        let manual = std::fs::read_to_string(manual).unwrap();
        assert!(
            manual.contains(&table()),
            "docs/operating.md, Tokens and roles, needs this table:\n{}",
            table()
        );
    }

    #[test]
    fn words_name_the_roles_that_may() {
        for (need, words) in [
            (RequiredRole::Nothing, "no token"),
            (RequiredRole::SeeOwn, "any role"),
            (RequiredRole::Submit, "submit, operator or admin"),
            (RequiredRole::Tokens, "admin"),
            (RequiredRole::ChangeSystem, "admin of the account default"),
            (RequiredRole::SeeSystem, "viewer, operator or admin of the account default"),
            (RequiredRole::Approve, "a user with the role approver; a token never approves"),
            (RequiredRole::Review, "a user with the role approver or administrator; a token never approves"),
            (RequiredRole::SignedIn, "a user who signed in"),
        ] {
            assert_eq!(need.words(), words);
        }
    }

    #[test]
    fn nobody_makes_a_token_that_reaches_farther_than_the_makers() {
        for (maker, wanted, expected) in [
            ((Role::Admin, "default"), (Role::Admin, "north"), true),
            ((Role::Admin, "default"), (Role::Admin, "default"), true),
            ((Role::Admin, "north"), (Role::Admin, "north"), true),
            ((Role::Admin, "north"), (Role::Viewer, "north"), true),
            ((Role::Admin, "north"), (Role::Admin, "default"), false),
            ((Role::Admin, "north"), (Role::Viewer, "default"), false),
            ((Role::Operator, "default"), (Role::Admin, "north"), false),
            ((Role::Viewer, "default"), (Role::Submit, "default"), false),
        ] {
            assert_eq!(
                is_within(wanted.0, wanted.1, &token(maker.0, maker.1)),
                expected,
                "{maker:?} {wanted:?}"
            );
        }
    }

    #[test]
    fn no_account_but_the_systems_reaches_beyond_itself() {
        for row in &MATRIX {
            let beyond = row.others.contains(&Reach::All) || row.users_of_others.contains(&Reach::All);
            assert_eq!(beyond, row.need == RequiredRole::SeePrices, "{:?}: prices are for all", row.need);
        }
    }

    #[test]
    fn the_roles_of_tokens_are_unions_of_those_of_users() {
        use UserRole::{Accounts, Administrator, Author, Directory, Operator, Viewer};
        let of_people = [RequiredRole::SignedIn, RequiredRole::Review];
        for row in MATRIX.iter().filter(|row| !of_people.contains(&row.need)) {
            for (role, union) in [
                (Role::Admin, vec![Administrator, Directory, Accounts]),
                (Role::Operator, vec![Author, Operator, Directory]),
                (Role::Viewer, vec![Viewer]),
            ] {
                for account in [Account::DEFAULT, "north"] {
                    let (need, of_token) = (row.need, row.need.reach_of(role, account));
                    assert_eq!(need.reach_of_user(&union, account), of_token, "{need:?} {role:?} {account}");
                }
            }
        }
    }

    #[test]
    fn a_user_without_a_role_reaches_nothing_and_none_approves_but_an_approver() {
        for row in &MATRIX {
            assert_eq!(row.need.reach_of_user(&[], Account::DEFAULT), Reach::Nothing);
        }
        for role in UserRole::ALL {
            let may = RequiredRole::Approve.reach_of_user(&[role], Account::DEFAULT) > Reach::Nothing;
            assert_eq!(may, role == UserRole::Approver, "{role:?}");
        }
    }
}

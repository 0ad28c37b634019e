//! Matrix of roles: how far a token reaches with each operation, by its role and by whose its account is. The
//! guard, the handlers, the description, the table of docs/operating.md and a test that tries every operation
//! of the table of routes read the same cells.
//!
//! A token reaches into its own account at most; an admin of the account `default`, the system's, also into
//! all others where a cell says so. What another account has is not there: a handler answers 404 in the words
//! that it has for what nobody has. A role to come is a column.

use Reach::{All as ALL, Mine as MINE, Nothing as NONE, Own as OWN};
use records::{Account, Role, Token};

/// What an operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequiredRole {
    /// Nothing: anybody may, without a token.
    Nothing,
    /// Alerts, reports, streams, attachments, read.
    SeeOwn,
    /// Alerts, CAP messages and attachments, submitted; forecasts.
    Submit,
    /// People, groups, observers, read.
    See,
    /// Alerts steered, observers, answers.
    Change,
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
    /// Who is connected to the system.
    SeeSystem,
    /// The system changed: reload, tariffs, Diameter peers.
    ChangeSystem,
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
}

const fn row(
    need: RequiredRole,
    default: [Reach; ROLES.len()],
    others: [Reach; ROLES.len()],
    about: &'static str,
) -> MatrixRow {
    MatrixRow { need, about, default, others }
}

/// The matrix.
#[rustfmt::skip]
pub(crate) const MATRIX: [MatrixRow; 14] = [
    //                               account default           any other account
    //                               admin operator viewer submit, the same
    row(RequiredRole::SeeOwn,       [OWN,  OWN,  OWN,  MINE], [OWN,  OWN,  OWN,  MINE], "read alerts, reports, event streams, attachments"),
    row(RequiredRole::Submit,       [OWN,  OWN,  NONE, MINE], [OWN,  OWN,  NONE, MINE], "submit and forecast alerts, send CAP, upload attachments"),
    row(RequiredRole::See,          [OWN,  OWN,  OWN,  NONE], [OWN,  OWN,  OWN,  NONE], "read people, groups, observers"),
    row(RequiredRole::Change,       [OWN,  OWN,  NONE, NONE], [OWN,  OWN,  NONE, NONE], "cancel, pause, resume, approve, retry alerts; observers; answers"),
    row(RequiredRole::Directory,    [OWN,  OWN,  NONE, NONE], [OWN,  OWN,  NONE, NONE], "change people and groups, import"),
    row(RequiredRole::Tokens,       [ALL,  NONE, NONE, NONE], [OWN,  NONE, NONE, NONE], "create, list, revoke tokens"),
    row(RequiredRole::CallbackSecret, [OWN, NONE, NONE, NONE], [OWN, NONE, NONE, NONE], "read the secret that signs callbacks"),
    row(RequiredRole::SeeAudit,     [ALL,  NONE, NONE, NONE], [OWN,  NONE, NONE, NONE], "read the audit trail"),
    row(RequiredRole::VerifyAudit,  [ALL,  NONE, NONE, NONE], [NONE, NONE, NONE, NONE], "verify the audit trail"),
    row(RequiredRole::SeeMoney,     [ALL,  OWN,  OWN,  NONE], [OWN,  OWN,  OWN,  NONE], "read charging accounts, records, credit sessions"),
    row(RequiredRole::ChangeMoney,  [ALL,  NONE, NONE, NONE], [NONE, NONE, NONE, NONE], "open, top up, block, limit charging accounts; end credit sessions"),
    row(RequiredRole::SeePrices,    [ALL,  ALL,  ALL,  NONE], [ALL,  ALL,  ALL,  NONE], "read tariffs"),
    row(RequiredRole::SeeSystem,    [ALL,  ALL,  ALL,  NONE], [NONE, NONE, NONE, NONE], "read Diameter peers"),
    row(RequiredRole::ChangeSystem, [ALL,  NONE, NONE, NONE], [NONE, NONE, NONE, NONE], "reload the config, change tariffs and Diameter peers"),
];

impl RequiredRole {
    /// How far a token reaches with it.
    pub(crate) fn reach(self, token: &Token) -> Reach {
        self.reach_of(token.role, &token.account)
    }

    /// The same for a token that there may be.
    pub(crate) fn reach_of(self, role: Role, account: &str) -> Reach {
        let found = MATRIX.iter().find(|row| row.need == self);
        let column = ROLES.iter().position(|known| *known == role);
        match (found, column) {
            (Some(row), Some(column)) if account == Account::DEFAULT => row.default[column],
            (Some(row), Some(column)) => row.others[column],
            _ => Reach::Nothing,
        }
    }

    /// What it is, for people.
    pub(crate) fn about(self) -> &'static str {
        MATRIX.iter().find(|row| row.need == self).map_or("", |row| row.about)
    }

    /// The roles that may, for people.
    pub(crate) fn words(self) -> String {
        let Some(row) = MATRIX.iter().find(|row| row.need == self) else { return "no token".to_owned() };
        let may = |reach: &[Reach; ROLES.len()], at: usize| reach[at] != Reach::Nothing;
        let roles: Vec<&str> = (0..ROLES.len())
            .rev()
            .filter(|at| may(&row.default, *at) || may(&row.others, *at))
            .map(|at| ROLES[at].name())
            .collect();
        let words = match roles.as_slice() {
            all if all.len() == ROLES.len() => "any role".to_owned(),
            [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
            roles => roles.concat(),
        };
        let is_default_alone = row.others.iter().all(|reach| *reach == Reach::Nothing);
        if is_default_alone { format!("{words} of the account {}", Account::DEFAULT) } else { words }
    }
}

/// Whether a token of this role and account would reach nowhere that `maker` does not.
pub(crate) fn is_within(role: Role, account: &str, maker: &Token) -> bool {
    MATRIX.iter().all(|row| row.need.reach_of(role, account) <= row.need.reach(maker))
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
    out.push_str("\n|---|");
    out.push_str(&"---|".repeat(ROLES.len()));
    for row in &MATRIX {
        out.push_str(&format!("\n| {} |", row.about));
        for (default, other) in row.default.iter().zip(&row.others) {
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
            let beyond = row.others.contains(&Reach::All);
            assert_eq!(beyond, row.need == RequiredRole::SeePrices, "{:?}: prices are for all", row.need);
        }
    }
}

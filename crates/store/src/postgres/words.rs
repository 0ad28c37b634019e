//! Words for what is wrong with a server, out of its own and the library's: the problem as people know it,
//! and what to do.

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Diagnosis {
    /// The problem and the remedy.
    pub(super) text: String,
    /// It may be over in a moment: a server that is not up yet. Else somebody has to do something first.
    pub(super) passes: bool,
}

/// A part of the heard words, the problem, the remedy, and whether it passes. The first that fits counts.
const KNOWN: &[(&str, &str, &str, bool)] = &[
    ("[28P01]", "it refuses our password", "correct the password in [store] url", false),
    (
        "no encryption [28000]",
        "it takes us by TLS alone",
        "add ?sslmode=verify-full (or require) to [store] url",
        false,
    ),
    (
        "[28000]",
        "it does not let us in",
        "correct the user in [store] url, or the server's pg_hba.conf",
        false,
    ),
    ("[3D000]", "it has no such database", "create it (createdb), or correct its name in [store] url", false),
    (
        "[42P01]",
        "the tables of campanile are gone: the database was wiped, or is another one",
        "stop campanile and put database and streams back from one copy",
        false,
    ),
    (
        "[53300]",
        "all its connections are taken (max_connections)",
        "raise max_connections there, or lower [store] connections or the number of processes",
        true,
    ),
    ("[53100]", "its disk is full", "free room on the server's disk", true),
    ("[57P03]", "it is starting or recovering", "nothing: it is tried again", true),
    ("[57P01]", "it was shut down", "start it again", true),
    (
        "[25006]",
        "it is a standby and takes no writes",
        "name the primary in [store] url, or promote it",
        true,
    ),
    ("[42501]", "our user may not do this", "make it the owner of the database and of its schema", false),
    (
        "server does not support TLS",
        "it does not speak TLS",
        "switch it on there (ssl = on), or say sslmode=disable in [store] url",
        false,
    ),
    (
        "UnknownIssuer",
        "its certificate is of an authority that we do not know",
        "name the authority's file: ?sslrootcert=FILE in [store] url",
        false,
    ),
    ("certificate expired", "its certificate has expired", "renew it on the server", false),
    (
        "not valid for name",
        "its certificate is for another name",
        "name the server in [store] url as its certificate does",
        false,
    ),
    (
        "peer certificate",
        "its certificate is refused",
        "correct it there, or sslrootcert in [store] url",
        false,
    ),
    ("lookup address", "its name is not known", "correct the host in [store] url, or the name service", true),
    ("Connection refused", "nothing listens there", "start PostgreSQL, or correct [store] url", true),
    ("Connection reset", "it closes the connection at once", "look into its log", true),
    ("unreachable", "there is no way to it", "look after the network and the firewall", true),
    ("timed out", "it does not answer", "look whether it runs, and after the network and the firewall", true),
    (
        "no answer within",
        "it does not answer",
        "look whether it runs or stands still, and after the network",
        true,
    ),
    ("does not take a connection", "it does not answer", "look whether it runs, and after the network", true),
    ("connection closed", "it closed the connection", "look into its log", true),
];

/// What words of the server or the library mean.
pub(super) fn diagnose(server: &str, heard: &str) -> Diagnosis {
    let known = KNOWN.iter().find(|(part, ..)| heard.contains(part));
    match known {
        Some((_, problem, remedy, passes)) => Diagnosis {
            text: format!("PostgreSQL at {server}: {problem} ({heard}): {remedy}"),
            passes: *passes,
        },
        None => {
            Diagnosis { text: format!("PostgreSQL at {server}: {heard}: look into its log"), passes: true }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::diagnose;

    #[test]
    fn what_is_heard_is_told_with_the_server_the_problem_and_the_remedy() {
        let cases = [
            ("password authentication failed for user \"u\" [28P01]", "password in [store] url", false),
            (
                "no pg_hba.conf entry for host \"h\", user \"u\", database \"d\", no encryption [28000]",
                "by TLS alone",
                false,
            ),
            ("no pg_hba.conf entry for host \"h\", user \"u\", database \"d\" [28000]", "pg_hba.conf", false),
            ("database \"d\" does not exist [3D000]", "createdb", false),
            ("relation \"house\" does not exist [42P01]", "wiped", false),
            ("sorry, too many clients already [53300]", "raise max_connections", true),
            ("could not extend file: No space left on device [53100]", "disk is full", true),
            ("the database system is starting up [57P03]", "starting", true),
            ("error performing TLS handshake: server does not support TLS", "ssl = on", false),
            (
                "error performing TLS handshake: invalid peer certificate: UnknownIssuer",
                "sslrootcert=FILE",
                false,
            ),
            ("invalid peer certificate: certificate expired: verification time 1", "has expired", false),
            ("invalid peer certificate: certificate not valid for name \"h\"", "another name", false),
            ("error connecting to server: Connection refused (os error 111)", "nothing listens there", true),
            ("error connecting to server: failed to lookup address information", "name is not known", true),
            ("no answer within 1.5 s", "does not answer", true),
            ("what nobody has heard before", "what nobody has heard before", true),
        ];
        for (heard, part, passes) in cases {
            let found = diagnose("db.example:5432", heard);
            assert!(found.text.starts_with("PostgreSQL at db.example:5432: "), "{}", found.text);
            assert!(found.text.contains(part), "{heard}: {}", found.text);
            assert_eq!(found.passes, passes, "{heard}");
        }
    }
}

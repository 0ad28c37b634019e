//! Words for what is wrong with a NATS server, out of its own and the client's: the problem as people know
//! it, and what to do.

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// The problem and the remedy.
    pub text: String,
    /// It may be over in a moment: a server that is not up yet. Else somebody has to do something first.
    pub passes: bool,
}

/// Parts of the heard words in small letters, the problem, the remedy, and whether it passes. The first that
/// fits counts.
const KNOWN: &[(&[&str], &str, &str, bool)] = &[
    (
        &["authorization violation", "authentication", "signing nonce"],
        "it does not let us in",
        "correct username and password, token or credentials in [bus]",
        false,
    ),
    (
        &["unknownissuer"],
        "its certificate is of an authority that we do not know",
        "name the authority's file in [bus] ca_file",
        false,
    ),
    (&["certificate expired"], "its certificate has expired", "renew it on the server", false),
    (
        &["not valid for name"],
        "its certificate is for another name",
        "name the server in [bus] url as its certificate does",
        false,
    ),
    (
        &["certificaterequired", "certificate required"],
        "it wants a certificate of ours",
        "switch verify off there, or let us in by a password or credentials",
        false,
    ),
    (&["peer certificate"], "its certificate is refused", "correct it there, or [bus] ca_file", false),
    (
        &["invalidcontenttype", "corrupt message", "unknown protocol"],
        "it does not speak TLS",
        "switch it on there, or take [bus] tls and tls:// away",
        false,
    ),
    (
        &["without jetstream", "jetstream not enabled"],
        "it runs without JetStream",
        "start it with -js",
        false,
    ),
    (&["lookup address", "dns error"], "its name is not known", "correct the host in [bus] url", true),
    (&["connection refused"], "nothing listens there", "start nats-server, or correct [bus] url", true),
    (&["reset", "eof", "broken pipe"], "it closes the connection at once", "look into its log", true),
    (&["unreachable"], "there is no way to it", "look after the network and the firewall", true),
    (&["timed out", "no answer"], "it does not answer", "look whether it runs or stands still", true),
    (
        &["no server is responsible"],
        "its JetStream does not answer",
        "look into its log: a cluster needs most of its servers",
        true,
    ),
    (
        &[
            "insufficient",
            "resources limits exceeded",
            "resource limits exceeded",
            "no space left",
            "maximum bytes exceeded",
        ],
        "its storage is full",
        "free room, or raise max_file_store of the server, the account's limit or max_bytes of the stream",
        true,
    ),
];

/// What words of the server or the client mean.
pub fn diagnose(servers: &str, heard: &str) -> Diagnosis {
    let small = heard.to_ascii_lowercase();
    let known = KNOWN.iter().find(|(parts, ..)| parts.iter().any(|part| small.contains(part)));
    match known {
        Some((_, problem, remedy, passes)) => {
            Diagnosis { text: format!("NATS at {servers}: {problem} ({heard}): {remedy}"), passes: *passes }
        }
        None => Diagnosis { text: format!("NATS at {servers}: {heard}: look into its log"), passes: true },
    }
}

/// A stream that was there is not any more.
pub fn gone(servers: &str, stream: &str) -> String {
    format!(
        "NATS at {servers}: the stream {stream} is gone: it was deleted, or the server has another store_dir. Stop campanile and \
         put streams and database back from one copy; if the streams are lost, name another bus.prefix and start once with \
         --without-bus"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_heard_is_told_with_the_servers_the_problem_and_the_remedy() {
        let cases = [
            ("authorization violation: nats: authorization violation", "does not let us in", false),
            ("TLS error: invalid peer certificate: UnknownIssuer", "[bus] ca_file", false),
            ("TLS error: invalid peer certificate: certificate expired: 1", "has expired", false),
            (
                "TLS error: invalid peer certificate: certificate not valid for name \"h\"",
                "another name",
                false,
            ),
            ("IO error: received fatal alert: CertificateRequired", "a certificate of ours", false),
            ("TLS error: received corrupt message of type InvalidContentType", "does not speak TLS", false),
            ("h:4222 runs without JetStream: enable it there", "-js", false),
            ("IO error: Connection refused (os error 111)", "nothing listens there", true),
            ("timed out", "does not answer", true),
            ("insufficient storage resources available (10047)", "storage is full", true),
            ("insufficient resources (10023)", "storage is full", true),
            ("what nobody has heard before", "what nobody has heard before", true),
        ];
        for (heard, part, passes) in cases {
            let found = diagnose("a:4222,b:4222", heard);
            assert!(found.text.starts_with("NATS at a:4222,b:4222: "), "{}", found.text);
            assert!(found.text.contains(part), "{heard}: {}", found.text);
            assert_eq!(found.passes, passes, "{heard}");
        }
        assert!(gone("a:4222", "campanile-t-outcomes").contains("--without-bus"));
    }
}

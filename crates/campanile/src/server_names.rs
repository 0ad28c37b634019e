//! Names of servers for people: where a URL leads, without the secrets in it.

/// `nats://a:4222,b:4222` of `nats://user:password@a:4222,b:4222`. A query may hold a secret too, and goes.
pub(crate) fn without_secrets(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let front = rest.split_once('?').map_or(rest, |(front, _)| front);
    let hosts = match front.rsplit_once('@') {
        Some((_, hosts)) => hosts,
        // The question mark may be a part of a password.
        None if rest.contains('@') => "…",
        None => front,
    };
    format!("{scheme}://{hosts}")
}

#[cfg(test)]
mod tests {
    use super::without_secrets;

    #[test]
    fn a_server_is_named_without_who_we_are_to_it() {
        let cases = [
            ("postgres://me:p@ss@db.example:5432/campanile", "postgres://db.example:5432/campanile"),
            ("postgres://db/campanile?password=secret&sslmode=require", "postgres://db/campanile"),
            ("nats://token@a:4222,b:4222", "nats://a:4222,b:4222"),
            ("nats://a", "nats://a"),
            ("nats://me:p?ss@a", "nats://…"),
            ("sqlite:campanile.db", "sqlite:campanile.db"),
        ];
        for (url, name) in cases {
            assert_eq!(without_secrets(url), name, "{url}");
        }
    }
}

//! Host header of a request: exactly one, and valid, as RFC 9112 asks of HTTP/1.1 (section 3.2). Over HTTP/2
//! it is made of `:authority` (RFC 9113, section 8.3.1), so that handlers find it in one place.

use axum::http::header::HOST;
use axum::http::uri::Uri;
use axum::http::{HeaderMap, HeaderValue, Request, Version};

/// What a request is told whose Host is not as it must be.
pub(super) const WRONG_HOST: &str = "a request of HTTP/1.1 has exactly one Host header, with a host and perhaps a port: Host: alerts.example:8080";

/// What a request over HTTP/2 is told that names two hosts.
pub(super) const TWO_HOSTS: &str = "the Host header names another host than :authority; leave it out";

/// Writes the host and the path of a request over HTTP/2 as HTTP/1.1 has them; false: it names two hosts.
pub(super) fn name_host<B>(request: &mut Request<B>) -> bool {
    let Some(authority) = request.uri().authority().cloned() else { return true };
    let named = request.headers().get_all(HOST).iter();
    if !named.map(HeaderValue::as_bytes).all(|host| host.eq_ignore_ascii_case(authority.as_str().as_bytes()))
    {
        return false;
    }
    let Ok(host) = HeaderValue::from_str(authority.as_str()) else { return false };
    request.headers_mut().insert(HOST, host);
    // CONNECT alone has no path.
    if let Some(path) = request.uri().path_and_query().cloned() {
        *request.uri_mut() = Uri::from(path);
    }
    true
}

/// Whether the Host of a request is as it must be. A request of HTTP/1.0 needs none.
pub(super) fn has_valid_host(version: Version, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) => version < Version::HTTP_11,
        (Some(host), None) => is_host(host.as_bytes()),
        (Some(_), Some(_)) => false,
    }
}

/// `uri-host [ ":" port ]` (RFC 9110, section 7.2; RFC 3986, section 3.2.2). An empty one is valid.
pub(crate) fn is_host(value: &[u8]) -> bool {
    let (name, rest) = match value {
        [b'[', ..] => match value.iter().position(|octet| *octet == b']') {
            Some(end) => (&value[1..end], &value[end + 1..]),
            None => return false,
        },
        _ => {
            let end = value.iter().position(|octet| *octet == b':').unwrap_or(value.len());
            value.split_at(end)
        }
    };
    let is_name = if value.starts_with(b"[") { is_literal(name) } else { is_reg_name(name) };
    let is_port = match rest {
        [] => true,
        [b':', digits @ ..] => digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    is_name && is_port
}

/// An address of IPv6, or of a version to come.
fn is_literal(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|octet| is_unreserved(*octet) || *octet == b':')
}

fn is_reg_name(name: &[u8]) -> bool {
    let is_allowed = |octet: &u8| is_unreserved(*octet) || b"!$&'()*+,;=%".contains(octet);
    let mut escapes = name.split(|octet| *octet == b'%').skip(1);
    name.iter().all(is_allowed)
        && escapes.all(|rest| rest.len() >= 2 && rest[..2].iter().all(u8::is_ascii_hexdigit))
}

fn is_unreserved(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || b"-._~".contains(&octet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address_with_or_without_a_port() {
        for (host, expected) in [
            ("alerts.example", true),
            ("alerts.example:8080", true),
            ("alerts.example:", true),
            ("127.0.0.1:80", true),
            ("[::1]", true),
            ("[2001:db8::7]:8080", true),
            ("", true),
            ("x_y~z", true),
            ("a%41", true),
            ("a%4", false),
            ("a%zz", false),
            ("[::1", false),
            ("[]", false),
            ("[::1]x", false),
            ("::1", false),
            ("a:80:81", false),
            ("a:port", false),
            ("a b", false),
            ("user@a", false),
            ("http://a", false),
            ("a/b", false),
            ("a?b", false),
            ("a, b", false),
            ("a\\b", false),
            ("\u{e5}", false),
        ] {
            assert_eq!(is_host(host.as_bytes()), expected, "{host:?}");
        }
    }

    #[test]
    fn over_http_2_the_authority_is_the_host_and_no_other_is_named() {
        for (host, is_right) in [(None, true), (Some("Alerts.example"), true), (Some("b.example"), false)] {
            let mut request = Request::builder().version(Version::HTTP_2).uri("https://alerts.example/a?b=c");
            if let Some(host) = host {
                request = request.header(HOST, host);
            }
            let mut request = request.body(()).unwrap();
            assert_eq!(name_host(&mut request), is_right, "{host:?}");
            if is_right {
                assert_eq!(request.headers()[HOST], "alerts.example");
                assert_eq!(request.uri(), "/a?b=c");
                assert!(has_valid_host(request.version(), request.headers()));
            }
        }
        let mut request = Request::builder().version(Version::HTTP_2).uri("/a").body(()).unwrap();
        assert!(name_host(&mut request));
        assert!(!has_valid_host(request.version(), request.headers()), "nobody was named");
    }

    #[test]
    fn http_1_1_has_one_host_and_http_1_0_one_at_most() {
        for (version, hosts, expected) in [
            (Version::HTTP_11, &["a"][..], true),
            (Version::HTTP_11, &[""], true),
            (Version::HTTP_11, &[], false),
            (Version::HTTP_11, &["a", "a"], false),
            (Version::HTTP_11, &["a b"], false),
            (Version::HTTP_10, &[], true),
            (Version::HTTP_10, &["a"], true),
            (Version::HTTP_10, &["a", "b"], false),
        ] {
            let mut headers = HeaderMap::new();
            hosts.iter().for_each(|host| _ = headers.append(HOST, host.parse().unwrap()));
            assert_eq!(has_valid_host(version, &headers), expected, "{version:?} {hosts:?}");
        }
    }
}

//! Response of a far end, read within a limit: it chooses how much it sends.

use reqwest::Response;
use reqwest::header::CONTENT_TYPE;

/// Octets of a response that are read. More of it is not waited for, and the connection is given up.
pub(crate) const RESPONSE_OCTETS_MAX: usize = 64 * 1024;
/// Characters of a far end's own words that are kept.
const WORDS_CHARS_MAX: usize = 200;

/// A response, as far as outcomes are made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadResponse {
    /// The HTTP status.
    pub(crate) status: u16,
    /// `Content-Type` without parameters, in small letters; may be empty.
    pub(crate) media_type: String,
    /// The body; cut off at [`RESPONSE_OCTETS_MAX`], or where it broke off.
    pub(crate) body: String,
}

impl ReadResponse {
    /// Reads it to its end.
    pub(crate) async fn read(mut response: Response) -> ReadResponse {
        let status = response.status().as_u16();
        let media_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = media_type.and_then(|value| value.split(';').next()).unwrap_or_default();
        let media_type = media_type.trim().to_ascii_lowercase();
        let mut octets = Vec::new();
        // The status is what counts; a body that breaks off says less.
        while let Ok(Some(chunk)) = response.chunk().await {
            let room = RESPONSE_OCTETS_MAX - octets.len();
            octets.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if octets.len() >= RESPONSE_OCTETS_MAX {
                break;
            }
        }
        ReadResponse { status, media_type, body: String::from_utf8_lossy(&octets).into_owned() }
    }

    /// Its first words, in one line, without those that repeat a secret of ours; empty for a page of HTML.
    pub(crate) fn words(&self, secrets: &[&str]) -> String {
        if self.media_type == "text/html" || secrets.iter().any(|secret| self.body.contains(secret)) {
            return String::new();
        }
        let one_line = self.body.split(|c: char| c.is_whitespace() || c.is_control());
        let words: Vec<&str> = one_line.filter(|word| !word.is_empty()).take(WORDS_CHARS_MAX).collect();
        words.join(" ").chars().take(WORDS_CHARS_MAX).collect()
    }

    /// The status with its usual words, and those of the far end.
    pub(crate) fn refusal(&self, secrets: &[&str]) -> String {
        let status = reqwest::StatusCode::from_u16(self.status).ok();
        let reason = status.and_then(|status| status.canonical_reason()).unwrap_or("no usual status");
        match self.words(secrets) {
            words if words.is_empty() => format!("{} {reason}", self.status),
            words => format!("{} {reason}: {words}", self.status),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(media_type: &str, body: &str) -> ReadResponse {
        ReadResponse { status: 400, media_type: media_type.to_owned(), body: body.to_owned() }
    }

    #[test]
    fn the_far_ends_words_are_one_short_line_without_our_secrets() {
        for (media_type, body, expected) in [
            ("text/plain", "invalid_payload\r\n", "400 Bad Request: invalid_payload"),
            ("text/plain", " a\t\0b ", "400 Bad Request: a b"),
            ("text/html", "<h1>No</h1>", "400 Bad Request"),
            ("application/json", "{\"seen\": \"Bearer abcdef\"}", "400 Bad Request"),
            ("", "", "400 Bad Request"),
        ] {
            assert_eq!(response(media_type, body).refusal(&["Bearer abcdef"]), expected);
        }
        let long = response("text/plain", &"x".repeat(10_000)).words(&[]);
        assert_eq!(long.len(), WORDS_CHARS_MAX);
    }
}

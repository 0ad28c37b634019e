//! An answer as octets of HTTP/1.1.

use super::answer::KannelAnswer;
use records::Timestamp;
use std::io::Write;

/// Writes answers, one after the other into the same buffer.
#[derive(Default)]
pub(super) struct ReplyWriter {
    octets: Vec<u8>,
    /// The date as RFC 9110, 5.6.7 has it, and the second it is for.
    date: String,
    second: i64,
}

impl ReplyWriter {
    /// The whole answer.
    pub(super) fn write(&mut self, answer: KannelAnswer, closes: bool, now: Timestamp) -> &[u8] {
        self.keep_date(now);
        let out = &mut self.octets;
        out.clear();
        out.extend_from_slice(first_line(answer.status));
        out.extend_from_slice(
            b"content-type: text/html\r\ncache-control: no-store\r\nx-content-type-options: nosniff\r\ndate: ",
        );
        out.extend_from_slice(self.date.as_bytes());
        // Writing to a vector does not fail.
        let _ = write!(out, "\r\ncontent-length: {}\r\n", answer.words.len());
        if let Some(seconds) = answer.retry_after_s {
            let _ = write!(out, "retry-after: {seconds}\r\n");
        }
        if closes {
            out.extend_from_slice(b"connection: close\r\n");
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(answer.words.as_bytes());
        out
    }

    fn keep_date(&mut self, now: Timestamp) {
        let second = now.0.div_euclid(1_000_000);
        if second != self.second || self.date.is_empty() {
            self.second = second;
            let at = jiff::Timestamp::from_second(second).unwrap_or_default();
            self.date = at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        }
    }
}

fn first_line(status: u16) -> &'static [u8] {
    match status {
        202 => b"HTTP/1.1 202 Accepted\r\n",
        400 => b"HTTP/1.1 400 Bad Request\r\n",
        403 => b"HTTP/1.1 403 Forbidden\r\n",
        413 => b"HTTP/1.1 413 Content Too Large\r\n",
        415 => b"HTTP/1.1 415 Unsupported Media Type\r\n",
        503 => b"HTTP/1.1 503 Service Unavailable\r\n",
        _ => b"HTTP/1.1 500 Internal Server Error\r\n",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_written_whole() {
        let mut reply = ReplyWriter::default();
        let now = Timestamp(1_794_983_200_000_000);
        let text = String::from_utf8(reply.write(KannelAnswer::busy(5), true, now).to_vec()).unwrap();
        assert!(text.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{text}");
        assert!(text.contains("\r\ndate: Wed, 18 Nov 2026 06:26:40 GMT\r\n"), "{text}");
        assert!(text.contains("\r\nretry-after: 5\r\nconnection: close\r\n\r\nTemporal failure"), "{text}");
        let text =
            String::from_utf8(reply.write(KannelAnswer::ACCEPTED, false, now.plus_s(1)).to_vec()).unwrap();
        assert!(
            text.contains("06:26:41 GMT\r\ncontent-length: 24\r\n\r\n0: Accepted for delivery"),
            "{text}"
        );
    }
}

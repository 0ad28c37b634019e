//! The published figures of M5, as data.

/// A row of table 2: submission alone over HTTP.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Submission {
    pub(crate) endpoints: u64,
    pub(crate) threads: u64,
    pub(crate) requests_per_thread: u64,
    pub(crate) mean_response_ms: f64,
    pub(crate) requests_per_s: f64,
}

/// A row of table 3: one mail gateway, mails of 702 octets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MailSequence {
    pub(crate) requests: u64,
    pub(crate) endpoints: u64,
    pub(crate) dissemination_s: f64,
    pub(crate) mails_per_s: f64,
}

/// A row of table 5: end to end, one request of 2 KB a thread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct EndToEnd {
    pub(crate) endpoints: u64,
    pub(crate) threads: u64,
    pub(crate) dissemination_ms: f64,
    pub(crate) mails_per_s: f64,
}

/// Figures 2 to 5 have no numbers but these words: 8,192 endpoints not split took under 1,000 s without acknowledgements.
pub(crate) const UNSPLIT_8192_S: f64 = 1_000.0;
/// And almost 2,000 s with them.
pub(crate) const UNSPLIT_8192_ACKNOWLEDGED_S: f64 = 2_000.0;

/// Table 2.
pub(crate) fn submissions() -> Vec<Submission> {
    rows(include_str!("../published/m5_table_2_http_gateway.csv"), |row| Submission {
        endpoints: row[0] as u64,
        threads: row[1] as u64,
        requests_per_thread: row[2] as u64,
        mean_response_ms: row[3],
        requests_per_s: row[5],
    })
}

/// Table 3.
pub(crate) fn mail_sequences() -> Vec<MailSequence> {
    rows(include_str!("../published/m5_table_3_mail.csv"), |row| MailSequence {
        requests: row[0] as u64,
        endpoints: row[1] as u64,
        dissemination_s: row[2],
        mails_per_s: row[3],
    })
}

/// Table 5.
pub(crate) fn end_to_end() -> Vec<EndToEnd> {
    rows(include_str!("../published/m5_table_5_end_to_end_mail.csv"), |row| EndToEnd {
        endpoints: row[0] as u64,
        threads: row[1] as u64,
        dissemination_ms: row[4],
        mails_per_s: row[5],
    })
}

/// The rows of a file we ship; the tests read them all.
fn rows<T>(text: &str, read: impl Fn(&[f64]) -> T) -> Vec<T> {
    let numbers =
        |line: &str| line.split(',').map(|cell| cell.trim().parse().unwrap_or(f64::NAN)).collect::<Vec<_>>();
    text.lines().skip(1).filter(|line| !line.is_empty()).map(|line| read(&numbers(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_whole() {
        let table = submissions();
        assert_eq!((table.len(), table[2].threads, table[2].requests_per_s), (10, 40, 57.010));
        assert!(table.iter().all(|row| row.requests_per_thread == 100 && row.mean_response_ms > 0.0));
        let table = mail_sequences();
        assert_eq!((table.len(), table[3].endpoints, table[3].mails_per_s), (4, 400, 22.14));
        assert!(table.iter().all(|row| row.requests >= 50 && row.dissemination_s > 0.0));
        let table = end_to_end();
        assert_eq!((table.len(), table[5].threads, table[5].mails_per_s), (12, 16, 30.11));
        assert!(table.iter().all(|row| row.endpoints >= 32 && row.dissemination_ms > 0.0));
    }
}

//! The published figures of M1, M4 and M5, as data.

/// A row of table 1: a submission over HTTP that lists its endpoints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MessageSize {
    pub(crate) endpoints: u64,
    /// Of the SOAP message.
    pub(crate) octets: u64,
}

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

/// A row of table 3 of the bridge: time between submissions of 500 messages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct GenerationTime {
    pub(crate) run: u64,
    pub(crate) mean_ms: f64,
    pub(crate) median_ms: f64,
    pub(crate) deviation_ms: f64,
}

/// A row of its table 7: messages sent to five carriers in each second.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FiveCarriers {
    pub(crate) run: String,
    pub(crate) seconds: Vec<f64>,
    /// Of seconds 1 to 8.
    pub(crate) median: f64,
}

/// A row of the topic server's table 3.1: means of ten attempts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TopicAttempts {
    pub(crate) posters: usize,
    pub(crate) readers: usize,
    /// Of one thread.
    pub(crate) per_thread_per_s: Vec<f64>,
}

/// A row of its table 3.2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TopicStatistics {
    pub(crate) posters: usize,
    pub(crate) readers: usize,
    pub(crate) mean: f64,
    pub(crate) variance: f64,
    pub(crate) deviation: f64,
}

/// Figures 2 to 5 have no numbers but these words: 8,192 endpoints not split took under 1,000 s without
/// acknowledgements.
pub(crate) const UNSPLIT_8192_S: f64 = 1_000.0;
/// And almost 2,000 s with them.
pub(crate) const UNSPLIT_8192_ACKNOWLEDGED_S: f64 = 2_000.0;

/// Table 1.
pub(crate) fn message_sizes() -> Vec<MessageSize> {
    rows(include_str!("../published/m5_table_1_message_size.csv"), |row| MessageSize {
        endpoints: row[0] as u64,
        octets: row[1] as u64,
    })
}

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

/// Table 3 of the bridge; its row of averages is left out.
pub(crate) fn generation_times() -> Vec<GenerationTime> {
    let all = rows(include_str!("../published/m1_table_3_generation_time.csv"), |row| (row[0], row.to_vec()));
    let runs = all.into_iter().filter(|(run, _)| !run.is_nan());
    runs.map(|(run, row)| GenerationTime {
        run: run as u64,
        mean_ms: row[1],
        median_ms: row[2],
        deviation_ms: row[3],
    })
    .collect()
}

/// Table 7 of the bridge.
pub(crate) fn five_carriers() -> Vec<FiveCarriers> {
    rows(include_str!("../published/m1_table_7_five_carriers.csv"), |row| FiveCarriers {
        run: row[0].to_string(),
        // Behind the end of the list nothing was sent.
        seconds: row[1..row.len() - 1].iter().copied().filter(|count| !count.is_nan()).collect(),
        median: row[row.len() - 1],
    })
}

/// Table 3.1 of the topic server.
pub(crate) fn topic_attempts() -> Vec<TopicAttempts> {
    rows(include_str!("../published/m4_table_3_1_attempts.csv"), |row| TopicAttempts {
        posters: row[1] as usize,
        readers: row[2] as usize,
        per_thread_per_s: row[3..].to_vec(),
    })
}

/// Table 3.2 of the topic server.
pub(crate) fn topic_statistics() -> Vec<TopicStatistics> {
    rows(include_str!("../published/m4_table_3_2_statistics.csv"), |row| TopicStatistics {
        posters: row[1] as usize,
        readers: row[2] as usize,
        mean: row[3],
        variance: row[4],
        deviation: row[5],
    })
}

/// The rows of a file we ship; the tests read them all. A cell that is no number is `NAN`.
fn rows<T>(text: &str, read: impl Fn(&[f64]) -> T) -> Vec<T> {
    let numbers =
        |line: &str| line.split(',').map(|cell| cell.trim().parse().unwrap_or(f64::NAN)).collect::<Vec<_>>();
    text.lines().skip(1).filter(|line| !line.is_empty()).map(|line| read(&numbers(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bridge_s_tables_are_whole() {
        let times = generation_times();
        let last = GenerationTime { run: 10, mean_ms: 8.2, median_ms: 10.0, deviation_ms: 6.2 };
        assert_eq!((times.len(), times[9]), (10, last));
        assert!((times.iter().map(|row| row.mean_ms).sum::<f64>() / 10.0 - 8.7).abs() < 0.06);
        let runs = five_carriers();
        assert_eq!((runs.len(), runs[0].run.as_str(), runs[0].seconds.len()), (7, "1", 9));
        assert_eq!((runs[0].seconds[0], runs[6].seconds[10], runs[6].median), (32.0, 9.0, 25.0));
        let medians: Vec<f64> = runs.iter().map(|run| run.median).collect();
        assert!((medians.iter().sum::<f64>() / 7.0 - 27.6).abs() < 0.1, "the published mean");
        for run in &runs {
            let first =
                crate::statistics::SampleStatistics::of(&run.seconds[..8]).map(|summary| summary.median);
            assert_eq!(first, Some(run.median), "{run:?}");
        }
    }

    #[test]
    fn the_topic_server_s_tables_are_whole_and_agree() {
        let (attempts, statistics) = (topic_attempts(), topic_statistics());
        assert_eq!((attempts.len(), statistics.len()), (9, 9));
        for (row, expected) in attempts.iter().zip(&statistics) {
            assert_eq!((row.posters, row.readers), (expected.posters, expected.readers));
            assert_eq!(row.per_thread_per_s.len(), 10);
            let summary = crate::statistics::SampleStatistics::of(&row.per_thread_per_s).unwrap();
            assert!((summary.mean - expected.mean).abs() < 0.02, "{summary:?} {expected:?}");
            assert!((summary.deviation - expected.deviation).abs() < 0.5, "{summary:?} {expected:?}");
            assert!((expected.variance.sqrt() - expected.deviation).abs() < 0.5, "{expected:?}");
        }
    }

    #[test]
    fn the_tables_are_whole() {
        let table = message_sizes();
        let last = MessageSize { endpoints: 2_048, octets: 3_071_499 };
        assert_eq!((table.len(), table[3]), (4, last));
        // About 1,500 octets an endpoint.
        assert!(table.iter().all(|row| (1_490..1_550).contains(&(row.octets / row.endpoints))));
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

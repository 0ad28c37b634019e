//! `campanile alert watch`: live in the terminal from the stream of events; a line now and then elsewhere.

use super::args::One;
use super::client::{ApiClient, retry_after, segment, sentence};
use super::report::{Style, line, picture};
use super::sse::{Events, SseEvent};
use super::{Failure, Outcome, print};
use ratatui::crossterm::terminal;
use reqwest::header::ACCEPT;
use reqwest::{Method, Response, StatusCode};
use serde_json::Value;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

/// Where nothing can be drawn over, a line is said at most so often.
const LINE_EVERY: Duration = Duration::from_secs(1);
/// A stream that breaks is asked for again so often in a row,
const RETRIES_MAX: u32 = 30;
/// each time after so long, unless the server says otherwise.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// The longest the server can make us wait.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(30);
/// Silence for so long means that the stream is dead: the server says something every 15 s.
const SILENCE_MAX: Duration = Duration::from_secs(60);

pub(super) async fn watch(one: One) -> Outcome {
    let client = ApiClient::new(&one.server)?;
    let screen = if one.format.is_json() { Screen::Json } else { Screen::new() };
    follow(&client, &one.id, screen).await
}

/// Follows an alert until it is over.
pub(super) async fn follow(client: &ApiClient, id: &str, mut screen: Screen) -> Outcome {
    let mut broken = 0;
    loop {
        let why = match listen(client, id, &mut screen, &mut broken).await? {
            StreamEnd::Over => return Ok(()),
            StreamEnd::Broken(why, after) => {
                broken += 1;
                if broken > RETRIES_MAX {
                    return Err(Failure::Failed(format!("the stream of events broke: {why}")));
                }
                tokio::time::sleep(after.unwrap_or(RETRY_AFTER).min(RETRY_AFTER_MAX)).await;
                why
            }
        };
        if broken == 1 {
            screen.say(&format!("the stream of events broke ({why}); trying again"));
        }
    }
}

enum StreamEnd {
    /// The alert is over.
    Over,
    /// The stream ended before; how long the server asks to wait.
    Broken(String, Option<Duration>),
}

async fn listen(
    client: &ApiClient,
    id: &str,
    screen: &mut Screen,
    broken: &mut u32,
) -> Result<StreamEnd, Failure> {
    let path = format!("/api/v1/alerts/{}/events", segment(id));
    let request = client.request(Method::GET, &path).header(ACCEPT, "text/event-stream");
    let mut response = match request.send().await {
        Ok(response) if response.status().is_success() => response,
        Ok(response) => return refused(response).await,
        // The first try tells whether there is a server at all.
        Err(error) if *broken == 0 => return Err(client.unreachable(&error)),
        Err(error) => return Ok(StreamEnd::Broken(error.to_string(), None)),
    };
    let mut events = Events::default();
    loop {
        let piece = match tokio::time::timeout(SILENCE_MAX, response.chunk()).await {
            Ok(Ok(Some(piece))) => piece,
            Ok(Ok(None)) => return Ok(StreamEnd::Broken("it ended".to_owned(), None)),
            Ok(Err(error)) => return Ok(StreamEnd::Broken(error.to_string(), None)),
            Err(_) => return Ok(StreamEnd::Broken("silence".to_owned(), None)),
        };
        for event in events.feed(&piece)? {
            *broken = 0;
            screen.show(&event)?;
            if event.name == "done" {
                return Ok(StreamEnd::Over);
            }
        }
    }
}

/// A server that is busy or starting is asked again; another refusal ends it.
async fn refused(response: Response) -> Result<StreamEnd, Failure> {
    let (status, wait) = (response.status(), retry_after(response.headers()));
    let words = sentence(status, &response.text().await.unwrap_or_default());
    match status {
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => Ok(StreamEnd::Broken(words, wait)),
        _ => Err(Failure::Failed(words)),
    }
}

/// Where it is shown.
pub(super) enum Screen {
    /// Drawn over itself.
    Terminal {
        /// Lines of the last picture.
        lines: usize,
    },
    /// Lines, not too many.
    Lines {
        /// When the last was said.
        said: Option<Instant>,
    },
    /// Every event, an object a line.
    Json,
}

impl Screen {
    /// What standard output is.
    pub fn new() -> Screen {
        if io::stdout().is_terminal() { Screen::Terminal { lines: 0 } } else { Screen::Lines { said: None } }
    }

    fn show(&mut self, event: &SseEvent) -> Outcome {
        let data: Value = serde_json::from_str(&event.data).map_err(|error| {
            Failure::Failed(format!("the server sent an event that is not JSON: {error}"))
        })?;
        let is_done = event.name == "done";
        match self {
            Screen::Json => print(&format!("{}\n", serde_json::json!({"event": event.name, "data": data}))),
            // Answers are in the next report.
            _ if event.name == "answer" => Ok(()),
            Screen::Terminal { lines } => {
                let width = terminal::size().map_or(80, |(columns, _)| usize::from(columns));
                let drawn = over(&picture(&data, Style { width, colour: true }), width, lines);
                print(&drawn)
            }
            Screen::Lines { said } => {
                let now = Instant::now();
                if is_done {
                    return print(&format!("{}\n\n{}", line(&data), picture(&data, Style::PLAIN)));
                }
                if said.is_some_and(|said| now < said + LINE_EVERY) {
                    return Ok(());
                }
                *said = Some(now);
                print(&format!("{}\n", line(&data)))
            }
        }
    }

    /// Says something beside the picture.
    fn say(&mut self, words: &str) {
        eprintln!("campanile: {words}");
        if let Screen::Terminal { lines } = self {
            *lines = 0;
        }
    }
}

/// A picture drawn over the last one: up, each line cleared, what is left of the old one cleared. Lines that
/// are too long would take two rows and spoil the count: they are cut.
fn over(picture: &str, width: usize, lines: &mut usize) -> String {
    let mut out = String::new();
    if *lines > 0 {
        out.push_str(&format!("\x1b[{lines}A"));
    }
    for line in picture.lines() {
        out.push_str("\x1b[2K");
        out.push_str(&cut(line, width));
        out.push('\n');
    }
    out.push_str("\x1b[J");
    *lines = picture.lines().count();
    out
}

/// At most `width` characters; what colours is not counted.
fn cut(line: &str, width: usize) -> String {
    let (mut out, mut count, mut in_code) = (String::new(), 0, false);
    for c in line.chars() {
        in_code |= c == '\x1b';
        if !in_code {
            count += 1;
        }
        if in_code || count <= width {
            out.push(c);
        }
        in_code &= c != 'm';
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_drawn_over_the_one_before() {
        let mut lines = 0;
        assert_eq!(over("a\nb\n", 80, &mut lines), "\x1b[2Ka\n\x1b[2Kb\n\x1b[J");
        assert_eq!(over("c\n", 80, &mut lines), "\x1b[2A\x1b[2Kc\n\x1b[J");
        assert_eq!(lines, 1);
    }

    #[test]
    fn a_line_is_cut_at_the_terminals_edge_and_keeps_its_colours() {
        assert_eq!(cut("\x1b[32mabc\x1b[0mdef", 4), "\x1b[32mabc\x1b[0md");
        assert_eq!(cut("åäö", 2), "åä");
    }
}

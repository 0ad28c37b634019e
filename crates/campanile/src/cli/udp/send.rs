//! `campanile udp send`.

use super::super::{Failure, Outcome, print};
use super::args::{RuleName, RungName, Send};
use super::page::{self, RunReport};
use super::{key, on_interrupt, range, shown};
use pace::{PacingRule, Profile, parse_bit_rate};
use paced_udp::control::Control;
use paced_udp::sender::{Scaling, SendOptions, Sender, SenderControl, SenderSummary, THREADS_MAX, View};
use paced_udp::socket::{PathMtu, Rung, path_mtu};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Sparkline};
use ratatui::{DefaultTerminal, Frame, TerminalOptions, Viewport};
use std::io::{self, IsTerminal};
use std::time::Duration;

/// One press of + or - changes the rate by a quarter.
const STEP: f64 = 1.25;
/// Lines of the live view.
const HEIGHT: u16 = 8;
/// Views that are drawn and kept for the page: a day of them.
const KEPT_MAX: usize = 864_000;

pub(super) fn send(args: &Send) -> Outcome {
    let options = options(args)?;
    if let Some(words) = path_mtu(args.to).and_then(|path| shortened(args, path)) {
        eprintln!("campanile: {words}");
    }
    let (sender, helm) = Sender::start(options).map_err(|error| Failure::Failed(error.to_string()))?;
    let control = args.control.as_deref().map(|path| Control::open(path, helm.clone())).transpose();
    let control = control.map_err(|error| Failure::Failed(error.to_string()))?;
    let stopper = helm.clone();
    on_interrupt(move || stopper.stop());
    let mut screen = Screen::new(args.shared.format.is_json());
    let mut views = Vec::new();
    while let Some(view) = sender.view() {
        if let Some(control) = &control {
            control.show(&view);
        }
        screen.show(&view, &views, &helm)?;
        if args.shared.out.is_some() || matches!(screen, Screen::Terminal(_)) && views.len() < KEPT_MAX {
            views.push(view);
        }
    }
    screen.close();
    let summary = sender.join().map_err(|error| Failure::Failed(error.to_string()))?;
    tell(args, &summary, &views)
}

fn tell(args: &Send, summary: &SenderSummary, views: &[View]) -> Outcome {
    if let Some(out) = &args.shared.out {
        let page = RunReport {
            title: format!("Paced UDP to {}: {}", args.to, args.rate),
            summary: shown::summary(summary),
            views,
        };
        page::write(out, "udp-send", &page).map_err(Failure::Failed)?;
    }
    match args.shared.format.is_json() {
        true => print(&format!("{}\n", serde_json::json!({ "summary": summary }))),
        false => print(&shown::summary(summary)),
    }
}

fn options(args: &Send) -> Result<SendOptions, Failure> {
    let wrong = |what: &str, why: String| Failure::Usage(format!("{what}: {why}"));
    let read = |path: &str| std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
    let profile = Profile::parse(&args.rate, read).map_err(|error| wrong("--rate", error.to_string()))?;
    let ceiling = args.ceiling.as_deref().map(parse_bit_rate).transpose();
    let ceiling = ceiling.map_err(|error| wrong("--ceiling", error.to_string()))?;
    let (threads, is_managed) = threads(args.threads.as_deref()).map_err(|why| wrong("--threads", why))?;
    let debt =
        Duration::try_from_secs_f64(args.debt / 1e3).map_err(|error| wrong("--debt", error.to_string()))?;
    Ok(SendOptions {
        to: args.to,
        mss: mss(args, path_mtu(args.to)),
        profile,
        rule: match args.rule {
            RuleName::Bounded => PacingRule::Bounded { debt },
            RuleName::CatchUp => PacingRule::CatchUp,
            RuleName::Capped => PacingRule::Capped,
        },
        threads,
        crewing: if is_managed { Scaling::Learned } else { Scaling::Fixed },
        burst_max: args.burst,
        rung_max: args.rung.map(|rung| match rung {
            RungName::Send => Rung::Send,
            RungName::Sendmmsg => Rung::Sendmmsg,
            RungName::Gso => Rung::Gso,
        }),
        lasts: args.lasts().map_err(Failure::Usage)?,
        key: key(args.shared.key_file.as_deref())?,
        file: args.file.clone(),
        ceiling,
    })
}

/// Octets of a packet's payload where nothing is said: those of an Ethernet frame.
const MSS_DEFAULT: u16 = 1472;

fn mss(args: &Send, path: Option<PathMtu>) -> u16 {
    args.mss.unwrap_or_else(|| path.map_or(MSS_DEFAULT, |path| path.payload.min(MSS_DEFAULT)))
}

/// What is said of a path that does not carry the packets wanted.
fn shortened(args: &Send, path: PathMtu) -> Option<String> {
    let wanted = args.mss.unwrap_or(MSS_DEFAULT);
    let (mtu, fits) = (path.mtu, path.payload);
    if wanted <= fits {
        return None;
    }
    Some(match args.mss {
        None => format!("the path to {} has an MTU of {mtu}: packets have {fits} octets", args.to),
        Some(mss) => format!(
            "--mss {mss} is too long for the path to {}, whose MTU is {mtu}: packets leave one by one, in \
             fragments; --mss {fits} is carried whole",
            args.to
        ),
    })
}

/// First and most, and whether the sender changes between them by itself.
fn threads(text: Option<&str>) -> Result<((usize, usize), bool), String> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    text.map_or(Ok(((1, processors), true)), range)
}

/// Where it is shown.
enum Screen {
    /// Every view, an object a line.
    Json,
    /// A line a second.
    Lines(f64),
    /// Drawn over itself, with keys.
    Terminal(Box<DefaultTerminal>),
}

impl Screen {
    fn new(is_json: bool) -> Screen {
        if is_json {
            return Screen::Json;
        }
        if !(io::stdout().is_terminal() && io::stdin().is_terminal()) {
            return Screen::Lines(0.0);
        }
        let options = TerminalOptions { viewport: Viewport::Inline(HEIGHT) };
        match ratatui::try_init_with_options(options) {
            Ok(terminal) => Screen::Terminal(Box::new(terminal)),
            Err(_) => Screen::Lines(0.0),
        }
    }

    fn show(&mut self, view: &View, before: &[View], helm: &SenderControl) -> Outcome {
        match self {
            Screen::Json => print(&format!("{}\n", serde_json::json!({ "view": view }))),
            Screen::Lines(next) if view.at_s < *next => Ok(()),
            Screen::Lines(next) => {
                *next = view.at_s.floor() + 1.0;
                print(&format!("{}\n", shown::line(view)))
            }
            Screen::Terminal(terminal) => {
                terminal.draw(|frame| draw(frame, view, before))?;
                keys(view, helm)?;
                Ok(())
            }
        }
    }

    fn close(&self) {
        if let Screen::Terminal(_) = self {
            ratatui::restore();
            println!();
        }
    }
}

/// What was pressed since the last view.
fn keys(view: &View, helm: &SenderControl) -> io::Result<()> {
    while event::poll(Duration::ZERO)? {
        let Event::Key(key) = event::read()? else { continue };
        // A rate that is out of bounds stays as it was; the view shows it.
        match key.code {
            KeyCode::Char('+') => drop(helm.set_rate(view.asked * STEP)),
            KeyCode::Char('-') => drop(helm.set_rate(view.asked / STEP)),
            KeyCode::Char('q') => helm.stop(),
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => helm.stop(),
            _ => {}
        }
    }
    Ok(())
}

fn draw(frame: &mut Frame<'_>, view: &View, before: &[View]) {
    let [figures, sent, late] =
        Layout::vertical([Constraint::Length(4), Constraint::Length(2), Constraint::Length(2)])
            .areas(frame.area());
    let lost = view.lost_socket + view.lost_path;
    let reason = view.ceiling.map_or(String::new(), |why| format!("   limit: {why}"));
    let lines = vec![
        Line::from(format!("{:>7.1} s   + faster   - slower   q ends", view.at_s)).dim(),
        Line::from(format!(
            "asked {}   sent {}   received {}",
            shown::rate(view.asked),
            shown::rate(view.sent),
            shown::rate(view.received)
        ))
        .bold(),
        Line::from(format!(
            "{} threads, bursts of {} by {}, {:.0} % of a processor{reason}",
            view.threads,
            view.burst,
            shown::rung(view),
            view.cpu * 100.0
        )),
        Line::from(format!(
            "late {:.1} us (deviation {:.1})   not sent {}   lost {} at the socket, {} on the path",
            view.lag_us,
            view.lag_sd_us,
            shown::count(view.not_sent),
            shown::count(view.lost_socket),
            shown::count(view.lost_path)
        ))
        .style(if lost > 0 { Style::new().yellow() } else { Style::new() }),
    ];
    frame.render_widget(Paragraph::new(lines), figures);
    let newest = |width: u16| &before[before.len().saturating_sub(usize::from(width))..];
    let rates: Vec<u64> = newest(sent.width).iter().map(|view| view.received as u64).collect();
    frame.render_widget(Sparkline::default().data(&rates).style(Style::new().cyan()), sent);
    let lags: Vec<u64> = newest(late.width).iter().map(|view| (view.lag_us.max(0.0) * 10.0) as u64).collect();
    frame.render_widget(Sparkline::default().data(&lags).style(Style::new().yellow()), late);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_as_long_as_the_path_carries_and_longer_ones_are_told() {
        use crate::cli::args::{Cli, CliCommand};
        use clap::Parser;
        let args = |more: &[&str]| match Cli::parse_from(
            ["campanile", "udp", "send", "127.0.0.1:9"].iter().chain(more),
        ) {
            Cli { command: CliCommand::Udp(super::super::Udp::Send(args)) } => args,
            _ => panic!("another command"),
        };
        let path = |mtu: u32| PathMtu { mtu, payload: mtu as u16 - 28 };
        let own = args(&[]);
        assert_eq!(
            (mss(&own, Some(path(9_000))), mss(&own, Some(path(1_280))), mss(&own, None)),
            (1_472, 1_252, 1_472)
        );
        assert_eq!(shortened(&own, path(1_500)), None);
        assert!(shortened(&own, path(1_280)).unwrap().contains("packets have 1252 octets"));
        let said = args(&["--mss", "1400"]);
        assert_eq!(mss(&said, Some(path(1_280))), 1_400);
        assert!(shortened(&said, path(1_280)).unwrap().contains("--mss 1252 is carried whole"));
    }

    #[test]
    fn a_fixed_number_of_threads_is_not_changed_and_a_range_is() {
        assert_eq!(threads(Some("3")), Ok(((3, 3), false)));
        assert_eq!(threads(Some("1..4")), Ok(((1, 4), true)));
        assert!(threads(None).unwrap().1);
        assert!(threads(Some("many")).unwrap_err().contains("FIRST..MOST"));
    }
}

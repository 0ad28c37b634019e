//! A sender's run as CSV, as a picture, and as a page for the browser with both.

use paced_udp::sender::View;
use plot::{self, Curve, Scale};
use std::path::Path;

/// What is written.
pub(super) struct RunReport<'a> {
    /// What was run.
    pub title: String,
    /// What came of it, for people.
    pub summary: String,
    /// Ten a second.
    pub views: &'a [View],
}

/// Writes `name`.csv, .svg and .html into `out`, which is made.
pub(super) fn write(out: &Path, name: &str, page: &RunReport<'_>) -> Result<(), String> {
    let describe = |error: std::io::Error| format!("--out {}: {error}", out.display());
    std::fs::create_dir_all(out).map_err(describe)?;
    std::fs::write(out.join(format!("{name}.csv")), rows(page.views)).map_err(describe)?;
    let picture = out.join(format!("{name}.svg"));
    plot::draw(&picture, &page.title, ["seconds", "Mbit/s"], Scale::Linear, &curves(page.views))?;
    let svg = std::fs::read_to_string(&picture).map_err(describe)?;
    std::fs::write(out.join(format!("{name}.html")), html(&page.title, &svg, &page.summary)).map_err(describe)
}

fn rows(views: &[View]) -> String {
    let mut rows = String::from(
        "seconds,asked,sent,received,threads,burst,lag_us,lag_sd_us,cpu,packets_asked,packets_sent,not_sent,lost_socket,lost_path,ceiling\n",
    );
    for view in views {
        rows += &format!(
            "{:.3},{:.0},{:.0},{:.0},{},{},{:.3},{:.3},{:.4},{},{},{},{},{},{}\n",
            view.at_s,
            view.asked,
            view.sent,
            view.received,
            view.threads,
            view.burst,
            view.lag_us,
            view.lag_sd_us,
            view.cpu,
            view.packets_asked,
            view.packets_sent,
            view.not_sent,
            view.lost_socket,
            view.lost_path,
            view.ceiling.unwrap_or(""),
        );
    }
    rows
}

fn curves(views: &[View]) -> Vec<Curve> {
    let curve = |name: &str, of: fn(&View) -> f64| Curve {
        name: name.to_owned(),
        points: views.iter().map(|view| (view.at_s, of(view) / 1e6)).collect(),
    };
    vec![
        curve("asked", |view| view.asked),
        curve("sent", |view| view.sent),
        curve("received", |view| view.received),
    ]
}

/// A page with a title, a picture and lines of text below it.
pub(super) fn html(title: &str, svg: &str, summary: &str) -> String {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let title = escaped(title);
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>\
         <style>body{{font:16px system-ui;margin:2em;max-width:60em}}svg{{width:100%;height:auto}}</style>\
         <h1>{title}</h1>\n{svg}\n<pre>{}</pre></html>\n",
        escaped(summary)
    )
}

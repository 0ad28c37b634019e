//! The control page, and the same as JSON.

use super::{
    Injection, Parting, ReceiptStage, SessionInfo, Shared, SmscOptions, Stats, StoredMessage, ledger,
};
use crate::page::{Page, PageAnswer, PageRequest, escaped, json};
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::Arc;

/// Messages shown where no number is asked for.
const SHOWN: usize = 100;
/// Stands for a password.
const MASK: &str = "********";
/// The page's own way of looking.
const STYLE: &str = "body{font:15px system-ui;margin:2em;max-width:75em}td,th{text-align:left;\
    padding:.2em .8em .2em 0;border-bottom:1px solid #ddd;vertical-align:top}fieldset{border:1px solid #ccc;\
    margin:.6em 0}input,select,button{font:inherit;margin:.1em .6em .1em .2em}textarea{width:100%;height:12em;\
    font:13px monospace}iframe{width:100%;height:36em;border:0}.said{background:#ffd;padding:.4em}";

/// For people `GET /` and `/live`, `POST` of its forms. For programs `GET /stats`, `/messages?limit=N`,
/// `/sessions`, `/captured?limit=N`, `/phases`, `/scenario` (TOML), `/manual` (TOML), `/count?to=…&text=…`;
/// `POST /inject`, `/receipt`, `/disconnect`, `/phase`, `/scenario` (a body in TOML), `/outbind`, each with
/// its fields in the query or as a form.
pub(super) struct SmscPage(pub(super) Arc<Shared>);

impl Page for SmscPage {
    fn answer(&self, request: &PageRequest<'_>) -> PageAnswer {
        let shared = &self.0;
        let limit = request.parameter("limit").and_then(|limit| limit.parse().ok()).unwrap_or(SHOWN);
        match (request.method, request.path) {
            ("GET", "/") => PageAnswer::html(self.html(None)),
            ("GET", "/live") => PageAnswer::html(self.live()),
            ("GET", "/stats") => json(&shared.stats()),
            ("GET", "/messages") => json(&shared.ledger.messages(limit)),
            ("GET", "/sessions") => json(&shared.session_infos()),
            ("GET", "/captured") => json(&shared.ledger.records(limit)),
            ("GET", "/phases") => json(&self.phases()),
            ("GET", "/scenario") => PageAnswer::text("text/plain; charset=utf-8", self.scenario()),
            ("GET", "/manual") => {
                PageAnswer::text("text/plain; charset=utf-8", SmscOptions::manual().to_owned())
            }
            ("GET", "/count") => {
                let [to, text] = ["to", "text"].map(|name| request.parameter(name).unwrap_or_default());
                let key = ledger::key(shared.scene().options.count, &to, &text);
                json(&json!({ "accepted": key.map_or(0, |key| shared.ledger.count_of(key)) }))
            }
            ("POST", path) => self.act(path, request),
            _ => PageAnswer::not_found(),
        }
    }
}

#[derive(Serialize)]
struct Phases {
    phase: String,
    phases: Vec<String>,
}

impl SmscPage {
    /// Does what a request asks for, and says it as the asker reads: a page to a form, JSON to a program.
    fn act(&self, path: &str, request: &PageRequest<'_>) -> PageAnswer {
        let done = match path {
            "/inject" => self.inject(request),
            "/receipt" => self.receipt(request),
            "/disconnect" => self.disconnect(request),
            "/phase" => self.phase(request),
            "/scenario" => self.begin(request),
            "/outbind" => self.outbind(request),
            _ => return PageAnswer::not_found(),
        };
        match (done, request.is_form) {
            (Ok(value), false) => json(&value),
            (Err(why), false) => json(&json!({ "error": why })).with_status("400 Bad Request"),
            (Ok(value), true) => PageAnswer::html(self.html(Some(&value.to_string()))),
            (Err(why), true) => PageAnswer::html(self.html(Some(&why))).with_status("400 Bad Request"),
        }
    }

    fn inject(&self, request: &PageRequest<'_>) -> Result<Value, String> {
        let needed = |name: &str| given(request, name).ok_or_else(|| format!("{name}: is missing"));
        let long = given(request, "long").map(|long| long.parse()).transpose()?;
        let injection = Injection {
            from: needed("from")?,
            to: needed("to")?,
            text: request.parameter("text").unwrap_or_default(),
            account: given(request, "account"),
            long,
        };
        self.0.inject(&injection).map(|parts| json!({ "parts": parts }))
    }

    fn receipt(&self, request: &PageRequest<'_>) -> Result<Value, String> {
        let id = given(request, "id").ok_or("id: is missing")?;
        let state: ReceiptStage = given(request, "state").ok_or("state: is missing")?.parse()?;
        let error = given(request, "error").unwrap_or_else(|| "0".to_owned());
        let error = error.parse().map_err(|_| format!("error: {error:?} is not a number up to 255"))?;
        self.0.force(&id, state, error).map(|()| json!({ "id": id, "state": state }))
    }

    /// With `session` only that one; without `how` and `session` as [`super::Smsc::disconnect`].
    fn disconnect(&self, request: &PageRequest<'_>) -> Result<Value, String> {
        let how = given(request, "how").map(|how| how.parse::<Parting>()).transpose()?;
        let session = given(request, "session");
        let session = session.map(|s| s.parse().map_err(|_| format!("session: {s:?} is not a number")));
        let session: Option<u64> = session.transpose()?;
        let ended = self.0.part(session, how.unwrap_or(Parting::Cut));
        if session.is_some() && ended == 0 {
            return Err("session: there is none of this number".to_owned());
        }
        Ok(json!({ "disconnected": true, "sessions": ended }))
    }

    /// With `name` that phase; without, the timetable from its beginning.
    fn phase(&self, request: &PageRequest<'_>) -> Result<Value, String> {
        match request.parameter("name") {
            Some(name) if name != "*" => self.0.enter(Some(&name))?,
            _ => self.0.enter(None)?,
        }
        serde_json::to_value(self.phases()).map_err(|error| error.to_string())
    }

    fn begin(&self, request: &PageRequest<'_>) -> Result<Value, String> {
        let form = request.is_form.then(|| request.parameter("scenario").unwrap_or_default());
        let mut options = SmscOptions::from_toml(form.as_deref().unwrap_or(request.body))?;
        self.unmask(&mut options);
        self.0.begin(options)?;
        serde_json::to_value(self.phases()).map_err(|error| error.to_string())
    }

    fn outbind(&self, request: &PageRequest<'_>) -> Result<Value, String> {
        let address = given(request, "address").ok_or("address: is missing")?;
        let (shared, to) = (Arc::clone(&self.0), address.clone());
        tokio::spawn(async move {
            if let Err(error) = shared.outbind(&to).await {
                tracing::warn!(address = %to, %error, "cannot outbind");
            }
        });
        Ok(json!({ "connecting": address }))
    }

    fn phases(&self) -> Phases {
        let names = self.0.timetable().scenes.iter().map(|(_, scene)| scene.phase.clone()).collect();
        Phases { phase: self.0.scene().phase.clone(), phases: names }
    }

    /// What holds, as TOML; without passwords.
    fn scenario(&self) -> String {
        let timetable = self.0.timetable();
        let mut options = timetable.scenes[0].1.options.clone();
        options.password = options.password.map(|_| MASK.to_owned());
        for login in &mut options.accounts {
            login.password = login.password.as_ref().map(|_| MASK.to_owned());
        }
        toml::to_string(&options).unwrap_or_else(|error| format!("# {error}\n"))
    }

    /// Passwords that came back as they were shown are those that hold.
    fn unmask(&self, options: &mut SmscOptions) {
        let timetable = self.0.timetable();
        let current = &timetable.scenes[0].1.options;
        let is_mask = |password: &Option<String>| password.as_deref() == Some(MASK);
        if is_mask(&options.password) {
            options.password.clone_from(&current.password);
        }
        for login in options.accounts.iter_mut().filter(|login| is_mask(&login.password)) {
            let known = current.accounts.iter().find(|known| known.system_id == login.system_id);
            login.password = known.and_then(|known| known.password.clone());
        }
    }

    /// The forms, with what is live in a frame that loads itself anew.
    fn html(&self, said: Option<&str>) -> String {
        let said = said.map(|said| format!("<p class=said>{}", escaped(said))).unwrap_or_default();
        let states: String =
            ReceiptStage::ALL.map(|state| format!("<option>{}", state.word())).into_iter().collect();
        let Phases { phase, phases } = self.phases();
        let options: String = phases
            .iter()
            .map(|name| {
                let label = if name.is_empty() { "outside of phases" } else { name };
                let chosen = if *name == phase { " selected" } else { "" };
                format!("<option value=\"{}\"{chosen}>{}", escaped(name), escaped(label))
            })
            .collect();
        let scenario = escaped(&self.scenario());
        format!(
            "<!doctype html><html lang=en><meta charset=utf-8><title>Simulated SMSC</title><style>{STYLE}</style>\
             <h1>Simulated SMSC</h1>{said}<iframe src=/live title=live></iframe>\
             <form method=post action=/inject><fieldset><legend>A phone writes</legend>\
             <label>from<input name=from value=46701740605></label><label>to<input name=to value=71700></label>\
             <label>text<input name=text size=40></label><label>account<input name=account placeholder=any></label>\
             <label>long<select name=long><option value=\"\">as the scenario<option>payload<option>udh8<option>udh16\
             <option>sar</select></label><button>Send</button></fieldset></form>\
             <form method=post action=/receipt><fieldset><legend>A receipt, now</legend>\
             <label>message id<input name=id size=30></label><label>state<select name=state>{states}</select></label>\
             <label>error<input name=error value=0 size=3></label><button>Send</button></fieldset></form>\
             <form method=post action=/disconnect><fieldset><legend>End connections</legend>\
             <label>session<input name=session placeholder=all size=5></label><label>how<select name=how><option>cut\
             <option>reset<option>half_pdu<option>unbind</select></label><button>End</button></fieldset></form>\
             <form method=post action=/phase><fieldset><legend>Phase</legend><label>enter<select name=name>{options}\
             <option value=\"*\">the timetable from its beginning</select></label><button>Enter</button></fieldset></form>\
             <form method=post action=/outbind><fieldset><legend>Outbind</legend><label>address<input name=address \
             placeholder=127.0.0.1:2780></label><button>Connect</button></fieldset></form>\
             <form method=post action=/scenario><fieldset><legend>Scenario</legend><textarea name=scenario>{scenario}\
             </textarea><button>Begin</button> <a href=/manual>every key</a></fieldset></form>\
             <p>JSON: <a href=/stats>stats</a> · <a href=/messages>messages</a> · <a href=/sessions>sessions</a> · \
             <a href=/captured>captured</a> · <a href=/phases>phases</a>"
        )
    }

    /// Counts, sessions, messages: loads itself anew.
    fn live(&self) -> String {
        let shared = &self.0;
        let facts = facts(&shared.stats(), &shared.scene().phase);
        let sessions = session_rows(&shared.session_infos());
        let messages = message_rows(&shared.ledger.messages(SHOWN));
        format!(
            "<!doctype html><html lang=en><meta charset=utf-8><meta http-equiv=refresh content=2><title>live</title>\
             <style>{STYLE}body{{margin:0}}</style>{facts}<table><tr><th>Session<th>Peer<th>Bound as<th>Mode<th>\
             Version<th>PDUs<th>Delivered<th>Unanswered\n{sessions}</table><p><table><tr><th>From<th>To<th>Text<th>\
             Parts<th>Id\n{messages}</table>"
        )
    }
}

/// A field that is there and says something.
fn given(request: &PageRequest<'_>, name: &str) -> Option<String> {
    request.parameter(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

fn facts(stats: &Stats, phase: &str) -> String {
    let Stats { submits, accepted, messages, sessions, letters, silent, cut, .. } = stats;
    let mut facts = format!(
        "<p>{submits} submissions, {accepted} accepted, {messages} messages, {silent} left without an answer, {cut} cut; \
         {} receipts and {} messages of phones, {} confirmed, {} waiting; {sessions} sessions",
        letters.receipts, letters.replies, letters.confirmed, letters.waiting
    );
    if !stats.refused.is_empty() {
        let refused = stats.refused.iter().map(|(status, count)| format!("{status} {count}"));
        let _ = write!(facts, "<p>Refused: {}", escaped(&refused.collect::<Vec<_>>().join(", ")));
    }
    if !phase.is_empty() {
        let _ = write!(facts, "<p>Phase: <b>{}</b>", escaped(phase));
    }
    facts
}

fn session_rows(sessions: &[SessionInfo]) -> String {
    let mut rows = String::new();
    for session in sessions.iter().take(SHOWN) {
        let SessionInfo { session: number, pdus, delivered, unanswered, .. } = session;
        let mode = session.mode.map(|mode| format!("{mode:?}").to_lowercase()).unwrap_or_default();
        let version = session.version.map(|version| format!("{:x}.{:x}", version >> 4, version & 15));
        let tls = if session.is_tls { ", TLS" } else { "" };
        let _ = writeln!(
            rows,
            "<tr><td>{number}<td>{}{tls}<td>{}<td>{mode}<td>{}<td>{pdus}<td>{delivered}<td>{unanswered}",
            escaped(&session.peer),
            escaped(&session.system_id),
            version.unwrap_or_default()
        );
    }
    rows
}

fn message_rows(messages: &[StoredMessage]) -> String {
    let mut rows = String::new();
    for message in messages.iter().rev() {
        let fields = [&message.from, &message.to, &message.text].map(|field| escaped(field));
        let [from, to, text] = fields;
        let _ = writeln!(rows, "<tr><td>{from}<td>{to}<td>{text}<td>{}<td>{}", message.parts, message.id);
    }
    rows
}

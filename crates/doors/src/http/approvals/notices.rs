//! Notices to approvers and administrators, by their own devices: of an alert that waits, at once, again
//! after a while, and then to the next ones; of one that was sent alone, to all administrators at once.
//!
//! A notice is an alert of its own origin, which no rule holds for. Its key is made of the alert, its version
//! and the round, so that a process that ends between sending and noting it sends it once.

use super::approvers::{Approver, Approvers};
use super::reviews;
use crate::http::alerts::view::headline;
use crate::http::app::App;
use crate::http::auth::hash;
use engine::{ApprovalDecision, ApprovalVerb, Draft, EngineError, Leader};
use records::{
    Alert, AlertNo, AlertRequest, Approval, AudienceEntry, Mode, OnUnknown, Origin, Priority, Strategy,
    Terminal, Texts, Timestamp,
};
use std::collections::HashMap;
use std::time::Duration;
use store::{IdempotencyKey, KeyOwner, StoreError};

/// It is looked for somebody to be told so often.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Alerts read in one go.
const ALERTS_AT_ONCE: usize = 100;
/// Approvers told in one round.
const ROUND: usize = 3;
/// A notice is tried for so long, in seconds.
const TRIED_S: i64 = 3_600;
/// The token of notices.
const TOKEN: &str = "approval";

/// Tells who has to be told, for as long as it is polled; of several processes the leading one does.
pub(crate) async fn run(app: App) {
    loop {
        if app.engine.leader() == Leader::Here {
            if let Err(error) = tell_approvers(&app).await {
                tracing::error!(%error, "approvers could not be told of what waits; it is tried again");
            }
            if let Err(error) = reviews::tell_administrators(&app).await {
                tracing::error!(%error, "administrators could not be told of what was sent alone; it is tried again");
            }
        }
        let _ = tokio::time::timeout(LOOK_EVERY, app.alerts.approvals_wake.notified()).await;
    }
}

/// Tells approvers of every alert of which somebody is due.
pub(super) async fn tell_approvers(app: &App) -> Result<(), EngineError> {
    let mut known: HashMap<String, Approvers> = HashMap::new();
    let mut after = AlertNo(0);
    loop {
        let page = app.store.alerts_awaiting_approval(None, after, ALERTS_AT_ONCE).await;
        let page = page.map_err(|error| stored(&error))?;
        let Some(last) = page.last() else { return Ok(()) };
        after = last.no;
        for alert in &page {
            if !known.contains_key(&alert.account) {
                let found = Approvers::of(&app.store, &alert.account).await;
                known.insert(alert.account.clone(), found.map_err(|error| stored(&error))?);
            }
            let approvers = known[&alert.account].for_alert(app, alert).await;
            let approvers =
                approvers.map_err(|problem| EngineError::Internal(problem.detail().to_owned()))?;
            let persons = alert
                .approval
                .as_deref()
                .and_then(|approval| next_round(approval, &approvers, app.now()))
                .unwrap_or_default();
            if !persons.is_empty() {
                tell_round(app, alert, persons).await?;
            }
        }
    }
}

fn stored(error: &StoreError) -> EngineError {
    EngineError::Internal(error.to_string())
}

/// The persons of the round that is due: each round is told twice, and then comes the next.
fn next_round(approval: &Approval, approvers: &[&Approver], now: Timestamp) -> Option<Vec<String>> {
    let due = match approval.told.last() {
        Some(last) => last.at.plus_s(i64::from(approval.remind_s)),
        None => approval.asked,
    };
    if now < due || now >= approval.expires {
        return None;
    }
    let has_approved =
        |person: &str| approval.approvals.iter().any(|given| given.by.person.as_deref() == Some(person));
    if approval.told.len() % 2 == 1
        && let Some(last) = approval.told.last()
    {
        let still = last.persons.iter().filter(|person| !has_approved(person)).cloned();
        let still: Vec<String> = still.collect();
        // Nobody of them is left: the next come at once.
        if !still.is_empty() {
            return Some(still);
        }
    }
    let is_told =
        |person: &str| approval.told.iter().any(|told| told.persons.iter().any(|one| one == person));
    let next = approvers.iter().map(|one| &one.person);
    let next = next.filter(|person| !is_told(person) && !has_approved(person));
    let next: Vec<String> = next.take(ROUND).cloned().collect();
    (!next.is_empty()).then_some(next)
}

async fn tell_round(app: &App, alert: &Alert, persons: Vec<String>) -> Result<(), EngineError> {
    let Some(approval) = alert.approval.as_deref() else { return Ok(()) };
    let key = format!("approval {} {} {}", alert.id, approval.version, approval.told.len());
    let until = approval.expires.min(app.now().plus_s(TRIED_S));
    match tell(app, alert, (&persons, &asking(app, alert, approval)), (key, until)).await {
        Ok(()) => {}
        // Nobody of them can be reached this way: the next ones are told in their turn.
        Err(EngineError::Unprocessable(problems)) => {
            let why = EngineError::Unprocessable(problems);
            tracing::error!(alert = %alert.id, ?persons, %why, "approvers cannot be told");
        }
        Err(error) => return Err(error),
    }
    let verb = ApprovalVerb::NoteTold { round: approval.told.len(), persons };
    let decision = ApprovalDecision { by: None, verb, version: None };
    match app.engine.decide(&alert.account, alert.id, decision).await {
        // It was decided meanwhile.
        Ok(_) | Err(EngineError::WrongState { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Tells persons something about an alert, by their own devices; a key that was used does nothing.
pub(super) async fn tell(
    app: &App,
    alert: &Alert,
    (persons, text): (&[String], &str),
    (key, until): (String, Timestamp),
) -> Result<(), EngineError> {
    let draft = Draft {
        account: alert.account.clone(),
        token: TOKEN.to_owned(),
        authors: Vec::new(),
        request: request(alert, persons, text, until),
        origin: Origin::Notice,
        key: Some(IdempotencyKey { body_hash: hash(&key), key, of: KeyOwner::Account }),
        wait_solved: false,
        note: None,
    };
    app.engine.submit(draft).await.map(|_| ())
}

/// In the space of the alert, and through quiet hours where the alert goes through them.
fn request(alert: &Alert, persons: &[String], text: &str, until: Timestamp) -> AlertRequest {
    let entry =
        |person: &String| AudienceEntry { to: format!("recipient:{person}"), strategy: None, expires: None };
    let is_emergency = alert.request.priority == Priority::Emergency;
    AlertRequest {
        headline: None,
        // It quotes what people wrote: it is text, and no template.
        text: Some(engine::literal_text(text)),
        texts: Texts::default(),
        audience: persons.iter().map(entry).collect(),
        exclude: Vec::new(),
        channels: Vec::new(),
        strategy: Strategy::All,
        require_answer: false,
        choices: Vec::new(),
        terminal: Terminal::Accepted,
        not_before: None,
        expires: until,
        priority: if is_emergency { Priority::Emergency } else { Priority::Urgent },
        on_unknown: OnUnknown::Resend,
        callback: None,
        sender: alert.request.sender.clone(),
        mode: alert.request.mode,
        participants_only: false,
        answer_rules: records::AnswerRules::default(),
        follows: None,
        flash: false,
        resources: Vec::new(),
        attachments: Vec::new(),
        area: None,
    }
}

fn asking(app: &App, alert: &Alert, approval: &Approval) -> String {
    let who = approval.authors.first().map(|author| author.name.as_str()).filter(|name| !name.is_empty());
    format!(
        "{} asks you to approve: {} To {} people. {}",
        who.unwrap_or("A program"),
        sentence(&headline(&alert.request)),
        approval.people,
        where_to(app, alert),
    )
}

/// Text that ends as a sentence does.
pub(super) fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}

/// Where an alert is looked at.
pub(super) fn where_to(app: &App, alert: &Alert) -> String {
    let base = app.cap.public_url.as_deref().unwrap_or_default().trim_end_matches('/');
    let space = if alert.request.mode == Mode::Drill { "/drill" } else { "" };
    format!("{base}{space}/alerts/{}", alert.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::auth::signed_in::UserScope;
    use records::{ApprovalNeed, ApprovalPerson, GivenApproval, ToldApprovers};

    fn approver(person: &str) -> Approver {
        Approver {
            id: person.to_owned(),
            full_name: person.to_owned(),
            person: person.to_owned(),
            roles: vec![records::UserRole::Approver],
            scope: UserScope { groups: None, areas: None, spaces: vec![Mode::Live] },
            language: None,
        }
    }

    #[test]
    fn each_round_is_told_twice_and_then_the_next_ones_are() {
        let all: Vec<Approver> = ["a", "b", "c", "d", "e"].map(approver).into();
        let all: Vec<&Approver> = all.iter().collect();
        let at = |seconds: i64| Timestamp(0).plus_s(seconds);
        let mut approval = Approval {
            needs: ApprovalNeed::Two,
            remind_s: 120,
            ..Approval::of(Vec::new(), at(0), at(3_600))
        };
        let mut told = Vec::new();
        for seconds in 0..1_000 {
            if seconds == 100 {
                let by = ApprovalPerson { person: Some("b".into()), ..ApprovalPerson::default() };
                approval.approvals.push(GivenApproval { by, at: at(100), people: 1 });
            }
            if let Some(persons) = next_round(&approval, &all, at(seconds)) {
                told.push((seconds, persons.concat()));
                approval.told.push(ToldApprovers { persons, at: at(seconds) });
            }
        }
        let expected = [(0, "abc"), (120, "ac"), (240, "de"), (360, "de")];
        assert_eq!(told, expected.map(|(seconds, persons)| (seconds, persons.to_owned())));
        assert_eq!(next_round(&approval, &all, at(3_600)), None, "its time is over");
    }
}

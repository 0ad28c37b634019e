//! PersonRequest carries out what a person asks for: each act is in the audit trail before it is done, with
//! the device it came from.

use super::desk::ServiceDesk;
use super::groups::{is_in, is_named, joinable, named, shown};
use super::joining::{Joining, add, edit, leave_list};
use super::phrases::{Phrase, is_off, say};
use crate::api::EngineError;
use crate::inbound_text::{Service, ServiceRequest, folded};
use crate::run::{ActorCommand, Engine, store_error};
use records::{JoinRule, QuietHours, Recipient, ServiceCall};
use store::Act;

/// The attribute with what somebody subscribed to, `;` between.
pub(crate) const SUBSCRIPTIONS: &str = "subscriptions";
/// So many of them at most.
pub(super) const SUBSCRIPTIONS_MAX: usize = 20;
/// Names in one reply at most.
const NAMED_MAX: usize = 20;

/// A person and what they ask for.
pub(super) struct PersonRequest<'a> {
    pub(super) desk: &'a ServiceDesk,
    pub(super) engine: &'a Engine,
    pub(super) call: &'a ServiceCall,
    pub(super) person: &'a Recipient,
}

impl PersonRequest<'_> {
    /// Does it; gives the reply.
    pub(super) async fn carry_out(&self, request: ServiceRequest<'_>) -> Result<String, EngineError> {
        let argument = request.argument;
        match request.service {
            Service::Help => Ok(self.help()),
            Service::Status => self.status().await,
            Service::Groups => self.groups().await,
            Service::Join | Service::Leave if argument.is_empty() => self.groups().await,
            Service::Join => self.join(argument).await,
            Service::Leave => self.leave(argument).await,
            Service::Subscribe => self.subscribe(argument).await,
            Service::Unsubscribe => self.unsubscribe(argument).await,
            Service::Lang => self.speak(argument).await,
            Service::Quiet => self.rest(argument).await,
            Service::Page => Ok(self.page()),
            Service::Send => self.prepare_send(argument).await,
            Service::Yes => self.confirm_send(argument).await,
        }
    }

    pub(super) fn say(&self, phrase: Phrase, values: &[&str]) -> String {
        say(phrase, self.person.language.as_deref(), values)
    }

    /// The words there are, and who replies.
    pub(super) fn help(&self) -> String {
        let rules = self.engine.services();
        let words = self.say(Phrase::Words, &[]);
        match rules.organisation.as_str() {
            "" => words,
            organisation => format!("{organisation}. {words}"),
        }
    }

    async fn status(&self) -> Result<String, EngineError> {
        let person = self.person;
        let none = |phrase| self.say(phrase, &[]);
        let groups = match person.groups.is_empty() {
            true => none(Phrase::NoGroups),
            false => self.names_of_groups().await?.join(", "),
        };
        let devices: Vec<String> = person.devices.iter().take(NAMED_MAX).map(shown_device).collect();
        let language = person.language.clone().unwrap_or_else(|| none(Phrase::NoLanguage));
        let quiet = person.quiet_hours.map_or_else(|| none(Phrase::NoQuiet), |quiet| quiet.to_string());
        let name = if person.name.is_empty() { &person.id } else { &person.name };
        let mut lines =
            vec![self.say(Phrase::Status, &[name, &groups, &devices.join(", "), &language, &quiet])];
        if let Some(subscriptions) = person.attributes.get(SUBSCRIPTIONS) {
            lines.push(self.say(Phrase::Subscriptions, &[subscriptions]));
        }
        let addresses =
            person.devices.iter().map(|device| (device.channel, device.address.clone())).collect();
        let account = self.call.account.clone();
        let waiting = self.engine.request(|reply| ActorCommand::Asked { account, addresses, reply }).await?;
        lines.extend(waiting.iter().map(|headline| self.say(Phrase::Waits, &[headline])));
        Ok(lines.join(" "))
    }

    /// The groups they are in by name, as people call them.
    async fn names_of_groups(&self) -> Result<Vec<String>, EngineError> {
        let store = self.engine.store();
        let mut names = Vec::new();
        for id in self.person.groups.iter().take(NAMED_MAX) {
            let group = store.group(&self.call.account, id).await.map_err(store_error)?;
            names.push(group.map_or_else(|| id.clone(), |(group, _)| shown(&group).to_owned()));
        }
        Ok(names)
    }

    async fn groups(&self) -> Result<String, EngineError> {
        let groups = joinable(&self.engine.store(), &self.call.account).await.map_err(store_error)?;
        if groups.is_empty() {
            return Ok(self.say(Phrase::NothingToJoin, &[]));
        }
        let mark = |group: &records::Group| match group.join {
            _ if is_in(self.person, group) => format!(" ({})", self.say(Phrase::IsMember, &[])),
            JoinRule::Approval => format!(" ({})", self.say(Phrase::OnRequest, &[])),
            JoinRule::Open | JoinRule::Closed => String::new(),
        };
        let names: Vec<String> =
            groups.iter().take(NAMED_MAX).map(|group| format!("{}{}", shown(group), mark(group))).collect();
        let more = groups.len().saturating_sub(NAMED_MAX);
        let more = if more == 0 { String::new() } else { format!(" … +{more}") };
        Ok(self.say(Phrase::Groups, &[&format!("{}{more}", names.join(", "))]))
    }

    async fn join(&self, wanted: &str) -> Result<String, EngineError> {
        let groups = joinable(&self.engine.store(), &self.call.account).await.map_err(store_error)?;
        let Some(group) = named(&groups, wanted) else {
            return Ok(self.say(Phrase::UnknownGroup, &[wanted]));
        };
        if is_named(self.person, group) {
            return Ok(self.say(Phrase::Already, &[shown(group)]));
        }
        if group.join == JoinRule::Approval {
            self.note("service.ask_to_join", &group.id).await?;
            Joining::of(self.engine).ask(self.call, group, self.person).await?;
            return Ok(self.say(Phrase::Asked, &[shown(group)]));
        }
        self.note("service.join", &group.id).await?;
        self.edit(|person| add(&mut person.groups, &group.id)).await?;
        Ok(self.say(Phrase::Joined, &[shown(group)]))
    }

    async fn leave(&self, wanted: &str) -> Result<String, EngineError> {
        let store = self.engine.store();
        let groups = joinable(&store, &self.call.account).await.map_err(store_error)?;
        let Some(group) = named(&groups, wanted) else {
            let theirs = self.person.groups.iter().any(|group| folded(group) == folded(wanted));
            let phrase = if theirs { Phrase::MayNotLeave } else { Phrase::UnknownGroup };
            return Ok(self.say(phrase, &[wanted]));
        };
        if !is_named(self.person, group) {
            let phrase = if is_in(self.person, group) { Phrase::MayNotLeave } else { Phrase::NotIn };
            return Ok(self.say(phrase, &[shown(group)]));
        }
        self.note("service.leave", &group.id).await?;
        self.edit(|person| person.groups.retain(|id| *id != group.id)).await?;
        if group.members.contains(&self.person.id) {
            leave_list(self.engine, &self.call.account, &group.id, &self.person.id).await?;
        }
        Ok(self.say(Phrase::Left, &[shown(group)]))
    }

    async fn subscribe(&self, wanted: &str) -> Result<String, EngineError> {
        let mut all = subscriptions(self.person);
        let wanted = wanted.replace(';', " ");
        if !all.iter().any(|one| folded(one) == folded(&wanted)) {
            all.push(wanted.clone());
        }
        if all.len() > SUBSCRIPTIONS_MAX {
            return Ok(self.say(Phrase::TooMany, &[&SUBSCRIPTIONS_MAX.to_string()]));
        }
        self.note("service.subscribe", &wanted).await?;
        self.keep_subscriptions(&all).await?;
        Ok(self.say(Phrase::Subscribed, &[&all.join("; ")]))
    }

    async fn unsubscribe(&self, wanted: &str) -> Result<String, EngineError> {
        let mut all = subscriptions(self.person);
        let before = all.len();
        all.retain(|one| folded(one) != folded(wanted));
        if all.len() == before {
            return Ok(self.say(Phrase::NotSubscribed, &[wanted]));
        }
        self.note("service.unsubscribe", wanted).await?;
        self.keep_subscriptions(&all).await?;
        let left = if all.is_empty() { self.say(Phrase::NoGroups, &[]) } else { all.join("; ") };
        Ok(self.say(Phrase::Unsubscribed, &[&left]))
    }

    async fn keep_subscriptions(&self, all: &[String]) -> Result<(), EngineError> {
        self.edit(|person| set_subscriptions(person, all)).await
    }

    async fn speak(&self, wanted: &str) -> Result<String, EngineError> {
        let Ok(tag) = channels::languages::tag(wanted) else {
            return Ok(self.say(Phrase::UnknownLanguage, &[wanted]));
        };
        self.note("service.language", &tag).await?;
        self.edit(|person| person.language = Some(tag.clone())).await?;
        Ok(say(Phrase::LanguageIs, Some(&tag), &[]))
    }

    async fn rest(&self, wanted: &str) -> Result<String, EngineError> {
        if is_off(wanted) {
            self.note("service.quiet", "off").await?;
            self.edit(|person| person.quiet_hours = None).await?;
            return Ok(self.say(Phrase::QuietOff, &[]));
        }
        let Some(quiet) = quiet_hours(wanted) else {
            return Ok(self.say(Phrase::UnknownQuiet, &[wanted]));
        };
        self.note("service.quiet", &quiet.to_string()).await?;
        self.edit(|person| person.quiet_hours = Some(quiet)).await?;
        let shown = quiet.to_string();
        let (from, to) = shown.split_once('-').unwrap_or((&shown, ""));
        Ok(self.say(Phrase::QuietIs, &[from, to]))
    }

    fn page(&self) -> String {
        match self.engine.parts().links.page(&self.call.account, &self.person.id, self.engine.parts().now()) {
            Some(link) => self.say(Phrase::Page, &[&link]),
            None => self.say(Phrase::NoPage, &[]),
        }
    }

    async fn edit(&self, change: impl Fn(&mut Recipient)) -> Result<(), EngineError> {
        let edited = edit(self.engine, &self.call.account, &self.person.id, change).await?;
        edited.map(|_| ()).ok_or(EngineError::NotFound)
    }

    /// Notes an act before it is done.
    pub(super) async fn note(&self, verb: &str, detail: &str) -> Result<(), EngineError> {
        let inbound = &self.call.inbound;
        let act = Act {
            at: self.engine.parts().now(),
            account: self.call.account.clone(),
            token: store::audit::SERVER.to_owned(),
            from: channels::entry(inbound.channel, &inbound.from),
            verb: verb.to_owned(),
            object: self.person.id.clone(),
            detail: detail.to_owned(),
            person: Some(self.person.id.clone()),
            ..Act::default()
        };
        self.engine.store().note_act(act).await.map(|_| ()).map_err(store_error)
    }
}

/// What somebody subscribed to.
pub(super) fn subscriptions(person: &Recipient) -> Vec<String> {
    let list = person.attributes.get(SUBSCRIPTIONS).map(String::as_str).unwrap_or_default();
    list.split(';').map(str::trim).filter(|one| !one.is_empty()).map(str::to_owned).collect()
}

/// Keeps these in place of what was there.
pub(super) fn set_subscriptions(person: &mut Recipient, all: &[String]) {
    match all.is_empty() {
        true => _ = person.attributes.remove(SUBSCRIPTIONS),
        false => _ = person.attributes.insert(SUBSCRIPTIONS.to_owned(), all.join("; ")),
    }
}

/// A channel and the end of an address: who holds one device need not see the others.
fn shown_device(device: &records::Device) -> String {
    let characters: Vec<char> = device.address.chars().collect();
    let tail: String = characters[characters.len().saturating_sub(4)..].iter().collect();
    format!("{} …{tail}", channels::name(device.channel))
}

/// `22-7`, `22:30-7`, `22.30 - 07.00`.
pub(super) fn quiet_hours(text: &str) -> Option<QuietHours> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let (from, to) = text.split_once(['-', '–'])?;
    let minute = |text: &str| {
        let text = text.replace('.', ":");
        if text.contains(':') { text } else { format!("{text}:00") }
    };
    format!("{}-{}", minute(from), minute(to)).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_read_as_people_write_them() {
        for (text, expected) in [
            ("22-7", Some("22:00-07:00")),
            ("22:30-7", Some("22:30-07:00")),
            ("22.30 – 07.15", Some("22:30-07:15")),
            ("25-7", None),
            ("22", None),
            ("7-7", None),
        ] {
            assert_eq!(quiet_hours(text).map(|quiet| quiet.to_string()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_device_shows_the_end_of_its_address_alone() {
        let device = records::Device::new(channels::SMS, "+46701740001".into());
        assert_eq!(shown_device(&device), "sms …0001");
    }
}

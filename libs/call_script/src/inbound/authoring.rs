//! An author's call: a template is chosen, read back and confirmed.

use super::alerts::AlertHearing;
use super::{
    APPROVAL_WAIT, InboundAction, InboundContext, InboundState, PREPARE_WAIT, SEND_WAIT, SpokenPart,
    TEMPLATES_MAX,
};
use crate::prompt::{SpokenLine, text_lines};
use crate::{PhoneKey, Prompt};
use std::time::Instant;

/// "Press 1 to send an alert, 2 to hear alerts."
#[derive(Debug)]
pub(super) struct MainMenu {
    pub part: SpokenPart,
}

/// The templates by key.
#[derive(Debug)]
pub(super) struct TemplateMenu {
    pub part: SpokenPart,
}

/// The wait for count and sound of a template.
#[derive(Debug)]
pub(super) struct Preparation {
    pub part: SpokenPart,
    template: u64,
}

/// Count and text as they will be sent, then the question.
#[derive(Debug)]
pub(super) struct ReadBack {
    pub part: SpokenPart,
    template: u64,
    read_back: Vec<Prompt>,
    /// All of it was played: key 1 counts.
    pub is_heard: bool,
}

/// The wait for the result, and for an approver.
#[derive(Debug)]
pub(super) struct Sending {
    pub part: SpokenPart,
}

impl MainMenu {
    /// The menu, behind some words.
    pub fn begin(
        context: &mut InboundContext,
        now: Instant,
        before: impl IntoIterator<Item = SpokenLine>,
    ) -> InboundState {
        let menu = SpokenLine::from(context.script.main_menu);
        let part = SpokenPart::begin(context, now, before.into_iter().chain([menu]));
        InboundState::MainMenu(MainMenu { part })
    }

    /// Templates, alerts, or the menu again.
    pub fn press(self, context: &mut InboundContext, now: Instant, key: PhoneKey) -> InboundState {
        self.part.stop(context);
        match key.as_char() {
            '1' => TemplateMenu::begin(context, now, []),
            '2' => AlertHearing::begin(context, now, 0, []),
            '*' | '9' => MainMenu::begin(context, now, []),
            _ => {
                let wrong = context.script.wrong_key.into();
                MainMenu::begin(context, now, [wrong])
            }
        }
    }
}

impl TemplateMenu {
    fn begin(
        context: &mut InboundContext,
        now: Instant,
        before: impl IntoIterator<Item = SpokenLine>,
    ) -> InboundState {
        let menu = context.templates.as_ref().map(|(menu, _)| SpokenLine::from(*menu));
        let part = SpokenPart::begin(context, now, before.into_iter().chain(menu));
        InboundState::ChoosingTemplate(TemplateMenu { part })
    }

    /// A template by its key; hash goes back.
    pub fn press(self, context: &mut InboundContext, now: Instant, key: PhoneKey) -> InboundState {
        self.part.stop(context);
        let templates = context.templates.iter().flat_map(|(_, templates)| templates);
        let chosen = templates.take(TEMPLATES_MAX).find(|template| template.key == key).map(|found| found.id);
        if let Some(template) = chosen {
            context.actions.push_back(InboundAction::Prepare(template));
            let wait = context.script.please_wait.into();
            let part = SpokenPart::begin(context, now, [wait]).with_deadline(now + PREPARE_WAIT);
            return InboundState::Preparing(Preparation { part, template });
        }
        match key.as_char() {
            '#' => MainMenu::begin(context, now, []),
            '*' => TemplateMenu::begin(context, now, []),
            _ => {
                let wrong = context.script.wrong_key.into();
                TemplateMenu::begin(context, now, [wrong])
            }
        }
    }
}

impl Preparation {
    /// Keys pressed while nothing was read back yet do not count.
    pub fn prepared(
        self,
        context: &mut InboundContext,
        now: Instant,
        template: u64,
        read_back: Vec<Prompt>,
    ) -> InboundState {
        if template != self.template {
            return InboundState::Preparing(self);
        }
        if read_back.is_empty() {
            return self.too_late(context, now);
        }
        self.part.stop(context);
        ReadBack::begin(context, now, template, read_back, false)
    }

    /// This template cannot be sent.
    pub fn not_prepared(self, context: &mut InboundContext, now: Instant, template: u64) -> InboundState {
        if template != self.template { InboundState::Preparing(self) } else { self.too_late(context, now) }
    }

    /// Another template may be ready.
    pub fn too_late(self, context: &mut InboundContext, now: Instant) -> InboundState {
        self.part.stop(context);
        let words = context.script.not_prepared.into();
        TemplateMenu::begin(context, now, [words])
    }
}

impl ReadBack {
    fn begin(
        context: &mut InboundContext,
        now: Instant,
        template: u64,
        read_back: Vec<Prompt>,
        is_heard: bool,
    ) -> InboundState {
        let confirm = SpokenLine::from(context.script.confirm);
        let part = SpokenPart::begin(context, now, text_lines(&read_back).chain([confirm]));
        InboundState::ReadingBack(ReadBack { part, template, read_back, is_heard })
    }

    /// Key 1 sends what was heard, 2 goes back, any other plays it again.
    pub fn press(self, context: &mut InboundContext, now: Instant, key: PhoneKey) -> InboundState {
        match key.as_char() {
            '1' if !self.is_heard => return InboundState::ReadingBack(self),
            _ => self.part.stop(context),
        }
        match key.as_char() {
            '1' => {
                context.actions.push_back(InboundAction::Send(self.template));
                let wait = context.script.please_wait.into();
                let part = SpokenPart::begin(context, now, [wait]).with_deadline(now + SEND_WAIT);
                InboundState::Sending(Sending { part })
            }
            '2' | '#' => TemplateMenu::begin(context, now, []),
            _ => ReadBack::begin(context, now, self.template, self.read_back, self.is_heard),
        }
    }
}

impl Sending {
    /// An approver is called: the author may wait on the line.
    pub fn wait_for_approval(
        self,
        context: &mut InboundContext,
        now: Instant,
        words: Prompt,
    ) -> InboundState {
        self.part.stop(context);
        let part = SpokenPart::begin(context, now, [words.into()]).with_deadline(now + APPROVAL_WAIT);
        InboundState::Sending(Sending { part })
    }

    /// The result, and goodbye.
    pub fn finish(self, context: &mut InboundContext, now: Instant, words: Prompt) -> InboundState {
        self.part.stop(context);
        context.close(now, [words.into()])
    }

    /// No result in time: none is made up.
    pub fn too_late(self, context: &mut InboundContext, now: Instant) -> InboundState {
        let words = context.script.no_result;
        self.finish(context, now, words)
    }
}

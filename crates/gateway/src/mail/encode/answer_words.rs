//! Words of an answer section, by the language of the text above it.

/// The words of a language. `{}` stands for the keys of the choices.
#[derive(Debug)]
pub struct AnswerWords {
    /// Before a link.
    pub here: &'static str,
    /// The only way is a reply.
    pub reply: &'static str,
    /// The same where there are choices.
    pub reply_with: &'static str,
    /// Behind a link.
    pub or_reply: &'static str,
    /// The same where there are choices.
    pub or_reply_with: &'static str,
    /// Between the last two keys, with its spaces.
    pub or: &'static str,
}

impl AnswerWords {
    /// Those of a language tag (BCP 47), of which the primary language counts; English for none and for
    /// languages without words here.
    pub fn of(language: Option<&str>) -> &'static AnswerWords {
        let primary = language.unwrap_or_default().split('-').next().unwrap_or_default();
        let primary =
            if ["nb", "nn"].iter().any(|one| one.eq_ignore_ascii_case(primary)) { "no" } else { primary };
        let found = WORDS.iter().find(|(tag, _)| tag.eq_ignore_ascii_case(primary));
        &found.unwrap_or(&WORDS[0]).1
    }

    /// The sentence about a reply. `beside_link`: there is a link before it.
    pub fn by_reply(&self, beside_link: bool, keys: &[&str]) -> String {
        let (plain, with) = match beside_link {
            true => (self.or_reply, self.or_reply_with),
            false => (self.reply, self.reply_with),
        };
        let Some((last, first)) = keys.split_last() else { return plain.to_owned() };
        let listed = match first {
            [] => (*last).to_owned(),
            first => format!("{}{}{last}", first.join(", "), self.or),
        };
        with.replace("{}", &listed)
    }
}

#[rustfmt::skip]
const WORDS: &[(&str, AnswerWords)] = &[
    ("en", AnswerWords {
        here: "Please answer here",
        reply: "Please answer by replying to this mail.",
        reply_with: "Please answer by replying to this mail with {}.",
        or_reply: "Or reply to this mail.",
        or_reply_with: "Or reply to this mail with {}.",
        or: " or ",
    }),
    ("ar", AnswerWords {
        here: "يرجى الإجابة هنا",
        reply: "يرجى الإجابة بالرد على هذه الرسالة.",
        reply_with: "يرجى الإجابة بالرد على هذه الرسالة بكتابة {}.",
        or_reply: "أو قم بالرد على هذه الرسالة.",
        or_reply_with: "أو قم بالرد على هذه الرسالة بكتابة {}.",
        or: " أو ",
    }),
    ("cs", AnswerWords {
        here: "Odpovězte prosím zde",
        reply: "Odpovězte prosím na tento e-mail.",
        reply_with: "Odpovězte prosím na tento e-mail: {}.",
        or_reply: "Nebo odpovězte na tento e-mail.",
        or_reply_with: "Nebo odpovězte na tento e-mail: {}.",
        or: " nebo ",
    }),
    ("da", AnswerWords {
        here: "Svar her",
        reply: "Svar ved at besvare denne mail.",
        reply_with: "Svar ved at besvare denne mail med {}.",
        or_reply: "Eller besvar denne mail.",
        or_reply_with: "Eller besvar denne mail med {}.",
        or: " eller ",
    }),
    ("de", AnswerWords {
        here: "Bitte antworten Sie hier",
        reply: "Bitte antworten Sie auf diese E-Mail.",
        reply_with: "Bitte antworten Sie auf diese E-Mail mit {}.",
        or_reply: "Oder antworten Sie auf diese E-Mail.",
        or_reply_with: "Oder antworten Sie auf diese E-Mail mit {}.",
        or: " oder ",
    }),
    ("es", AnswerWords {
        here: "Responda aquí",
        reply: "Responda a este correo.",
        reply_with: "Responda a este correo con {}.",
        or_reply: "O responda a este correo.",
        or_reply_with: "O responda a este correo con {}.",
        or: " o ",
    }),
    ("et", AnswerWords {
        here: "Palun vastake siin",
        reply: "Palun vastake sellele kirjale.",
        reply_with: "Palun vastake sellele kirjale: {}.",
        or_reply: "Või vastake sellele kirjale.",
        or_reply_with: "Või vastake sellele kirjale: {}.",
        or: " või ",
    }),
    ("fi", AnswerWords {
        here: "Vastaa täällä",
        reply: "Vastaa tähän viestiin.",
        reply_with: "Vastaa tähän viestiin: {}.",
        or_reply: "Tai vastaa tähän viestiin.",
        or_reply_with: "Tai vastaa tähän viestiin: {}.",
        or: " tai ",
    }),
    ("fr", AnswerWords {
        here: "Veuillez répondre ici",
        reply: "Veuillez répondre à ce message.",
        reply_with: "Veuillez répondre à ce message par {}.",
        or_reply: "Ou répondez à ce message.",
        or_reply_with: "Ou répondez à ce message par {}.",
        or: " ou ",
    }),
    ("hu", AnswerWords {
        here: "Kérjük, itt válaszoljon",
        reply: "Kérjük, válaszoljon erre az e-mailre.",
        reply_with: "Kérjük, válaszoljon erre az e-mailre: {}.",
        or_reply: "Vagy válaszoljon erre az e-mailre.",
        or_reply_with: "Vagy válaszoljon erre az e-mailre: {}.",
        or: " vagy ",
    }),
    ("it", AnswerWords {
        here: "Rispondere qui",
        reply: "Rispondere a questa mail.",
        reply_with: "Rispondere a questa mail con {}.",
        or_reply: "Oppure rispondere a questa mail.",
        or_reply_with: "Oppure rispondere a questa mail con {}.",
        or: " o ",
    }),
    ("ja", AnswerWords {
        here: "こちらから回答してください",
        reply: "このメールに返信して回答してください。",
        reply_with: "このメールに {} と返信して回答してください。",
        or_reply: "または、このメールに返信してください。",
        or_reply_with: "または、このメールに {} と返信してください。",
        or: " または ",
    }),
    ("lt", AnswerWords {
        here: "Atsakykite čia",
        reply: "Atsakykite į šį laišką.",
        reply_with: "Atsakykite į šį laišką: {}.",
        or_reply: "Arba atsakykite į šį laišką.",
        or_reply_with: "Arba atsakykite į šį laišką: {}.",
        or: " arba ",
    }),
    ("lv", AnswerWords {
        here: "Lūdzu, atbildiet šeit",
        reply: "Lūdzu, atbildiet uz šo vēstuli.",
        reply_with: "Lūdzu, atbildiet uz šo vēstuli: {}.",
        or_reply: "Vai atbildiet uz šo vēstuli.",
        or_reply_with: "Vai atbildiet uz šo vēstuli: {}.",
        or: " vai ",
    }),
    ("nl", AnswerWords {
        here: "Antwoord hier",
        reply: "Beantwoord deze mail.",
        reply_with: "Beantwoord deze mail met {}.",
        or_reply: "Of beantwoord deze mail.",
        or_reply_with: "Of beantwoord deze mail met {}.",
        or: " of ",
    }),
    ("no", AnswerWords {
        here: "Svar her",
        reply: "Svar på denne e-posten.",
        reply_with: "Svar på denne e-posten med {}.",
        or_reply: "Eller svar på denne e-posten.",
        or_reply_with: "Eller svar på denne e-posten med {}.",
        or: " eller ",
    }),
    ("pl", AnswerWords {
        here: "Prosimy odpowiedzieć tutaj",
        reply: "Prosimy odpowiedzieć na tę wiadomość.",
        reply_with: "Prosimy odpowiedzieć na tę wiadomość: {}.",
        or_reply: "Albo odpowiedz na tę wiadomość.",
        or_reply_with: "Albo odpowiedz na tę wiadomość: {}.",
        or: " lub ",
    }),
    ("pt", AnswerWords {
        here: "Responda aqui",
        reply: "Responda a este e-mail.",
        reply_with: "Responda a este e-mail com {}.",
        or_reply: "Ou responda a este e-mail.",
        or_reply_with: "Ou responda a este e-mail com {}.",
        or: " ou ",
    }),
    ("ru", AnswerWords {
        here: "Ответьте здесь",
        reply: "Ответьте на это письмо.",
        reply_with: "Ответьте на это письмо: {}.",
        or_reply: "Или ответьте на это письмо.",
        or_reply_with: "Или ответьте на это письмо: {}.",
        or: " или ",
    }),
    ("sv", AnswerWords {
        here: "Svara här",
        reply: "Svara genom att besvara det här mejlet.",
        reply_with: "Svara genom att besvara det här mejlet med {}.",
        or_reply: "Eller besvara det här mejlet.",
        or_reply_with: "Eller besvara det här mejlet med {}.",
        or: " eller ",
    }),
    ("tr", AnswerWords {
        here: "Lütfen buradan yanıtlayın",
        reply: "Lütfen bu e-postayı yanıtlayın.",
        reply_with: "Lütfen bu e-postayı şununla yanıtlayın: {}.",
        or_reply: "Ya da bu e-postayı yanıtlayın.",
        or_reply_with: "Ya da bu e-postayı şununla yanıtlayın: {}.",
        or: " veya ",
    }),
    ("uk", AnswerWords {
        here: "Дайте відповідь тут",
        reply: "Дайте відповідь на цей лист.",
        reply_with: "Дайте відповідь на цей лист: {}.",
        or_reply: "Або дайте відповідь на цей лист.",
        or_reply_with: "Або дайте відповідь на цей лист: {}.",
        or: " або ",
    }),
    ("zh", AnswerWords {
        here: "请在此回答",
        reply: "请回复此邮件作答。",
        reply_with: "请回复此邮件，内容为 {}。",
        or_reply: "或回复此邮件。",
        or_reply_with: "或回复此邮件，内容为 {}。",
        or: " 或 ",
    }),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_primary_language_else_english() {
        for (language, here) in [
            (None, "Please answer here"),
            (Some("en-GB"), "Please answer here"),
            (Some("sv-FI"), "Svara här"),
            (Some("SV"), "Svara här"),
            (Some("nb"), "Svar her"),
            (Some("nn-NO"), "Svar her"),
            (Some("zh-Hant"), "请在此回答"),
            (Some("tlh"), "Please answer here"),
            (Some(""), "Please answer here"),
        ] {
            assert_eq!(AnswerWords::of(language).here, here, "{language:?}");
        }
    }

    #[test]
    fn every_sentence_that_takes_keys_has_one_place_for_them_and_the_others_none() {
        for (tag, words) in WORDS {
            for (sentence, places) in [
                (words.here, 0),
                (words.reply, 0),
                (words.reply_with, 1),
                (words.or_reply, 0),
                (words.or_reply_with, 1),
                (words.or, 0),
            ] {
                assert_eq!(sentence.matches("{}").count(), places, "{tag}: {sentence}");
            }
        }
    }

    #[test]
    fn keys_are_listed_as_people_do() {
        let words = AnswerWords::of(Some("de"));
        for (keys, expected) in [
            (vec![], "Oder antworten Sie auf diese E-Mail."),
            (vec!["1"], "Oder antworten Sie auf diese E-Mail mit 1."),
            (vec!["1", "2"], "Oder antworten Sie auf diese E-Mail mit 1 oder 2."),
            (vec!["1", "2", "3"], "Oder antworten Sie auf diese E-Mail mit 1, 2 oder 3."),
        ] {
            assert_eq!(words.by_reply(true, &keys), expected);
        }
    }
}

//! Phrases of replies, by language. `{0}`, `{1}` … stand for values.

/// The languages, in the order of the columns. The first is for who has none of them.
const LANGUAGES: [&str; 4] = ["en", "sv", "de", "fr"];

/// What is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phrase {
    /// The words there are.
    Words,
    /// Name, groups, devices, language, quiet hours.
    Status,
    NoGroups,
    NoLanguage,
    NoQuiet,
    /// Headline of an alert that waits for an answer.
    Waits,
    Subscriptions,
    /// The groups that can be joined.
    Groups,
    NothingToJoin,
    IsMember,
    OnRequest,
    Joined,
    Already,
    Asked,
    Rejected,
    UnknownGroup,
    Left,
    NotIn,
    MayNotLeave,
    LanguageIs,
    UnknownLanguage,
    QuietIs,
    QuietOff,
    UnknownQuiet,
    Page,
    NoPage,
    Subscribed,
    Unsubscribed,
    NotSubscribed,
    TooMany,
    /// A mail may say that it is anybody's.
    Prove,
    /// The same, with the link that does it, and what it asks for.
    ProveAct,
    MayNotSend,
    /// What is sent, to how many, by which channels, the code, minutes.
    ReadBack,
    Sent,
    WrongCode,
    Failed,
    /// A code, the id that it logs in, minutes.
    LoginCode,
    /// The code of a new device, minutes.
    DeviceCode,
    /// The chat is a device now.
    ChatAdded,
    /// It was one.
    ChatKnown,
    ChatWrong,
    ChatOld,
    ChatTaken,
    ChatMany,
    ChatStopped,
}

/// A row a phrase, in the order of [`Phrase`].
#[rustfmt::skip]
const TABLE: &[(Phrase, [&str; LANGUAGES.len()])] = &[
    (Phrase::Words, [
        "You can write: STATUS, GROUPS, JOIN name, LEAVE name, SUBSCRIBE word, LANG sv, QUIET 22-7, PAGE, STOP.",
        "Du kan skriva: STATUS, GRUPPER, GÅ MED namn, LÄMNA namn, PRENUMERERA ord, SPRÅK en, TYST 22-7, MIN SIDA, STOPP.",
        "Sie können schreiben: STATUS, GRUPPEN, BEITRETEN Name, VERLASSEN Name, ABONNIEREN Wort, SPRACHE en, RUHE 22-7, MEINE SEITE, STOPP.",
        "Vous pouvez écrire : STATUT, GROUPES, REJOINDRE nom, QUITTER nom, ABONNER mot, LANGUE en, SILENCE 22-7, MA PAGE, STOP.",
    ]),
    (Phrase::Status, [
        "{0}. Groups: {1}. Devices: {2}. Language: {3}. Quiet hours: {4}.",
        "{0}. Grupper: {1}. Enheter: {2}. Språk: {3}. Tysta timmar: {4}.",
        "{0}. Gruppen: {1}. Geräte: {2}. Sprache: {3}. Ruhezeiten: {4}.",
        "{0}. Groupes : {1}. Appareils : {2}. Langue : {3}. Heures calmes : {4}.",
    ]),
    (Phrase::NoGroups, [
        "none",
        "inga",
        "keine",
        "aucun",
    ]),
    (Phrase::NoLanguage, [
        "not set",
        "inte valt",
        "nicht gewählt",
        "non choisie",
    ]),
    (Phrase::NoQuiet, [
        "none",
        "inga",
        "keine",
        "aucune",
    ]),
    (Phrase::Waits, [
        "Waits for an answer: “{0}”.",
        "Väntar på svar: ”{0}”.",
        "Wartet auf Antwort: „{0}“.",
        "Attend une réponse : « {0} ».",
    ]),
    (Phrase::Subscriptions, [
        "Subscribed to: {0}.",
        "Prenumererar på: {0}.",
        "Abonniert: {0}.",
        "Abonné à : {0}.",
    ]),
    (Phrase::Groups, [
        "Groups: {0}.",
        "Grupper: {0}.",
        "Gruppen: {0}.",
        "Groupes : {0}.",
    ]),
    (Phrase::NothingToJoin, [
        "There is no group that can be joined.",
        "Det finns ingen grupp att gå med i.",
        "Es gibt keine Gruppe, der man beitreten kann.",
        "Il n’y a aucun groupe à rejoindre.",
    ]),
    (Phrase::IsMember, [
        "joined",
        "med",
        "Mitglied",
        "membre",
    ]),
    (Phrase::OnRequest, [
        "on request",
        "på begäran",
        "auf Anfrage",
        "sur demande",
    ]),
    (Phrase::Joined, [
        "Now in the group {0}.",
        "Nu med i gruppen {0}.",
        "Nun in der Gruppe {0}.",
        "Vous êtes dans le groupe {0}.",
    ]),
    (Phrase::Already, [
        "Already in the group {0}.",
        "Redan med i gruppen {0}.",
        "Schon in der Gruppe {0}.",
        "Vous êtes déjà dans le groupe {0}.",
    ]),
    (Phrase::Asked, [
        "An operator was asked to add you to {0}. We write when they have decided.",
        "En operatör har fått frågan om att lägga till dig i {0}. Vi skriver när det är avgjort.",
        "Die Aufnahme in {0} ist angefragt. Wir schreiben, sobald entschieden ist.",
        "Votre entrée dans {0} est demandée. Nous écrirons dès que c’est décidé.",
    ]),
    (Phrase::Rejected, [
        "An operator did not add you to {0}.",
        "En operatör lade inte till dig i {0}.",
        "Die Aufnahme in {0} wurde abgelehnt.",
        "Votre entrée dans {0} a été refusée.",
    ]),
    (Phrase::UnknownGroup, [
        "No group that can be joined is called “{0}”. GROUPS lists them.",
        "Ingen grupp att gå med i heter ”{0}”. GRUPPER visar dem.",
        "Keine Gruppe zum Beitreten heißt „{0}“. GRUPPEN zeigt sie.",
        "Aucun groupe à rejoindre ne s’appelle « {0} ». GROUPES les montre.",
    ]),
    (Phrase::Left, [
        "No longer in the group {0}.",
        "Inte längre med i gruppen {0}.",
        "Nicht mehr in der Gruppe {0}.",
        "Vous n’êtes plus dans le groupe {0}.",
    ]),
    (Phrase::NotIn, [
        "You are not in the group {0}.",
        "Du är inte med i gruppen {0}.",
        "Sie sind nicht in der Gruppe {0}.",
        "Vous n’êtes pas dans le groupe {0}.",
    ]),
    (Phrase::MayNotLeave, [
        "Only an operator can take you out of {0}.",
        "Bara en operatör kan ta dig ur {0}.",
        "Aus {0} kann nur die Leitstelle Sie entfernen.",
        "Seul un opérateur peut vous retirer de {0}.",
    ]),
    (Phrase::LanguageIs, [
        "Messages come in English where there is an English text.",
        "Meddelanden kommer på svenska där det finns en svensk text.",
        "Meldungen kommen auf Deutsch, wo es einen deutschen Text gibt.",
        "Les messages viennent en français là où il y a un texte français.",
    ]),
    (Phrase::UnknownLanguage, [
        "“{0}” is no language. Example: LANG sv",
        "”{0}” är inget språk. Exempel: SPRÅK en",
        "„{0}“ ist keine Sprache. Beispiel: SPRACHE en",
        "« {0} » n’est pas une langue. Exemple : LANGUE en",
    ]),
    (Phrase::QuietIs, [
        "Nothing that can wait is sent from {0} to {1}.",
        "Inget som kan vänta skickas från {0} till {1}.",
        "Von {0} bis {1} kommt nichts, was warten kann.",
        "Rien de ce qui peut attendre n’est envoyé de {0} à {1}.",
    ]),
    (Phrase::QuietOff, [
        "No quiet hours.",
        "Inga tysta timmar.",
        "Keine Ruhezeiten.",
        "Pas d’heures calmes.",
    ]),
    (Phrase::UnknownQuiet, [
        "“{0}” is no span of hours. Example: QUIET 22-7, or QUIET OFF",
        "”{0}” är inga timmar. Exempel: TYST 22-7, eller TYST AV",
        "„{0}“ ist keine Zeitspanne. Beispiel: RUHE 22-7, oder RUHE AUS",
        "« {0} » n’est pas une plage d’heures. Exemple : SILENCE 22-7, ou SILENCE NON",
    ]),
    (Phrase::Page, [
        "Your page: {0}",
        "Din sida: {0}",
        "Ihre Seite: {0}",
        "Votre page : {0}",
    ]),
    (Phrase::NoPage, [
        "There is no page: the server has no public address.",
        "Det finns ingen sida: servern har ingen offentlig adress.",
        "Es gibt keine Seite: der Server hat keine öffentliche Adresse.",
        "Il n’y a pas de page : le serveur n’a pas d’adresse publique.",
    ]),
    (Phrase::Subscribed, [
        "Subscribed to: {0}. Alerts for subscribers with these words come to you.",
        "Prenumererar på: {0}. Larm till prenumeranter med de orden kommer till dig.",
        "Abonniert: {0}. Meldungen an Abonnenten mit diesen Wörtern kommen zu Ihnen.",
        "Abonné à : {0}. Les alertes aux abonnés avec ces mots vous parviennent.",
    ]),
    (Phrase::Unsubscribed, [
        "Subscribed to: {0}.",
        "Prenumererar på: {0}.",
        "Abonniert: {0}.",
        "Abonné à : {0}.",
    ]),
    (Phrase::NotSubscribed, [
        "You are not subscribed to “{0}”.",
        "Du prenumererar inte på ”{0}”.",
        "„{0}“ ist nicht abonniert.",
        "Vous n’êtes pas abonné à « {0} ».",
    ]),
    (Phrase::TooMany, [
        "That is more than {0}. Take one away first.",
        "Det är fler än {0}. Ta bort något först.",
        "Das sind mehr als {0}. Bitte erst etwas entfernen.",
        "C’est plus que {0}. Retirez-en d’abord.",
    ]),
    (Phrase::Prove, [
        "A mail may have another sender than it says. Use your page instead: {0}",
        "Ett mejl kan ha en annan avsändare än det står. Använd din sida i stället: {0}",
        "Eine Mail kann einen anderen Absender haben, als sie angibt. Bitte Ihre Seite nutzen: {0}",
        "Un courriel peut avoir un autre expéditeur que celui indiqué. Utilisez votre page : {0}",
    ]),
    (Phrase::ProveAct, [
        "A mail in your name asks: “{1}”. If it was you, confirm it here: {0} If not, do nothing.",
        "Ett mejl i ditt namn ber: ”{1}”. Var det du, bekräfta här: {0} Om inte, gör ingenting.",
        "Eine Mail in Ihrem Namen bittet: „{1}“. Waren Sie es, bestätigen Sie hier: {0} Wenn nicht, tun Sie nichts.",
        "Un courriel en votre nom demande : « {1} ». Si c’était vous, confirmez ici : {0} Sinon, ne faites rien.",
    ]),
    (Phrase::MayNotSend, [
        "That is not known here, or the PIN is wrong.",
        "Det är inte känt här, eller PIN-koden är fel.",
        "Das ist hier nicht bekannt, oder die PIN ist falsch.",
        "Ce n’est pas connu ici, ou le code PIN est faux.",
    ]),
    (Phrase::ReadBack, [
        "“{0}” goes to {1} people ({2}). To send it write within {4} minutes: YES {3}",
        "”{0}” går till {1} personer ({2}). Skriv inom {4} minuter för att skicka: JA {3}",
        "„{0}“ geht an {1} Personen ({2}). Zum Senden binnen {4} Minuten schreiben: JA {3}",
        "« {0} » va à {1} personnes ({2}). Pour envoyer, écrivez sous {4} minutes : OUI {3}",
    ]),
    (Phrase::Sent, [
        "Sent: “{0}”.",
        "Skickat: ”{0}”.",
        "Gesendet: „{0}“.",
        "Envoyé : « {0} ».",
    ]),
    (Phrase::WrongCode, [
        "Nothing waits for that code.",
        "Inget väntar på den koden.",
        "Auf diesen Code wartet nichts.",
        "Rien n’attend ce code.",
    ]),
    (Phrase::Failed, [
        "That did not work. Please try again later.",
        "Det gick inte. Försök igen senare.",
        "Das hat nicht geklappt. Bitte später noch einmal.",
        "Cela n’a pas marché. Réessayez plus tard.",
    ]),
    (Phrase::LoginCode, [
        "{0} is the code to log in as {1}. It holds for {2} minutes. If that was not you, do nothing, and tell nobody the code.",
        "{0} är koden för att logga in som {1}. Den gäller i {2} minuter. Var det inte du: gör ingenting och säg koden till ingen.",
        "{0} ist der Code zur Anmeldung als {1}. Er gilt {2} Minuten. Waren Sie das nicht: tun Sie nichts, und nennen Sie niemandem den Code.",
        "{0} est le code de connexion de {1}. Il vaut {2} minutes. Si ce n’était pas vous, ne faites rien et ne donnez le code à personne.",
    ]),
    (Phrase::DeviceCode, [
        "Code {0}: type it on your page within {1} minutes, and alerts come here too. It was not you? Then do nothing.",
        "Kod {0}: skriv den på din sida inom {1} minuter, så kommer larm även hit. Var det inte du? Gör då ingenting.",
        "Code {0}: Geben Sie ihn binnen {1} Minuten auf Ihrer Seite ein, dann kommen Alarme auch hierher. Waren Sie es nicht? Dann tun Sie nichts.",
        "Code {0} : saisissez-le sur votre page sous {1} minutes et les alertes arriveront aussi ici. Ce n’était pas vous ? Ne faites rien.",
    ]),
    (Phrase::ChatAdded, [
        "Alerts come to this chat from now on. HELP lists the words that you can write.",
        "Larm kommer till den här chatten från och med nu. HJÄLP visar orden som du kan skriva.",
        "Alarme kommen ab jetzt in diesen Chat. HILFE zeigt die Wörter, die Sie schreiben können.",
        "Les alertes arrivent désormais dans cette discussion. AIDE montre les mots que vous pouvez écrire.",
    ]),
    (Phrase::ChatKnown, [
        "This chat is connected: alerts come here.",
        "Den här chatten är ansluten: larm kommer hit.",
        "Dieser Chat ist verbunden: Alarme kommen hierher.",
        "Cette discussion est connectée : les alertes arrivent ici.",
    ]),
    (Phrase::ChatWrong, [
        "This link is wrong, and nothing was connected. Open your page and use the link that stands there.",
        "Länken är fel, och inget anslöts. Öppna din sida och använd länken som står där.",
        "Dieser Link ist falsch, nichts wurde verbunden. Öffnen Sie Ihre Seite und nutzen Sie den Link dort.",
        "Ce lien est faux, rien n’a été connecté. Ouvrez votre page et utilisez le lien qui s’y trouve.",
    ]),
    (Phrase::ChatOld, [
        "This link is too old or was used before. Open your page anew and use the link that stands there.",
        "Länken är för gammal eller redan använd. Öppna din sida igen och använd länken som står där.",
        "Dieser Link ist zu alt oder schon benutzt. Öffnen Sie Ihre Seite neu und nutzen Sie den Link dort.",
        "Ce lien est trop ancien ou déjà utilisé. Rouvrez votre page et utilisez le lien qui s’y trouve.",
    ]),
    (Phrase::ChatTaken, [
        "This chat is the device of somebody else. Ask whoever sends the alerts.",
        "Den här chatten är någon annans enhet. Fråga den som skickar larmen.",
        "Dieser Chat ist das Gerät von jemand anderem. Fragen Sie, wer die Alarme sendet.",
        "Cette discussion est l’appareil de quelqu’un d’autre. Demandez à qui envoie les alertes.",
    ]),
    (Phrase::ChatMany, [
        "You have as many devices as there can be. Remove one on your page first.",
        "Du har så många enheter som det går. Ta bort en på din sida först.",
        "Sie haben so viele Geräte, wie es geht. Entfernen Sie erst eines auf Ihrer Seite.",
        "Vous avez autant d’appareils que possible. Retirez-en d’abord un sur votre page.",
    ]),
    (Phrase::ChatStopped, [
        "STOP was said in this chat. Write START here, then use the link on your page again.",
        "STOPP är sagt i den här chatten. Skriv START här, och använd sedan länken på din sida igen.",
        "In diesem Chat wurde STOPP gesagt. Schreiben Sie hier START, dann nutzen Sie den Link auf Ihrer Seite noch einmal.",
        "STOP a été dit dans cette discussion. Écrivez START ici, puis utilisez à nouveau le lien de votre page.",
    ]),
];

/// Takes quiet hours away.
const OFF: [&str; 12] =
    ["off", "none", "never", "av", "aldrig", "inga", "aus", "keine", "nie", "non", "aucune", "jamais"];

/// Whether a word takes something away, in any of the languages.
pub(super) fn is_off(word: &str) -> bool {
    OFF.iter().any(|off| off.eq_ignore_ascii_case(word))
}

/// A phrase in a language (BCP 47) or in English, with its values.
pub(super) fn say(phrase: Phrase, language: Option<&str>, values: &[&str]) -> String {
    let primary = language.and_then(|tag| tag.split('-').next()).unwrap_or_default();
    let column = LANGUAGES.iter().position(|language| language.eq_ignore_ascii_case(primary)).unwrap_or(0);
    fill(TABLE[phrase as usize].1[column], values)
}

/// A value is text and is not looked into.
fn fill(phrase: &str, values: &[&str]) -> String {
    let mut filled = String::with_capacity(phrase.len());
    let mut rest = phrase;
    while let Some(at) = rest.find('{') {
        let place = rest.as_bytes().get(at + 1).map(|digit| usize::from(digit.wrapping_sub(b'0')));
        let ends = rest.as_bytes().get(at + 2) == Some(&b'}');
        let value = place.and_then(|place| values.get(place)).filter(|_| ends);
        filled.push_str(&rest[..at]);
        let behind = match value {
            Some(value) => {
                filled.push_str(value);
                at + 3
            }
            None => {
                filled.push('{');
                at + 1
            }
        };
        rest = &rest[behind..];
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inbound_text::{StopReading, read_service, read_stop};

    #[test]
    fn a_reply_is_no_service_word_and_no_stop_to_another_program_of_ours() {
        for (place, (phrase, texts)) in TABLE.iter().enumerate() {
            assert_eq!(*phrase as usize, place, "{phrase:?} is in its place");
            for text in texts {
                let filled = fill(text, &["x", "3", "y", "123456", "5"]);
                assert_eq!(read_service(&filled, &[]), None, "{filled}");
                assert!(!matches!(read_stop(&filled), StopReading::Stop { .. }), "{filled}");
                assert!(!filled.contains('{') && filled.chars().count() <= 300, "{filled}");
            }
        }
    }

    #[test]
    fn values_are_filled_in_and_not_looked_into() {
        assert_eq!(fill("a {0} b {1}{2}", &["{1}", "y"]), "a {1} b y{2}");
        assert_eq!(say(Phrase::NoGroups, Some("sv-FI"), &[]), "inga");
        assert_eq!(say(Phrase::NoGroups, Some("xx"), &[]), "none");
        assert_eq!(say(Phrase::NoGroups, None, &[]), "none");
        assert!(is_off("OFF") && is_off("av") && !is_off("22-7"));
    }
}

//! Words of a person's own page, by language. `{0}` stands for a value.

/// The languages, in the order of the columns. The first is for who has none of them.
const LANGUAGES: [&str; 4] = ["en", "sv", "de", "fr"];

/// Words of one language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageWords(usize);

impl PageWords {
    /// Of a language tag (BCP 47); without one, of what a browser prefers (`Accept-Language`).
    pub(super) fn of(language: Option<&str>, accepted: &str) -> PageWords {
        let column = |tag: &str| {
            let primary = tag.trim().split(['-', ';']).next().unwrap_or_default();
            LANGUAGES.iter().position(|known| known.eq_ignore_ascii_case(primary))
        };
        let found = match language {
            Some(tag) => column(tag),
            None => accepted.split(',').take(LANGUAGES.len() * 2).find_map(column),
        };
        PageWords(found.unwrap_or(0))
    }

    /// The language's tag.
    pub(super) fn tag(self) -> &'static str {
        LANGUAGES[self.0]
    }

    /// The words with this name; the name itself, if there are none.
    pub(super) fn t(self, name: &str) -> String {
        self.find(name).unwrap_or(name).to_owned()
    }

    /// The words with this name, with a value.
    pub(super) fn f(self, name: &str, value: &str) -> String {
        self.find(name).unwrap_or(name).replacen("{0}", value, 1)
    }

    /// The words with this name.
    pub(super) fn find(self, name: &str) -> Option<&'static str> {
        TABLE.iter().find(|(known, _)| *known == name).map(|(_, words)| words[self.0])
    }
}

/// A row a name.
#[rustfmt::skip]
const TABLE: &[(&str, [&str; LANGUAGES.len()])] = &[
    ("title", ["Your page", "Din sida", "Ihre Seite", "Votre page"]),
    ("problem", ["Problem", "Fel", "Fehler", "Erreur"]),
    ("intro", [
        "Here you decide how alerts reach you. The page is yours alone: do not pass its link on. It holds until {0}.",
        "Här bestämmer du hur larm når dig. Sidan är bara din: skicka inte länken vidare. Den gäller till {0}.",
        "Hier bestimmen Sie, wie Alarme Sie erreichen. Die Seite ist nur für Sie: Geben Sie den Link nicht weiter. Er gilt bis {0}.",
        "Ici vous décidez comment les alertes vous parviennent. Cette page est à vous seul : ne transmettez pas le lien. Il est valable jusqu’au {0}.",
    ]),
    ("save", ["Save", "Spara", "Speichern", "Enregistrer"]),
    ("none", ["not set", "inte valt", "nicht gewählt", "non choisi"]),
    ("devices", ["Devices", "Enheter", "Geräte", "Appareils"]),
    ("devices.help", [
        "They are tried in this order.",
        "De prövas i den här ordningen.",
        "Sie werden in dieser Reihenfolge versucht.",
        "Ils sont essayés dans cet ordre.",
    ]),
    ("devices.none", [
        "You have no device: no alert reaches you.",
        "Du har ingen enhet: inga larm når dig.",
        "Sie haben kein Gerät: Kein Alarm erreicht Sie.",
        "Vous n’avez aucun appareil : aucune alerte ne vous parvient.",
    ]),
    ("device.on", ["switched on", "påslagen", "eingeschaltet", "activé"]),
    ("device.off", ["switched off: gets nothing", "avstängd: får ingenting", "ausgeschaltet: bekommt nichts", "désactivé : ne reçoit rien"]),
    ("device.stopped", ["STOP was said: gets nothing", "STOPP är sagt: får ingenting", "STOPP wurde gesagt: bekommt nichts", "STOP a été dit : ne reçoit rien"]),
    ("device.switch_on", ["Switch on", "Slå på", "Einschalten", "Activer"]),
    ("device.switch_off", ["Switch off", "Stäng av", "Ausschalten", "Désactiver"]),
    ("device.up", ["Move up", "Flytta upp", "Nach oben", "Monter"]),
    ("device.down", ["Move down", "Flytta ner", "Nach unten", "Descendre"]),
    ("device.remove", ["Remove", "Ta bort", "Entfernen", "Supprimer"]),
    ("device.stop", ["STOP all messages", "STOPP för alla meddelanden", "STOPP für alle Nachrichten", "STOP à tous les messages"]),
    ("device.start", ["START again", "START igen", "Wieder START", "START à nouveau"]),
    ("waiting", ["Waiting for a code", "Väntar på kod", "Warten auf einen Code", "En attente d’un code"]),
    ("code.label", ["Code that was sent to {0}", "Koden som skickades till {0}", "Code, der an {0} gesendet wurde", "Code envoyé à {0}"]),
    ("code.help", [
        "Six digits. It holds for 10 minutes and three tries.",
        "Sex siffror. Den gäller i 10 minuter och tre försök.",
        "Sechs Ziffern. Er gilt 10 Minuten und drei Versuche.",
        "Six chiffres. Valable 10 minutes et trois essais.",
    ]),
    ("code.confirm", ["Confirm", "Bekräfta", "Bestätigen", "Confirmer"]),
    ("code.give_up", ["Do not add it", "Lägg inte till", "Nicht hinzufügen", "Ne pas l’ajouter"]),
    ("add", ["Add a device", "Lägg till en enhet", "Gerät hinzufügen", "Ajouter un appareil"]),
    ("add.channel", ["Kind", "Typ", "Art", "Type"]),
    ("add.address", ["Number or address", "Nummer eller adress", "Nummer oder Adresse", "Numéro ou adresse"]),
    ("add.help", [
        "A code is sent to it. Until you type it here, the device gets nothing else. Such as:",
        "En kod skickas dit. Innan du har skrivit den här får enheten inget annat. Till exempel:",
        "Ein Code wird dorthin gesendet. Bis Sie ihn hier eingeben, bekommt das Gerät nichts anderes. Zum Beispiel:",
        "Un code y est envoyé. Tant que vous ne l’avez pas saisi ici, l’appareil ne reçoit rien d’autre. Par exemple :",
    ]),
    ("add.send", ["Send the code", "Skicka koden", "Code senden", "Envoyer le code"]),
    ("channel.sms", ["SMS", "SMS", "SMS", "SMS"]),
    ("channel.mail", ["E-mail", "E-post", "E-Mail", "E-mail"]),
    ("channel.im", ["Instant message", "Snabbmeddelande", "Sofortnachricht", "Message instantané"]),
    ("channel.pager", ["Pager", "Personsökare", "Pager", "Récepteur d’appel"]),
    ("channel.voice", ["Call", "Samtal", "Anruf", "Appel"]),
    ("chats", ["Connect Telegram", "Anslut Telegram", "Telegram verbinden", "Connecter Telegram"]),
    ("chats.help", [
        "Open the bot and press Start: the chat becomes a device of yours. The link holds for an hour, once.",
        "Öppna boten och tryck på Start: chatten blir en av dina enheter. Länken gäller i en timme, en gång.",
        "Öffnen Sie den Bot und drücken Sie Start: Der Chat wird eines Ihrer Geräte. Der Link gilt eine Stunde, einmal.",
        "Ouvrez le bot et appuyez sur Démarrer : la discussion devient un de vos appareils. Le lien vaut une heure, une fois.",
    ]),
    ("chats.open", ["Connect @{0}", "Anslut @{0}", "@{0} verbinden", "Connecter @{0}"]),
    ("word", ["A mail in your name asks:", "Ett mejl i ditt namn ber:", "Eine Mail in Ihrem Namen bittet:", "Un courriel en votre nom demande :"]),
    ("word.help", [
        "A mail may have another sender than it says. If it was you, confirm it.",
        "Ett mejl kan ha en annan avsändare än det står. Var det du, bekräfta det.",
        "Eine Mail kann einen anderen Absender haben, als sie angibt. Waren Sie es, bestätigen Sie.",
        "Un courriel peut avoir un autre expéditeur que celui indiqué. Si c’était vous, confirmez.",
    ]),
    ("word.do", ["Yes, do it", "Ja, gör det", "Ja, ausführen", "Oui, le faire"]),
    ("language", ["Language", "Språk", "Sprache", "Langue"]),
    ("language.label", ["Language of alerts", "Larmens språk", "Sprache der Alarme", "Langue des alertes"]),
    ("quiet", ["Quiet hours", "Tysta timmar", "Ruhezeiten", "Heures calmes"]),
    ("quiet.help", [
        "What can wait comes when they are over. Leave both empty for none.",
        "Det som kan vänta kommer efter dem. Lämna båda tomma för inga.",
        "Was warten kann, kommt danach. Lassen Sie beide leer für keine.",
        "Ce qui peut attendre arrive après. Laissez les deux vides pour aucune.",
    ]),
    ("quiet.from", ["From", "Från", "Von", "De"]),
    ("quiet.to", ["To", "Till", "Bis", "À"]),
    ("prefers", ["Text or voice", "Text eller röst", "Text oder Sprache", "Texte ou voix"]),
    ("prefers.label", ["What is tried first", "Vad som prövas först", "Was zuerst versucht wird", "Ce qui est essayé d’abord"]),
    ("prefers.none", ["In the order of the devices", "I enheternas ordning", "In der Reihenfolge der Geräte", "Dans l’ordre des appareils"]),
    ("prefers.text", ["Texts first", "Text först", "Texte zuerst", "D’abord les textes"]),
    ("prefers.voice", ["Calls first", "Samtal först", "Anrufe zuerst", "D’abord les appels"]),
    ("groups", ["Groups", "Grupper", "Gruppen", "Groupes"]),
    ("groups.none", [
        "There is no group that can be joined.",
        "Det finns ingen grupp att gå med i.",
        "Es gibt keine Gruppe, der man beitreten kann.",
        "Il n’y a aucun groupe à rejoindre.",
    ]),
    ("group.member", ["you are in it", "du är med", "Sie sind dabei", "vous en êtes"]),
    ("group.by_rule", [
        "you are in it by what is known of you",
        "du är med genom det som är känt om dig",
        "Sie sind dabei durch das, was über Sie bekannt ist",
        "vous en êtes par ce qui est connu de vous",
    ]),
    ("group.asked", ["you asked; an operator decides", "du har frågat; en operatör avgör", "angefragt; jemand entscheidet", "demandé ; un opérateur décide"]),
    ("group.on_request", ["on request", "på begäran", "auf Anfrage", "sur demande"]),
    ("group.join", ["Join", "Gå med", "Beitreten", "Rejoindre"]),
    ("group.ask", ["Ask to join", "Be att få gå med", "Aufnahme anfragen", "Demander à rejoindre"]),
    ("group.leave", ["Leave", "Lämna", "Verlassen", "Quitter"]),
    ("subscriptions", ["Subscriptions", "Prenumerationer", "Abonnements", "Abonnements"]),
    ("subscriptions.help", [
        "Alerts about a word, a topic or a place, such as flood or harbour.",
        "Larm om ett ord, ett ämne eller en plats, till exempel översvämning eller hamnen.",
        "Alarme zu einem Wort, einem Thema oder einem Ort, etwa Hochwasser oder Hafen.",
        "Alertes sur un mot, un sujet ou un lieu, par exemple inondation ou port.",
    ]),
    ("subscriptions.label", ["Word or phrase", "Ord eller fras", "Wort oder Wendung", "Mot ou expression"]),
    ("subscribe", ["Subscribe", "Prenumerera", "Abonnieren", "S’abonner"]),
    ("unsubscribe", ["End", "Avsluta", "Beenden", "Arrêter"]),
    ("data", ["What is known of you", "Vad som är känt om dig", "Was über Sie bekannt ist", "Ce qui est connu de vous"]),
    ("data.help", [
        "Your record, groups, alerts and answers, as a file.",
        "Dina uppgifter, grupper, larm och svar, som en fil.",
        "Ihre Angaben, Gruppen, Alarme und Antworten, als Datei.",
        "Vos données, groupes, alertes et réponses, dans un fichier.",
    ]),
    ("data.download", ["Download (JSON)", "Ladda ner (JSON)", "Herunterladen (JSON)", "Télécharger (JSON)"]),
    ("erase", ["Erase me", "Radera mig", "Mich löschen", "M’effacer"]),
    ("erase.title", ["Erase everything that is known of you?", "Radera allt som är känt om dig?", "Alles löschen, was über Sie bekannt ist?", "Effacer tout ce qui est connu de vous ?"]),
    ("erase.help", [
        "Your record, devices, groups and answers are removed, and no alert reaches you any more. It cannot be taken back. A STOP that you said stays in force.",
        "Dina uppgifter, enheter, grupper och svar tas bort, och inga larm når dig längre. Det kan inte ångras. Ett STOPP som du har sagt gäller även sedan.",
        "Ihre Angaben, Geräte, Gruppen und Antworten werden entfernt, und kein Alarm erreicht Sie mehr. Das lässt sich nicht rückgängig machen. Ein STOPP von Ihnen gilt weiter.",
        "Vos données, appareils, groupes et réponses sont supprimés, et aucune alerte ne vous parvient plus. C’est irréversible. Un STOP de votre part reste valable.",
    ]),
    ("erase.check", ["Yes, erase everything", "Ja, radera allt", "Ja, alles löschen", "Oui, tout effacer"]),
    ("erase.go", ["Erase me for good", "Radera mig för alltid", "Mich endgültig löschen", "M’effacer définitivement"]),
    ("back", ["Back to your page", "Tillbaka till din sida", "Zurück zu Ihrer Seite", "Retour à votre page"]),
    ("erased.title", ["You are erased.", "Du är raderad.", "Sie sind gelöscht.", "Vous êtes effacé."]),
    ("erased.text", [
        "Nothing is known of you any more. Alerts that are under way forget you when they end. This link leads nowhere from now on.",
        "Inget är längre känt om dig. Larm som pågår glömmer dig när de är över. Länken leder ingenstans från och med nu.",
        "Über Sie ist nichts mehr bekannt. Laufende Alarme vergessen Sie, wenn sie enden. Dieser Link führt nun nirgendwohin.",
        "Plus rien n’est connu de vous. Les alertes en cours vous oublieront à leur fin. Ce lien ne mène désormais nulle part.",
    ]),
    ("wrong.title", ["This link leads nowhere.", "Länken leder ingenstans.", "Dieser Link führt nirgendwohin.", "Ce lien ne mène nulle part."]),
    ("wrong.text", [
        "It is wrong, too old, or was taken back. For a new one write PAGE to the number or address that alerts come from, or ask whoever sends them.",
        "Den är fel, för gammal eller återkallad. Skriv MIN SIDA till numret eller adressen som larm kommer från, så får du en ny, eller fråga den som skickar dem.",
        "Er ist falsch, zu alt oder wurde zurückgenommen. Für einen neuen schreiben Sie MEINE SEITE an die Nummer oder Adresse, von der Alarme kommen, oder fragen Sie deren Absender.",
        "Il est faux, trop ancien ou annulé. Pour en recevoir un nouveau, écrivez MA PAGE au numéro ou à l’adresse d’où viennent les alertes, ou demandez à qui les envoie.",
    ]),
    ("failed.title", ["This did not work.", "Det fungerade inte.", "Das hat nicht geklappt.", "Cela n’a pas marché."]),
    ("failed.text", ["Please try again in a moment.", "Försök igen om en stund.", "Bitte gleich noch einmal versuchen.", "Réessayez dans un instant."]),
    ("done.device_on", ["The device is switched on.", "Enheten är påslagen.", "Das Gerät ist eingeschaltet.", "L’appareil est activé."]),
    ("done.device_off", ["The device is switched off.", "Enheten är avstängd.", "Das Gerät ist ausgeschaltet.", "L’appareil est désactivé."]),
    ("done.device_moved", ["The device was moved.", "Enheten är flyttad.", "Das Gerät wurde verschoben.", "L’appareil est déplacé."]),
    ("done.device_removed", ["The device was removed.", "Enheten är borttagen.", "Das Gerät wurde entfernt.", "L’appareil est supprimé."]),
    ("done.device_stopped", ["STOP: nothing is sent to the device any more.", "STOPP: inget mer skickas till enheten.", "STOPP: An das Gerät wird nichts mehr gesendet.", "STOP : plus rien n’est envoyé à l’appareil."]),
    ("done.device_started", ["START: messages are sent to the device again.", "START: meddelanden skickas till enheten igen.", "START: An das Gerät wird wieder gesendet.", "START : l’appareil reçoit à nouveau les messages."]),
    ("done.code_sent", ["The code is sent. Type it below.", "Koden är skickad. Skriv den nedan.", "Der Code ist unterwegs. Geben Sie ihn unten ein.", "Le code est envoyé. Saisissez-le ci-dessous."]),
    ("done.device_added", ["The device is added.", "Enheten är tillagd.", "Das Gerät ist hinzugefügt.", "L’appareil est ajouté."]),
    ("done.device_given_up", ["The device is not added.", "Enheten läggs inte till.", "Das Gerät wird nicht hinzugefügt.", "L’appareil n’est pas ajouté."]),
    ("done.language", ["The language is saved.", "Språket är sparat.", "Die Sprache ist gespeichert.", "La langue est enregistrée."]),
    ("done.quiet", ["The quiet hours are saved.", "De tysta timmarna är sparade.", "Die Ruhezeiten sind gespeichert.", "Les heures calmes sont enregistrées."]),
    ("done.prefers", ["It is saved what is tried first.", "Det är sparat vad som prövas först.", "Es ist gespeichert, was zuerst versucht wird.", "L’ordre préféré est enregistré."]),
    ("done.joined", ["You are in the group now.", "Du är nu med i gruppen.", "Sie sind nun in der Gruppe.", "Vous êtes maintenant dans le groupe."]),
    ("done.asked", ["An operator was asked. You are told of the decision.", "En operatör har fått frågan. Du får besked.", "Die Aufnahme ist angefragt. Sie hören von der Entscheidung.", "La demande est faite. Vous serez informé de la décision."]),
    ("done.left", ["You have left the group.", "Du har lämnat gruppen.", "Sie haben die Gruppe verlassen.", "Vous avez quitté le groupe."]),
    ("done.subscribed", ["You are subscribed.", "Du prenumererar nu.", "Sie haben abonniert.", "Vous êtes abonné."]),
    ("done.unsubscribed", ["The subscription has ended.", "Prenumerationen är avslutad.", "Das Abonnement ist beendet.", "L’abonnement est arrêté."]),
    ("fault.form", ["This form was of another page. Please try again.", "Formuläret hörde till en annan sida. Försök igen.", "Das Formular gehörte zu einer anderen Seite. Bitte noch einmal.", "Ce formulaire venait d’une autre page. Réessayez."]),
    ("fault.changed", [
        "Somebody changed this meanwhile. This is how it stands now; please try again.",
        "Någon har ändrat detta under tiden. Så här är det nu; försök igen.",
        "Jemand hat dies inzwischen geändert. So steht es jetzt; bitte noch einmal.",
        "Quelqu’un a modifié ceci entre-temps. Voici l’état actuel ; réessayez.",
    ]),
    ("fault.address", ["That is no address of this kind.", "Det är ingen adress av den typen.", "Das ist keine Adresse dieser Art.", "Ce n’est pas une adresse de ce type."]),
    ("fault.channel", ["Devices of this kind cannot be added here.", "Enheter av den typen kan inte läggas till här.", "Geräte dieser Art lassen sich hier nicht hinzufügen.", "Ce type d’appareil ne peut pas être ajouté ici."]),
    ("fault.known", ["You have this device already.", "Du har redan enheten.", "Sie haben dieses Gerät schon.", "Vous avez déjà cet appareil."]),
    ("fault.many", ["You have as many devices as there can be: 32. Remove one first.", "Du har så många enheter som det går: 32. Ta först bort en.", "Sie haben so viele Geräte wie möglich: 32. Entfernen Sie erst eines.", "Vous avez le maximum d’appareils : 32. Supprimez-en un d’abord."]),
    ("fault.stopped", [
        "STOP was said there, so no code can be sent. Write START from it first.",
        "STOPP är sagt därifrån, så ingen kod kan skickas. Skriv först START från den.",
        "Von dort wurde STOPP gesagt, daher kann kein Code gesendet werden. Schreiben Sie von dort erst START.",
        "STOP y a été dit, aucun code ne peut donc être envoyé. Écrivez d’abord START depuis cet appareil.",
    ]),
    ("fault.often", ["Too many codes were sent. Please try again in an hour.", "För många koder har skickats. Försök igen om en timme.", "Zu viele Codes wurden gesendet. Bitte in einer Stunde noch einmal.", "Trop de codes ont été envoyés. Réessayez dans une heure."]),
    ("fault.code", ["That is not the code. Look again at the newest message.", "Det är inte koden. Titta igen i det senaste meddelandet.", "Das ist nicht der Code. Sehen Sie in der neuesten Nachricht nach.", "Ce n’est pas le code. Regardez le message le plus récent."]),
    ("fault.code_over", ["No code holds any more. Add the device again for a new one.", "Ingen kod gäller längre. Lägg till enheten igen för en ny.", "Kein Code gilt mehr. Fügen Sie das Gerät noch einmal hinzu.", "Plus aucun code n’est valable. Ajoutez de nouveau l’appareil."]),
    ("fault.language", ["That is no language of the list.", "Det är inget språk i listan.", "Das ist keine Sprache der Liste.", "Cette langue n’est pas dans la liste."]),
    ("fault.quiet", ["Two different times are needed, such as 22:00 and 07:00, or none.", "Det behövs två olika tider, till exempel 22:00 och 07:00, eller inga.", "Zwei verschiedene Zeiten sind nötig, etwa 22:00 und 07:00, oder keine.", "Il faut deux heures différentes, par exemple 22:00 et 07:00, ou aucune."]),
    ("fault.prefers", ["Choose one of the list.", "Välj något i listan.", "Wählen Sie aus der Liste.", "Choisissez dans la liste."]),
    ("fault.subscription", ["A word or a phrase of at most 80 characters is needed; you can have 20.", "Det behövs ett ord eller en fras på högst 80 tecken; du kan ha 20.", "Nötig ist ein Wort oder eine Wendung von höchstens 80 Zeichen; Sie können 20 haben.", "Il faut un mot ou une expression de 80 caractères au plus ; vous pouvez en avoir 20."]),
    ("fault.erase", ["Check the box first: it cannot be taken back.", "Kryssa först i rutan: det kan inte ångras.", "Kreuzen Sie erst das Kästchen an: Es lässt sich nicht rückgängig machen.", "Cochez d’abord la case : c’est irréversible."]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_is_there_once_and_has_words_in_every_language() {
        let names: BTreeSet<&str> = TABLE.iter().map(|(name, _)| *name).collect();
        assert_eq!(names.len(), TABLE.len());
        for (name, words) in TABLE {
            let values = |text: &&str| text.matches("{0}").count();
            assert!(words.iter().all(|text| !text.is_empty()), "{name}");
            assert!(words.iter().all(|text| values(text) == values(&words[0])), "{name}");
        }
    }

    #[test]
    fn the_templates_use_names_that_there_are() {
        let templates = [
            include_str!("../../../templates/person.html"),
            include_str!("../../../templates/person_erase.html"),
        ];
        let code = [include_str!("mod.rs"), include_str!("acts.rs"), include_str!("view.rs")];
        let mut used = 0;
        for text in templates.iter().chain(&code) {
            for call in [".t(\"", ".f(\"", "Fault::at(\"", "Done(\""] {
                for rest in text.split(call).skip(1) {
                    let name = rest.split('"').next().unwrap();
                    let name =
                        if call.starts_with("Done") { format!("done.{name}") } else { name.to_owned() };
                    assert!(TABLE.iter().any(|(known, _)| *known == name), "{name}");
                    used += 1;
                }
            }
        }
        assert!(used > 50, "{used}");
    }

    #[test]
    fn words_are_in_the_persons_language_or_in_what_the_browser_prefers() {
        assert_eq!(PageWords::of(Some("sv-FI"), "de").tag(), "sv");
        assert_eq!(PageWords::of(Some("ar"), "de").tag(), "en");
        assert_eq!(PageWords::of(None, "nl, fr;q=0.8, en").tag(), "fr");
        assert_eq!(PageWords::of(None, "").tag(), "en");
        assert_eq!(PageWords::of(None, "").f("code.label", "<b>{0}"), "Code that was sent to <b>{0}");
    }
}

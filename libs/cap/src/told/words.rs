//! Words that stand in the text of a message beside the issuer's own, by language.

/// What is said in one language. Words of Latin scripts keep to the GSM 7-bit alphabet where the spelling
/// allows it, so that they alone cost no short message its coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    /// BCP 47, lower case.
    pub language: &'static str,
    /// A message was taken back.
    pub cancelled: &'static str,
    /// The danger is over.
    pub all_clear: &'static str,
    /// Until when it holds; `{}` is the time.
    pub until: &'static str,
}

const fn words(
    language: &'static str,
    cancelled: &'static str,
    all_clear: &'static str,
    until: &'static str,
) -> Words {
    Words { language, cancelled, all_clear, until }
}

/// By language, the longer tag before the shorter one it begins with.
const ALL: &[Words] = &[
    words("en", "Cancelled", "All clear", "until {}"),
    words("ar", "ملغى", "زال الخطر", "حتى {}"),
    words("bg", "Отменено", "Край на опасността", "до {}"),
    words("bn", "বাতিল", "বিপদ কেটে গেছে", "{} পর্যন্ত"),
    words("ca", "Anul·lat", "Fi de l'alerta", "fins a {}"),
    words("cs", "Zrušeno", "Konec nebezpečí", "do {}"),
    words("da", "Annulleret", "Faren er forbi", "til {}"),
    words("de", "Aufgehoben", "Entwarnung", "bis {}"),
    words("el", "Ακυρώθηκε", "Λήξη συναγερμού", "έως {}"),
    words("es", "Cancelado", "Fin de la alerta", "hasta {}"),
    words("et", "Tühistatud", "Oht on möödas", "kuni {}"),
    words("fa", "لغو شد", "رفع خطر", "تا {}"),
    words("fi", "Peruttu", "Vaara ohi", "{} asti"),
    words("fr", "Annulé", "Fin d'alerte", "jusqu'à {}"),
    words("he", "בוטל", "סוף האזעקה", "עד {}"),
    words("hi", "रद्द", "खतरा टल गया", "{} तक"),
    words("hr", "Opozvano", "Prestanak opasnosti", "do {}"),
    words("hu", "Visszavonva", "A veszély elmúlt", "{}-ig"),
    words("id", "Dibatalkan", "Bahaya berakhir", "sampai {}"),
    words("is", "Afturkallað", "Hætta liðin hjá", "til {}"),
    words("it", "Annullato", "Cessato allarme", "fino a {}"),
    words("ja", "取消", "解除", "{}まで"),
    words("ko", "취소", "해제", "{}까지"),
    words("lt", "Atšaukta", "Pavojus praėjo", "iki {}"),
    words("lv", "Atcelts", "Briesmas beigušās", "līdz {}"),
    words("nb", "Avlyst", "Faren over", "til {}"),
    words("nl", "Ingetrokken", "Gevaar geweken", "tot {}"),
    words("nn", "Avlyst", "Faren over", "til {}"),
    words("no", "Avlyst", "Faren over", "til {}"),
    words("pl", "Odwołane", "Koniec zagrożenia", "do {}"),
    words("pt", "Cancelado", "Fim do alerta", "até {}"),
    words("ro", "Anulat", "Încetarea alarmei", "până la {}"),
    words("ru", "Отменено", "Отбой", "до {}"),
    words("sk", "Zrušené", "Koniec nebezpečenstva", "do {}"),
    words("sl", "Preklicano", "Konec nevarnosti", "do {}"),
    words("sv", "Inställt", "Faran över", "till {}"),
    words("th", "ยกเลิก", "สิ้นสุดเหตุ", "ถึง {}"),
    words("tr", "İptal edildi", "Tehlike geçti", "{} kadar"),
    words("uk", "Скасовано", "Відбій", "до {}"),
    words("vi", "Đã hủy", "Hết nguy hiểm", "đến {}"),
    words("zh-hant", "取消", "解除", "至{}"),
    words("zh", "取消", "解除", "至{}"),
];

/// Beginnings of words by which issuers say that it is over, in lower case, whatever the language.
const OVER: &[&str] = &[
    "all clear",
    "all-clear",
    "allclear",
    "cancel",
    "no longer",
    "lifted",
    "is over",
    "has ended",
    "expired",
    "terminated",
    "withdrawn",
    "entwarn",
    "aufgehoben",
    "aufhebung",
    "ende der",
    "annul",
    "levée",
    "fin d'alerte",
    "fin de l",
    "fin de la",
    "cessato",
    "revoca",
    "fim do",
    "ingetrokken",
    "geweken",
    "faran över",
    "faren over",
    "faren er forbi",
    "inställ",
    "avblås",
    "avlys",
    "vaara ohi",
    "odwoł",
    "zrušen",
    "konec",
    "koniec",
    "отбой",
    "отмен",
    "відбій",
    "скасов",
    "解除",
    "取消",
    "終了",
    "해제",
    "취소",
    "בוטל",
    "ملغى",
    "إلغاء",
    "iptal",
];

impl Words {
    /// The words of a language, or of the one it narrows (RFC 4647, 3.4); English where the table knows none.
    pub fn of(language: &str) -> &'static Words {
        let lower = language.to_ascii_lowercase();
        let mut range = match lower.as_str() {
            "zh-tw" | "zh-hk" | "zh-mo" => "zh-hant",
            other => other,
        };
        loop {
            if let Some(found) = ALL.iter().find(|words| words.language == range) {
                return found;
            }
            match range.rfind('-') {
                Some(cut) => range = &range[..cut],
                None => return &ALL[0],
            }
        }
    }

    /// Whether a text says, in this language or in words of any, that it is over.
    pub fn say_over(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        let own = [self.cancelled.to_lowercase(), self.all_clear.to_lowercase()];
        own.iter().any(|word| text.contains(word)) || OVER.iter().any(|word| text.contains(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_language_has_its_words_and_the_others_english() {
        for (language, all_clear) in [
            ("de-AT", "Entwarnung"),
            ("zh-MO", "解除"),
            ("pt-BR", "Fim do alerta"),
            ("tlh", "All clear"),
            ("", "All clear"),
            ("EN-us", "All clear"),
        ] {
            assert_eq!(Words::of(language).all_clear, all_clear, "{language}");
        }
        for words in ALL {
            assert!(words.until.contains("{}"), "{}", words.language);
            assert!(words.say_over(words.all_clear) && words.say_over(&words.cancelled.to_uppercase()));
            assert_eq!(ALL.iter().filter(|other| other.language == words.language).count(), 1);
        }
    }
}

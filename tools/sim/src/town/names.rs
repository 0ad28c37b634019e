//! Names of the people of the town: as they write them, and in the letters of a mail address.

/// A language people of the town speak, with their names.
pub(super) struct Tongue {
    /// BCP 47.
    pub language: &'static str,
    /// Of a thousand people, so many speak it first.
    pub per_mille: u64,
    /// Given names: as written, in ASCII.
    pub given: &'static [(&'static str, &'static str)],
    /// Family names: as written, in ASCII.
    pub family: &'static [(&'static str, &'static str)],
    /// The family name comes first, with nothing between.
    pub family_first: bool,
}

/// All of them; their shares add up to a thousand.
pub(super) const TONGUES: [Tongue; 10] = [
    Tongue {
        language: "sv",
        per_mille: 640,
        given: &[
            ("Alma", "alma"),
            ("Björn", "bjorn"),
            ("Cecilia", "cecilia"),
            ("Åke", "ake"),
            ("Elsa", "elsa"),
            ("Göran", "goran"),
            ("Ingrid", "ingrid"),
            ("Lars", "lars"),
            ("Maja", "maja"),
            ("Nils", "nils"),
            ("Märta", "marta"),
            ("Östen", "osten"),
            ("Saga", "saga"),
            ("Viggo", "viggo"),
        ],
        family: &[
            ("Andersson", "andersson"),
            ("Björklund", "bjorklund"),
            ("Dahlström", "dahlstrom"),
            ("Ekström", "ekstrom"),
            ("Lindqvist", "lindqvist"),
            ("Nyström", "nystrom"),
            ("Sjöberg", "sjoberg"),
            ("Åström", "astrom"),
            ("Öberg", "oberg"),
            ("Hägg", "hagg"),
        ],
        family_first: false,
    },
    Tongue {
        language: "en",
        per_mille: 80,
        given: &[
            ("Alice", "alice"),
            ("Brendan", "brendan"),
            ("Chloe", "chloe"),
            ("Owen", "owen"),
            ("Priya", "priya"),
        ],
        family: &[("O'Neill", "oneill"), ("Smith", "smith"), ("Hughes", "hughes"), ("Patel", "patel")],
        family_first: false,
    },
    Tongue {
        language: "fi",
        per_mille: 60,
        given: &[("Aino", "aino"), ("Väinö", "vaino"), ("Päivi", "paivi"), ("Jukka", "jukka")],
        family: &[("Hämäläinen", "hamalainen"), ("Virtanen", "virtanen"), ("Mäkelä", "makela")],
        family_first: false,
    },
    Tongue {
        language: "ar",
        per_mille: 60,
        given: &[("أحمد", "ahmad"), ("ليلى", "layla"), ("يوسف", "yusuf"), ("مريم", "maryam")],
        family: &[("الحداد", "alhaddad"), ("خوري", "khoury"), ("النجار", "alnajjar")],
        family_first: false,
    },
    Tongue {
        language: "pl",
        per_mille: 40,
        given: &[("Łukasz", "lukasz"), ("Zofia", "zofia"), ("Grażyna", "grazyna"), ("Michał", "michal")],
        family: &[("Wójcik", "wojcik"), ("Dąbrowski", "dabrowski"), ("Kowalczyk", "kowalczyk")],
        family_first: false,
    },
    Tongue {
        language: "so",
        per_mille: 30,
        given: &[("Ayaan", "ayaan"), ("Cabdi", "cabdi"), ("Hodan", "hodan")],
        family: &[("Warsame", "warsame"), ("Jaamac", "jaamac"), ("Nuur", "nuur")],
        family_first: false,
    },
    Tongue {
        language: "uk",
        per_mille: 30,
        given: &[("Олена", "olena"), ("Андрій", "andrii"), ("Софія", "sofiia")],
        family: &[("Шевченко", "shevchenko"), ("Бондар", "bondar"), ("Гнатюк", "hnatiuk")],
        family_first: false,
    },
    Tongue {
        language: "zh-Hans",
        per_mille: 25,
        given: &[("伟", "wei"), ("秀英", "xiuying"), ("小明", "xiaoming")],
        family: &[("王", "wang"), ("李", "li"), ("欧阳", "ouyang")],
        family_first: true,
    },
    Tongue {
        language: "el",
        per_mille: 20,
        given: &[("Ελένη", "eleni"), ("Γιώργος", "giorgos"), ("Σοφία", "sofia")],
        family: &[("Παπαδάκης", "papadakis"), ("Νικολάου", "nikolaou")],
        family_first: false,
    },
    Tongue {
        language: "th",
        per_mille: 15,
        given: &[("สมชาย", "somchai"), ("มาลี", "mali")],
        family: &[("ใจดี", "jaidee"), ("ทองดี", "thongdee")],
        family_first: false,
    },
];

/// Streets of the town.
pub(super) const STREETS: [&str; 8] = [
    "Storgatan",
    "Hamngatan",
    "Kyrkogatan",
    "Norra Vallen",
    "Fiskaregränd",
    "Östra Skolvägen",
    "Fyrvägen",
    "Tegelbruksgatan",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_add_up_and_every_name_has_letters_for_a_mail_address() {
        assert_eq!(TONGUES.iter().map(|tongue| tongue.per_mille).sum::<u64>(), 1000);
        for (_, ascii) in TONGUES.iter().flat_map(|tongue| tongue.given.iter().chain(tongue.family)) {
            assert!(!ascii.is_empty() && ascii.bytes().all(|b| b.is_ascii_lowercase()), "{ascii}");
        }
    }
}

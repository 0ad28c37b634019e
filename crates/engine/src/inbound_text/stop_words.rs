//! Table of the words that stop messages, by language: those that laws and carriers reserve, and those that
//! people of a language use alike. They hold in every language at once, whatever the sender's.

/// How far a word goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The sender it is said to, where `[optout] stop` says so; else all.
    Sender,
    /// Always all senders.
    All,
}

/// A language, and its words. In a sentence the first list is looked for, the second is not: its words are
/// part of everyday sentences.
pub(super) struct StopWords {
    pub(super) language: &'static str,
    pub(super) telling: &'static [&'static str],
    pub(super) common: &'static [&'static str],
}

/// Words that stop messages of all senders (CTIA, 5.1.3).
pub(super) const ALL_SENDERS: &[&str] =
    &["stop all", "stopall", "stopp alla", "stop tout", "stop alle", "stop todo", "alle stoppen"];

/// English has the words of 47 CFR 64.1200(a)(10) and those that carriers of the United States reserve;
/// French those of Canada's and France's carriers.
pub(super) const STOP_WORDS: &[StopWords] = &[
    of(
        "en",
        &[
            "stop",
            "unsubscribe",
            "optout",
            "opt out",
            "revoke",
            "cancel",
            "quit",
            "unsub",
            "remove me",
            "stop sms",
            "stop texts",
            "stop messages",
            "stop alerts",
            "stop texting",
            "stop mails",
        ],
        &["end", "remove", "stop it", "stop now", "stop this"],
    ),
    of(
        "fr",
        &[
            "arret",
            "arreter",
            "arretez",
            "desabonner",
            "desabonnement",
            "desinscription",
            "desinscrire",
            "stop pub",
            "resilier",
        ],
        &["fin", "annuler", "annulation"],
    ),
    of(
        "sv",
        &["stopp", "stoppa", "avregistrera", "avanmäl", "avprenumerera"],
        &["avsluta", "avbryt", "sluta"],
    ),
    of("da", &["afmeld", "frameld", "afmelding", "stop beskeder"], &["afslut", "annuller"]),
    of("nb", &["avmeld", "avmelding", "meld av"], &["avslutt"]),
    of("fi", &["seis", "peru tilaus", "poista listalta"], &["lopeta", "peruuta", "peru"]),
    of("is", &["afskrá", "stöðva"], &["hætta"]),
    of(
        "de",
        &["stopp", "abmelden", "abbestellen", "abmeldung", "stoppen", "austragen"],
        &["ende", "beenden", "kündigen", "halt"],
    ),
    of("nl", &["afmelden", "uitschrijven", "stoppen", "opzeggen"], &["einde", "annuleren"]),
    of("es", &["alto", "cancelar", "desuscribir", "darse de baja", "dar de baja"], &["baja", "fin", "parar"]),
    of("pt", &["cancelar", "descadastrar", "remover", "pare", "parem"], &["parar", "sair", "fim"]),
    of(
        "it",
        &["annulla iscrizione", "disiscrivi", "cancellami", "disdici"],
        &["fine", "annulla", "cancella", "basta"],
    ),
    of("ca", &["atura", "donar de baixa"], &["baixa", "cancel·la"]),
    of("eu", &["gelditu"], &["utzi"]),
    of("gl", &["deter", "dar de baixa"], &["parar"]),
    of("ro", &["dezabonare", "dezabonează", "oprește", "opriți"], &["anulează", "renunț"]),
    of("pl", &["zatrzymaj", "wypisz", "wypisz mnie", "rezygnuję"], &["koniec", "anuluj", "rezygnacja"]),
    of("cs", &["odhlásit", "odhlásit se", "nechci"], &["zrušit", "konec", "ukončit"]),
    of("sk", &["odhlásiť", "odhlásiť sa"], &["zrušiť", "koniec"]),
    of("hu", &["leiratkozás", "leiratkozom", "leiratkozni"], &["vége", "mégsem", "állj"]),
    of("hr", &["odjava", "zaustavi"], &["otkaži", "kraj"]),
    of("sl", &["odjava", "ustavi"], &["prekliči", "konec"]),
    of("sr", &["стоп", "одјава", "одјави"], &["откажи"]),
    of("bg", &["отписване", "спри"], &["откажи", "край"]),
    of("ru", &["стоп", "отписаться", "отписка", "отпиши", "отпишите"], &["отмена", "отменить", "хватит"]),
    of("uk", &["стоп", "відписатися", "відписка", "відпишіть"], &["скасувати", "відміна"]),
    of("el", &["στοπ", "διαγραφή", "διακοπή"], &["τέλος", "ακύρωση"]),
    of("tr", &["durdur", "iptal", "abonelikten çık"], &["dur", "ret", "çık", "red"]),
    of("sq", &["ndalo", "çregjistro"], &["anulo"]),
    of("et", &["loobun", "tühista tellimus"], &["lõpeta", "peata"]),
    of("lv", &["atteikties", "atrakstīties"], &["apturēt", "beigt"]),
    of("lt", &["atsisakyti", "atsisakau"], &["stabdyti", "baigti"]),
    of("ar", &["إيقاف", "الغاء الاشتراك", "إلغاء الاشتراك", "اوقف"], &["قف", "توقف", "إلغاء", "كفى"]),
    of("fa", &["لغو", "لغو عضویت", "لغو11"], &["توقف", "پایان"]),
    of("he", &["הסר", "הסירו", "הסרה", "הסר אותי"], &["עצור", "הפסק", "די"]),
    of("hi", &["रोकें", "सदस्यता समाप्त"], &["बंद", "बंद करें", "रोको", "रद्द"]),
    of("zh", &["退订", "退訂", "取消订阅", "取消訂閱", "td"], &["停止", "取消", "拒收"]),
    of("ja", &["配信停止", "配信解除", "ストップ"], &["停止", "解除", "中止", "やめて"]),
    of("ko", &["수신거부", "수신 거부"], &["중지", "거부", "정지", "그만"]),
    of("th", &["ยกเลิกรับข่าวสาร", "เลิกรับ"], &["หยุด", "ยกเลิก"]),
    of("vi", &["từ chối", "hủy đăng ký", "huỷ đăng ký"], &["dừng", "hủy", "huỷ"]),
    of("id", &["berhenti berlangganan"], &["berhenti", "batal", "henti"]),
    of("tl", &["itigil", "ihinto"], &["tigil"]),
    of("sw", &["sitisha", "jiondoe"], &["acha", "simama"]),
    of("so", &["jooji"], &["ka bax"]),
];

const fn of(
    language: &'static str,
    telling: &'static [&'static str],
    common: &'static [&'static str],
) -> StopWords {
    StopWords { language, telling, common }
}

//! Languages by their names: what people write where a language tag is wanted, and the tag that they mean.

use crate::legible;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Octets of a language tag; RFC 5646, 4.4.1 says 35 are enough.
const TAG_OCTETS_MAX: usize = 35;

/// Every language of ISO 639-1: its tag; its codes of three letters (ISO 639-2), which a tag must not have
/// beside one of two (RFC 5646, 2.2.1); what it is called, in small letters, in its own language and in some
/// others.
#[rustfmt::skip]
const LANGUAGES: &[(&str, &str, &str)] = &[
    ("aa", "aar", "afar"),
    ("ab", "abk", "abkhazian"),
    ("ae", "ave", "avestan"),
    ("af", "afr", "afrikaans"),
    ("ak", "aka", "akan"),
    ("am", "amh", "amharic|አማርኛ"),
    ("an", "arg", "aragonese"),
    ("ar", "ara", "arabic|العربية|عربي|arabiska|arabisch|arabe|árabe|arabo|arabisk|arabia"),
    ("as", "asm", "assamese"),
    ("av", "ava", "avaric"),
    ("ay", "aym", "aymara"),
    ("az", "aze", "azerbaijani|azərbaycanca"),
    ("ba", "bak", "bashkir"),
    ("be", "bel", "belarusian|беларуская"),
    ("bg", "bul", "bulgarian|български|bulgariska|bulgarisch|bulgare"),
    ("bi", "bis", "bislama"),
    ("bm", "bam", "bambara"),
    ("bn", "ben", "bengali|bangla|বাংলা"),
    ("bo", "bod tib", "tibetan"),
    ("br", "bre", "breton|brezhoneg"),
    ("bs", "bos", "bosnian|bosanski|bosniska|bosnisch"),
    ("ca", "cat", "catalan|català|valencian"),
    ("ce", "che", "chechen"),
    ("ch", "cha", "chamorro"),
    ("co", "cos", "corsican"),
    ("cr", "cre", "cree"),
    ("cs", "ces cze", "czech|čeština|česky|tjeckiska|tschechisch|tchèque|checo"),
    ("cu", "chu", "church slavic"),
    ("cv", "chv", "chuvash"),
    ("cy", "cym wel", "welsh|cymraeg"),
    ("da", "dan", "danish|dansk|danska|dänisch|danois|danés|danese|tanska|deens"),
    ("de", "deu ger", "german|deutsch|tyska|allemand|alemán|tedesco|tysk|saksa|duits|alemão|niemiecki"),
    ("dv", "div", "divehi|maldivian"),
    ("dz", "dzo", "dzongkha"),
    ("ee", "ewe", "ewe"),
    ("el", "ell gre", "greek|ελληνικά|grekiska|griechisch|grec|griego|greco"),
    ("en", "eng", "english|engelska|englisch|anglais|inglés|inglese|engelsk|englanti|engels|inglês|\
        angielski|английский"),
    ("eo", "epo", "esperanto"),
    ("es", "spa", "spanish|castilian|español|castellano|spanska|spanisch|espagnol|spagnolo|spansk|\
        espanja|spaans|espanhol|hiszpański"),
    ("et", "est", "estonian|eesti|estniska|estnisch|estonien"),
    ("eu", "eus baq", "basque|euskara"),
    ("fa", "fas per", "persian|farsi|فارسی|persiska|persisch|persan"),
    ("ff", "ful", "fulah"),
    ("fi", "fin", "finnish|suomi|finska|finnisch|finnois|finés|finlandese|finsk|fins"),
    ("fj", "fij", "fijian"),
    ("fo", "fao", "faroese|føroyskt|färöiska"),
    ("fr", "fra fre", "french|français|franska|französisch|francés|francese|fransk|ranska|frans|\
        francês|francuski"),
    ("fy", "fry", "western frisian|frisian|frysk"),
    ("ga", "gle", "irish|gaeilge"),
    ("gd", "gla", "scottish gaelic|gaelic|gàidhlig"),
    ("gl", "glg", "galician|galego"),
    ("gn", "grn", "guarani"),
    ("gu", "guj", "gujarati"),
    ("gv", "glv", "manx"),
    ("ha", "hau", "hausa"),
    ("he", "heb", "hebrew|עברית|hebreiska|hebräisch|hébreu"),
    ("hi", "hin", "hindi|हिन्दी"),
    ("ho", "hmo", "hiri motu"),
    ("hr", "hrv", "croatian|hrvatski|kroatiska|kroatisch|croate"),
    ("ht", "hat", "haitian|haitian creole"),
    ("hu", "hun", "hungarian|magyar|ungerska|ungarisch|hongrois|húngaro|ungherese"),
    ("hy", "hye arm", "armenian|հայերեն"),
    ("hz", "her", "herero"),
    ("ia", "ina", "interlingua"),
    ("id", "ind", "indonesian|bahasa indonesia"),
    ("ie", "ile", "interlingue"),
    ("ig", "ibo", "igbo"),
    ("ii", "iii", "sichuan yi"),
    ("ik", "ipk", "inupiaq"),
    ("io", "ido", "ido"),
    ("is", "isl ice", "icelandic|íslenska|isländska|isländisch|islandais"),
    ("it", "ita", "italian|italiano|italienska|italienisch|italien|italiensk|italiaans|włoski"),
    ("iu", "iku", "inuktitut"),
    ("ja", "jpn", "japanese|日本語|japanska|japanisch|japonais|japonés|giapponese"),
    ("jv", "jav", "javanese"),
    ("ka", "kat geo", "georgian|ქართული"),
    ("kg", "kon", "kongo"),
    ("ki", "kik", "kikuyu"),
    ("kj", "kua", "kuanyama"),
    ("kk", "kaz", "kazakh|қазақша"),
    ("kl", "kal", "greenlandic|kalaallisut"),
    ("km", "khm", "khmer"),
    ("kn", "kan", "kannada"),
    ("ko", "kor", "korean|한국어|koreanska|koreanisch|coréen|coreano"),
    ("kr", "kau", "kanuri"),
    ("ks", "kas", "kashmiri"),
    ("ku", "kur", "kurdish|kurdî|kurdiska|kurdisch"),
    ("kv", "kom", "komi"),
    ("kw", "cor", "cornish"),
    ("ky", "kir", "kyrgyz|kirghiz"),
    ("la", "lat", "latin"),
    ("lb", "ltz", "luxembourgish|lëtzebuergesch"),
    ("lg", "lug", "ganda"),
    ("li", "lim", "limburgish"),
    ("ln", "lin", "lingala"),
    ("lo", "lao", "lao"),
    ("lt", "lit", "lithuanian|lietuvių|litauiska|litauisch"),
    ("lu", "lub", "luba-katanga"),
    ("lv", "lav", "latvian|latviešu|lettiska|lettisch"),
    ("mg", "mlg", "malagasy"),
    ("mh", "mah", "marshallese"),
    ("mi", "mri mao", "maori|māori"),
    ("mk", "mkd mac", "macedonian|македонски"),
    ("ml", "mal", "malayalam"),
    ("mn", "mon", "mongolian|монгол"),
    ("mr", "mar", "marathi"),
    ("ms", "msa may", "malay|bahasa melayu"),
    ("mt", "mlt", "maltese|malti"),
    ("my", "mya bur", "burmese"),
    ("na", "nau", "nauru"),
    ("nb", "nob", "norwegian bokmål|bokmål|norsk bokmål"),
    ("nd", "nde", "north ndebele"),
    ("ne", "nep", "nepali|नेपाली"),
    ("ng", "ndo", "ndonga"),
    ("nl", "nld dut", "dutch|flemish|nederlands|holländska|nederländska|niederländisch|néerlandais|\
        holandés|neerlandés|olandese|nederlandsk|hollanti"),
    ("nn", "nno", "norwegian nynorsk|nynorsk|norsk nynorsk"),
    ("no", "nor", "norwegian|norsk|norska|norwegisch|norvégien|noruego|norvegese|norja|noors"),
    ("nr", "nbl", "south ndebele"),
    ("nv", "nav", "navajo"),
    ("ny", "nya", "chichewa|nyanja"),
    ("oc", "oci", "occitan"),
    ("oj", "oji", "ojibwa"),
    ("om", "orm", "oromo"),
    ("or", "ori", "odia|oriya"),
    ("os", "oss", "ossetian"),
    ("pa", "pan", "punjabi|panjabi|ਪੰਜਾਬੀ"),
    ("pi", "pli", "pali"),
    ("pl", "pol", "polish|polski|polska|polnisch|polonais|polaco|polacco|polsk|puola|pools"),
    ("ps", "pus", "pashto"),
    ("pt", "por", "portuguese|português|portugisiska|portugiesisch|portugais|portugués|portoghese|\
        portugisisk|portugees"),
    ("qu", "que", "quechua"),
    ("rm", "roh", "romansh|rumantsch|rätoromanisch"),
    ("rn", "run", "rundi|kirundi"),
    ("ro", "ron rum", "romanian|moldavian|română|rumänska|rumänisch|roumain|rumano|rumeno"),
    ("ru", "rus", "russian|русский|ryska|russisch|russe|ruso|russo|russisk|venäjä"),
    ("rw", "kin", "kinyarwanda"),
    ("sa", "san", "sanskrit"),
    ("sc", "srd", "sardinian"),
    ("sd", "snd", "sindhi"),
    ("se", "sme", "northern sami|davvisámegiella|nordsamiska"),
    ("sg", "sag", "sango"),
    ("si", "sin", "sinhala|sinhalese"),
    ("sk", "slk slo", "slovak|slovenčina|slovakiska|slowakisch|slovaque"),
    ("sl", "slv", "slovenian|slovene|slovenščina|slovenska|slowenisch|slovène"),
    ("sm", "smo", "samoan"),
    ("sn", "sna", "shona"),
    ("so", "som", "somali|soomaali|somaliska|somalisch"),
    ("sq", "sqi alb", "albanian|shqip|albanska|albanisch|albanais"),
    ("sr", "srp", "serbian|српски|srpski|serbiska|serbisch|serbe"),
    ("ss", "ssw", "swati"),
    ("st", "sot", "southern sotho|sotho"),
    ("su", "sun", "sundanese"),
    ("sv", "swe", "swedish|svenska|svensk|schwedisch|suédois|sueco|svedese|ruotsi|zweeds|szwedzki|\
        шведский"),
    ("sw", "swa", "swahili|kiswahili"),
    ("ta", "tam", "tamil|தமிழ்"),
    ("te", "tel", "telugu|తెలుగు"),
    ("tg", "tgk", "tajik"),
    ("th", "tha", "thai|ไทย|thailändska|thailändisch"),
    ("ti", "tir", "tigrinya|ትግርኛ"),
    ("tk", "tuk", "turkmen"),
    ("tl", "tgl", "tagalog|filipino"),
    ("tn", "tsn", "tswana"),
    ("to", "ton", "tongan"),
    ("tr", "tur", "turkish|türkçe|turkiska|türkisch|turc|turco"),
    ("ts", "tso", "tsonga"),
    ("tt", "tat", "tatar"),
    ("tw", "twi", "twi"),
    ("ty", "tah", "tahitian"),
    ("ug", "uig", "uyghur"),
    ("uk", "ukr", "ukrainian|українська|ukrainska|ukrainisch|ukrainien|ucraniano|ucraino"),
    ("ur", "urd", "urdu|اردو"),
    ("uz", "uzb", "uzbek|oʻzbekcha"),
    ("ve", "ven", "venda"),
    ("vi", "vie", "vietnamese|tiếng việt|vietnamesiska|vietnamesisch|vietnamien"),
    ("vo", "vol", "volapük"),
    ("wa", "wln", "walloon"),
    ("wo", "wol", "wolof"),
    ("xh", "xho", "xhosa"),
    ("yi", "yid", "yiddish|ייִדיש"),
    ("yo", "yor", "yoruba"),
    ("za", "zha", "zhuang"),
    ("zh", "zho chi", "chinese|mandarin|中文|汉语|漢語|kinesiska|chinesisch|chinois|chino|cinese"),
    ("zh-Hans", "", "simplified chinese|chinese simplified|简体中文"),
    ("zh-Hant", "", "traditional chinese|chinese traditional|繁體中文"),
    ("zu", "zul", "zulu|isizulu"),
];

/// Languages to choose from, in a list for people: tag and own name, in the order of the names.
#[rustfmt::skip]
const OWN_NAMES: &[(&str, &str)] = &[
    ("id", "Bahasa Indonesia"), ("bs", "bosanski"), ("ca", "català"), ("cs", "čeština"), ("cy", "Cymraeg"), ("da", "dansk"),
    ("se", "davvisámegiella"), ("de", "Deutsch"), ("et", "eesti"), ("en", "English"), ("es", "español"), ("eu", "euskara"),
    ("fo", "føroyskt"), ("fr", "français"), ("ga", "Gaeilge"), ("hr", "hrvatski"), ("is", "íslenska"), ("it", "italiano"),
    ("kl", "kalaallisut"), ("sw", "Kiswahili"), ("ku", "kurdî"), ("lv", "latviešu"), ("lt", "lietuvių"), ("hu", "magyar"),
    ("nl", "Nederlands"), ("nb", "norsk bokmål"), ("nn", "norsk nynorsk"), ("pl", "polski"), ("pt", "português"), ("ro", "română"),
    ("sq", "shqip"), ("sk", "slovenčina"), ("sl", "slovenščina"), ("so", "Soomaali"), ("fi", "suomi"), ("sv", "svenska"),
    ("vi", "Tiếng Việt"), ("tr", "Türkçe"), ("el", "ελληνικά"), ("bg", "български"), ("mk", "македонски"), ("ru", "русский"),
    ("sr", "српски"), ("uk", "українська"), ("he", "עברית"), ("ar", "العربية"), ("fa", "فارسی"), ("ur", "اردو"),
    ("hi", "हिन्दी"), ("bn", "বাংলা"), ("ta", "தமிழ்"), ("th", "ไทย"), ("ti", "ትግርኛ"), ("am", "አማርኛ"),
    ("ka", "ქართული"), ("hy", "հայերեն"), ("ko", "한국어"), ("zh-Hans", "简体中文"), ("zh-Hant", "繁體中文"), ("ja", "日本語"),
];

/// Languages to choose from, in a list for people: tag and own name, in the order of the names.
pub fn own_names() -> &'static [(&'static str, &'static str)] {
    OWN_NAMES
}

/// The tag of each name.
static NAMES: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let mut tags = HashMap::new();
    for (tag, _, names) in LANGUAGES {
        names.split('|').for_each(|name| _ = tags.entry(name).or_insert(*tag));
    }
    tags
});

/// Codes of countries that are no languages, with the language that is meant by them.
const COUNTRIES: [(&str, &str); 12] = [
    ("at", "de"),
    ("au", "en"),
    ("cn", "zh"),
    ("cz", "cs"),
    ("dk", "da"),
    ("gb", "en"),
    ("gr", "el"),
    ("jp", "ja"),
    ("mx", "es"),
    ("ua", "uk"),
    ("us", "en"),
    ("rs", "sr"),
];

/// The tag (BCP 47, in its usual case: RFC 5646, 2.1.1) of a language that is given by a tag, by a locale's
/// name (`sv_SE.UTF-8`), by a code of three letters or by its name in English, in itself and in some other
/// languages.
///
/// # Errors
/// It is none of these; says what is.
pub fn tag(text: &str) -> Result<String, String> {
    // Nearly all are tags, and no language has a name of two letters.
    if let [_, _] | [_, _, b'-', ..] = text.as_bytes()
        && let Some(tag) = well_formed(text)
    {
        return Ok(tag);
    }
    let name = legible::name(text);
    let lower = name.to_lowercase();
    if let Some(tag) = by_name(&lower) {
        return Ok(tag.to_owned());
    }
    // POSIX: language[_territory][.codeset][@modifier]
    let locale = name.split(['.', '@']).next().unwrap_or_default();
    well_formed(locale).ok_or_else(|| refused(&name, &lower))
}

/// The name alone, or with a place behind it in parentheses: `Swedish (Finland)`.
fn by_name(lower: &str) -> Option<&'static str> {
    let named = |wanted: &str| NAMES.get(wanted).copied();
    let inside = lower.replace(['(', ')', ','], " ");
    let whole = inside.split_whitespace().collect::<Vec<_>>().join(" ");
    named(&whole).or_else(|| named(lower.split_once('(')?.0.trim()))
}

fn well_formed(text: &str) -> Option<String> {
    if text.len() > TAG_OCTETS_MAX {
        return None;
    }
    let mut parts = text.split(['-', '_']);
    let mut tag = primary(parts.next()?)?;
    for part in parts {
        if !(1..=8).contains(&part.len()) || !part.bytes().all(|octet| octet.is_ascii_alphanumeric()) {
            return None;
        }
        tag.push('-');
        match part.len() {
            2 => tag.push_str(&part.to_ascii_uppercase()),
            4 => {
                tag.push_str(&part[..1].to_ascii_uppercase());
                tag.push_str(&part[1..].to_ascii_lowercase());
            }
            _ => tag.push_str(&part.to_ascii_lowercase()),
        }
    }
    Some(tag)
}

/// The language's own part: two letters of ISO 639-1, or three of the thousands of ISO 639-3. No longer ones
/// are registered.
fn primary(part: &str) -> Option<String> {
    let lower = part.to_ascii_lowercase();
    if !lower.bytes().all(|octet| octet.is_ascii_lowercase()) {
        return None;
    }
    match lower.len() {
        2 => LANGUAGES.binary_search_by_key(&&*lower, |(tag, ..)| tag).is_ok().then_some(lower),
        3 => match LANGUAGES.iter().find(|(_, codes, _)| codes.split(' ').any(|code| code == lower)) {
            Some((tag, ..)) => Some((*tag).to_owned()),
            None => Some(lower),
        },
        _ => None,
    }
}

fn refused(text: &str, lower: &str) -> String {
    let shown: String = text.chars().take(TAG_OCTETS_MAX).collect();
    let country = COUNTRIES.iter().find(|(country, _)| *country == lower);
    match country {
        Some((country, tag)) => {
            format!("{shown:?} is a country ({}); the language is {tag}", country.to_ascii_uppercase())
        }
        None => format!(
            "{shown:?} is not a language tag such as sv or zh-Hant, nor a language's name such as Swedish"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_to_choose_is_known_by_its_own_name() {
        for (wanted, name) in own_names() {
            assert_eq!(tag(name).as_deref(), Ok(*wanted), "{name}");
            assert_eq!(tag(wanted).as_deref(), Ok(*wanted));
        }
    }

    #[test]
    fn the_table_is_in_the_order_of_its_tags_and_no_name_looks_like_a_tag() {
        assert!(LANGUAGES.is_sorted_by_key(|(tag, ..)| *tag));
        for (tag, name) in
            LANGUAGES.iter().flat_map(|(tag, _, names)| names.split('|').map(move |it| (tag, it)))
        {
            let octets = name.as_bytes();
            assert!(octets.len() > 3 && octets[2] != b'-' || octets.len() == 3, "{tag}: {name}");
        }
    }

    #[test]
    fn a_language_is_understood_by_its_tag_its_codes_and_its_names() {
        for (written, expected) in [
            ("sv", "sv"),
            ("SV", "sv"),
            ("sv_SE", "sv-SE"),
            ("sv-se", "sv-SE"),
            ("sv_SE.UTF-8", "sv-SE"),
            ("de_AT@euro", "de-AT"),
            ("zh-hant-hk", "zh-Hant-HK"),
            ("swe", "sv"),
            ("ger", "de"),
            ("deu-AT", "de-AT"),
            ("smj", "smj"),
            ("Swedish", "sv"),
            (" SVENSKA ", "sv"),
            ("sue\u{301}dois", "sv"),
            ("Swedish (Finland)", "sv"),
            ("Chinese (Simplified)", "zh-Hans"),
            ("Chinese, Traditional", "zh-Hant"),
            ("Farsi", "fa"),
            ("日本語", "ja"),
            ("العربية", "ar"),
            ("\u{200f}العربية\u{200f}", "ar"),
            ("Norwegian Bokmål", "nb"),
        ] {
            assert_eq!(tag(written).as_deref(), Ok(expected), "{written}");
        }
    }

    #[test]
    fn what_is_no_language_is_refused_with_words_that_help() {
        for text in
            ["", "swedish language", "xx", "svensk-talande", "s", "1", "klingonese", "en; q=1", "de--AT"]
        {
            assert!(tag(text).unwrap_err().contains("language tag"), "{text}");
        }
        assert_eq!(tag("DK").unwrap_err(), "\"DK\" is a country (DK); the language is da");
    }

    #[test]
    fn no_tag_code_or_name_means_two_languages() {
        let mut seen = std::collections::BTreeMap::new();
        for (language, codes, names) in LANGUAGES {
            let all = std::iter::once(*language).chain(codes.split_whitespace()).chain(names.split('|'));
            for word in all {
                assert_eq!(legible::name(word).to_lowercase(), word.to_lowercase());
                let other = seen.insert(word, language);
                assert!(other.is_none_or(|other| other == language), "{word}: {language} and {other:?}");
            }
        }
        assert!(LANGUAGES.is_sorted());
    }
}

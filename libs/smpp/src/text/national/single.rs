//! The single shift tables (TS 23.038 §A.2): each replaces the extension table behind an escape. By language,
//! from 1; runs of a code and the characters of it and the codes that follow.

/// A code, and the characters from there on.
type Run = (u8, &'static str);

pub(super) const SINGLE: [&[Run]; 13] = [
    TURKISH, SPANISH, PORTUGUESE, BENGALI, GUJARATI, HINDI, KANNADA, MALAYALAM, ORIYA, PUNJABI, TAMIL,
    TELUGU, URDU,
];

const TURKISH: &[Run] = &[
    (0x0A, "\u{c}"),
    (0x14, "^"),
    (0x28, "{}"),
    (0x2F, "\\"),
    (0x3C, "[~]"),
    (0x40, "|"),
    (0x47, "Ğ"),
    (0x49, "İ"),
    (0x53, "Ş"),
    (0x63, "ç"),
    (0x65, "€"),
    (0x67, "ğ"),
    (0x69, "ı"),
    (0x73, "ş"),
];

const SPANISH: &[Run] = &[
    (0x09, "ç\u{c}"),
    (0x14, "^"),
    (0x28, "{}"),
    (0x2F, "\\"),
    (0x3C, "[~]"),
    (0x40, "|Á"),
    (0x49, "Í"),
    (0x4F, "Ó"),
    (0x55, "Ú"),
    (0x61, "á"),
    (0x65, "€"),
    (0x69, "í"),
    (0x6F, "ó"),
    (0x75, "ú"),
];

const PORTUGUESE: &[Run] = &[
    (0x05, "ê"),
    (0x09, "ç\u{c}Ôô"),
    (0x0E, "Áá"),
    (0x12, "ΦΓ^ΩΠΨΣΘ"),
    (0x1F, "Ê"),
    (0x28, "{}"),
    (0x2F, "\\"),
    (0x3C, "[~]"),
    (0x40, "|À"),
    (0x49, "Í"),
    (0x4F, "Ó"),
    (0x55, "Ú"),
    (0x5B, "ÃÕ"),
    (0x61, "Â"),
    (0x65, "€"),
    (0x69, "í"),
    (0x6F, "ó"),
    (0x75, "ú"),
    (0x7B, "ãõ"),
    (0x7F, "â"),
];

const BENGALI: &[Run] = &[
    (0x00, "@£$¥¿\"¤%&'\u{c}*"),
    (0x0C, "+"),
    (0x0E, "-/<=>¡^¡_#*\u{9e6}"),
    (0x1A, "\u{9e7}"),
    (0x1C, "\u{9e8}\u{9e9}\u{9ea}\u{9eb}\u{9ec}\u{9ed}\u{9ee}\u{9ef}\u{9df}\u{9e0}\u{9e1}\u{9e2}"),
    (0x28, "{}\u{9e3}\u{9f2}\u{9f3}\u{9f4}\u{9f5}\\\u{9f6}\u{9f7}\u{9f8}\u{9f9}"),
    (0x34, "\u{9fa}"),
    (0x3C, "[~]"),
    (0x40, "|ABCDEFGHIJK"),
    (0x4C, "LMNOPQRSTUVW"),
    (0x58, "XYZ"),
    (0x65, "€"),
];

const GUJARATI: &[Run] = &[
    (0x00, "@£$¥¿\"¤%&'\u{c}*"),
    (0x0C, "+"),
    (0x0E, "-/<=>¡^¡_#*\u{964}"),
    (0x1A, "\u{965}"),
    (0x1C, "\u{ae6}\u{ae7}\u{ae8}\u{ae9}\u{aea}\u{aeb}\u{aec}\u{aed}\u{aee}\u{aef}"),
    (0x28, "{}"),
    (0x2F, "\\"),
    (0x3C, "[~]"),
    (0x40, "|ABCDEFGHIJK"),
    (0x4C, "LMNOPQRSTUVW"),
    (0x58, "XYZ"),
    (0x65, "€"),
];

const HINDI: &[Run] = &[
    (0x00, "@£$¥¿\"¤%&'\u{c}*"),
    (0x0C, "+"),
    (0x0E, "-/<=>¡^¡_#*\u{964}"),
    (0x1A, "\u{965}"),
    (0x1C, "\u{966}\u{967}\u{968}\u{969}\u{96a}\u{96b}\u{96c}\u{96d}\u{96e}\u{96f}\u{951}\u{952}"),
    (0x28, "{}\u{953}\u{954}\u{958}\u{959}\u{95a}\\\u{95b}\u{95c}\u{95d}\u{95e}"),
    (0x34, "\u{95f}\u{960}\u{961}\u{962}\u{963}\u{970}\u{971}"),
    (0x3C, "[~]"),
    (0x40, "|ABCDEFGHIJK"),
    (0x4C, "LMNOPQRSTUVW"),
    (0x58, "XYZ"),
    (0x65, "€"),
];

const KANNADA: &[Run] = &[
    (0x00, "@£$¥¿\"¤%&'\u{c}*"),
    (0x0C, "+"),
    (0x0E, "-/<=>¡^¡_#*\u{964}"),
    (0x1A, "\u{965}"),
    (0x1C, "\u{ce6}\u{ce7}\u{ce8}\u{ce9}\u{cea}\u{ceb}\u{cec}\u{ced}\u{cee}\u{cef}\u{cde}\u{cf1}"),
    (0x28, "{}\u{cf2}"),
    (0x2F, "\\"),
    (0x3C, "[~]"),
    (0x40, "|ABCDEFGHIJK"),
    (0x4C, "LMNOPQRSTUVW"),
    (0x58, "XYZ"),
    (0x65, "€"),
];

const MALAYALAM: &[Run] = &[
    (0x00, "@£$¥¿\"¤%&'\u{c}*"),
    (0x0C, "+"),
    (0x0E, "-/<=>¡^¡_#*\u{964}"),
    (0x1A, "\u{965}"),
    (0x1C, "\u{d66}\u{d67}\u{d68}\u{d69}\u{d6a}\u{d6b}\u{d6c}\u{d6d}\u{d6e}\u{d6f}\u{d70}\u{d71}"),
    (0x28, "{}\u{d72}\u{d73}\u{d74}\u{d75}\u{d7a}\\\u{d7b}\u{d7c}\u{d7d}\u{d7e}"),
    (0x34, "\u{d7f}"),
    (0x3C, "[~]"),
    (0x40, "|ABCDEFGHIJK"),
    (0x4C, "LMNOPQRSTUVW"),
    (0x58, "XYZ"),
    (0x65, "€"),
];

const ORIYA: &[Run] = &[
    (0x00, "@£$¥¿\"¤%&'\u{c}*"),
    (0x0C, "+"),
    (0x0E, "-/<=>¡^¡_#*\u{964}"),
    (0x1A, "\u{965}"),
    (0x1C, "\u{b66}\u{b67}\u{b68}\u{b69}\u{b6a}\u{b6b}\u{b6c}\u{b6d}\u{b6e}\u{b6f}\u{b5c}\u{b5d}"),
    (0x28, "{}\u{b5f}\u{b70}\u{b71}"),
    (0x2F, "\\"),
    (0x3C, "[~]"),
    (0x40, "|ABCDEFGHIJK"),
    (0x4C, "LMNOPQRSTUVW"),
    (0x58, "XYZ"),
    (0x65, "€"),
];

const PUNJABI: &[Run] = &[
    (0x00, "@£$¥¿\"¤%&'\u{c}*"),
    (0x0C, "+"),
    (0x0E, "-/<=>¡^¡_#*\u{964}"),
    (0x1A, "\u{965}"),
    (0x1C, "\u{a66}\u{a67}\u{a68}\u{a69}\u{a6a}\u{a6b}\u{a6c}\u{a6d}\u{a6e}\u{a6f}\u{a59}\u{a5a}"),
    (0x28, "{}\u{a5b}\u{a5c}\u{a5e}\u{a75}"),
    (0x2F, "\\"),
    (0x3C, "[~]"),
    (0x40, "|ABCDEFGHIJK"),
    (0x4C, "LMNOPQRSTUVW"),
    (0x58, "XYZ"),
    (0x65, "€"),
];

const TAMIL: &[Run] = &[
    (0x00, "@£$¥¿\"¤%&'\u{c}*"),
    (0x0C, "+"),
    (0x0E, "-/<=>¡^¡_#*\u{964}"),
    (0x1A, "\u{965}"),
    (0x1C, "\u{be6}\u{be7}\u{be8}\u{be9}\u{bea}\u{beb}\u{bec}\u{bed}\u{bee}\u{bef}\u{bf3}\u{bf4}"),
    (0x28, "{}\u{bf5}\u{bf6}\u{bf7}\u{bf8}\u{bfa}\\"),
    (0x3C, "[~]"),
    (0x40, "|ABCDEFGHIJK"),
    (0x4C, "LMNOPQRSTUVW"),
    (0x58, "XYZ"),
    (0x65, "€"),
];

const TELUGU: &[Run] = &[
    (0x00, "@£$¥¿\"¤%&'\u{c}*"),
    (0x0C, "+"),
    (0x0E, "-/<=>¡^¡_#*"),
    (0x1C, "\u{c66}\u{c67}\u{c68}\u{c69}\u{c6a}\u{c6b}\u{c6c}\u{c6d}\u{c6e}\u{c6f}\u{c58}\u{c59}"),
    (0x28, "{}\u{c78}\u{c79}\u{c7a}\u{c7b}\u{c7c}\\\u{c7d}\u{c7e}\u{c7f}"),
    (0x3C, "[~]"),
    (0x40, "|ABCDEFGHIJK"),
    (0x4C, "LMNOPQRSTUVW"),
    (0x58, "XYZ"),
    (0x65, "€"),
];

const URDU: &[Run] = &[
    (0x00, "@£$¥¿\"¤%&'\u{c}*"),
    (0x0C, "+"),
    (0x0E, "-/<=>¡^¡_#*\u{600}"),
    (0x1A, "\u{601}"),
    (0x1C, "\u{6f0}\u{6f1}\u{6f2}\u{6f3}\u{6f4}\u{6f5}\u{6f6}\u{6f7}\u{6f8}\u{6f9}\u{60c}\u{60d}"),
    (0x28, "{}\u{60e}\u{60f}\u{610}\u{611}\u{612}\\\u{613}\u{614}\u{61b}\u{61f}"),
    (0x34, "\u{640}\u{652}\u{658}\u{66b}\u{66c}\u{672}\u{673}\u{6cd}[~]\u{6d4}"),
    (0x40, "|ABCDEFGHIJK"),
    (0x4C, "LMNOPQRSTUVW"),
    (0x58, "XYZ"),
    (0x65, "€"),
];

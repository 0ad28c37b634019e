//! Content codings: which one a client likes best (RFC 9110, section 12.5.3).

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    Brotli,
    Gzip,
    Identity,
}

impl Coding {
    /// Shortest first.
    const ALL: [Coding; 3] = [Coding::Brotli, Coding::Gzip, Coding::Identity];

    /// As Content-Encoding has it; the body as it is needs none.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Coding::Brotli => Some("br"),
            Coding::Gzip => Some("gzip"),
            Coding::Identity => None,
        }
    }

    fn is_named(self, word: &str) -> bool {
        match self {
            Coding::Brotli => word.eq_ignore_ascii_case("br"),
            Coding::Gzip => word.eq_ignore_ascii_case("gzip") || word.eq_ignore_ascii_case("x-gzip"),
            Coding::Identity => word.eq_ignore_ascii_case("identity"),
        }
    }
}

/// Thousandths: what is not named, though it is always allowed, comes after all that is.
const UNNAMED_IDENTITY: u32 = 1;
const WHOLE: u32 = 1_000;

/// The coding with the highest quality of those that there are; the shorter one at equal quality. Nothing:
/// the client wants none of them.
pub(crate) fn best(accept_encoding: &str, is_there: impl Fn(Coding) -> bool) -> Option<Coding> {
    let wanted: Vec<(&str, u32)> = accept_encoding.split(',').map(entry).collect();
    let of = |named: &dyn Fn(&str) -> bool| {
        wanted.iter().find(|(word, _)| named(word)).map(|(_, quality)| *quality)
    };
    let any = of(&|word| word == "*");
    let quality = |coding: Coding| {
        let named = of(&|word| coding.is_named(word)).or(any);
        named.unwrap_or(if coding == Coding::Identity { UNNAMED_IDENTITY } else { 0 })
    };
    let mut best: Option<(Coding, u32)> = None;
    for coding in Coding::ALL.into_iter().filter(|coding| is_there(*coding)) {
        let quality = quality(coding);
        if quality > 0 && best.is_none_or(|(_, so_far)| quality > so_far) {
            best = Some((coding, quality));
        }
    }
    best.map(|(coding, _)| coding)
}

/// A coding and its quality in thousandths.
fn entry(text: &str) -> (&str, u32) {
    let mut parts = text.split(';').map(str::trim);
    let word = parts.next().unwrap_or_default();
    let quality = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    let quality: f32 = quality.map_or(1.0, |text| text.trim().parse().unwrap_or(0.0));
    (word, (quality.clamp(0.0, 1.0) * WHOLE as f32) as u32)
}

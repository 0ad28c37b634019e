//! Reads a data file, line by line.

use super::{AvpDefinition, Dictionary, Grammar, GrammarLine, Mandatory, Of};

/// Adds what stands in `text` to `dictionary`. Errors begin with the file's name and line.
pub fn parse(file: &str, text: &str, dictionary: &mut Dictionary) -> Result<(), String> {
    let mut vendor = 0;
    let mut open: Option<Grammar> = None;
    for (i, line) in text.lines().enumerate() {
        let place = format!("{file}:{}", i + 1);
        let at = |message: String| format!("{place}: {message}");
        let line = line.split('#').next().unwrap_or_default();
        if line.trim().is_empty() {
            dictionary.grammars.extend(open.take());
            continue;
        }
        if line.starts_with(' ') {
            let grammar = open.as_mut().ok_or_else(|| at("a member outside a grammar".into()))?;
            match member(line).map_err(at)? {
                Some(member) => grammar.members.push(member),
                None => grammar.is_open = true,
            }
            continue;
        }
        dictionary.grammars.extend(open.take());
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["vendor", name, id] => {
                vendor = number(id).map_err(at)?;
                dictionary.vendors.push((name.to_string(), vendor));
            }
            ["application", name, id] => {
                dictionary.applications.push((name.to_string(), number(id).map_err(at)?));
            }
            ["avp", text, code, kind, flag, ref values @ ..] => {
                dictionary.avps.push(avp(vendor, text, code, kind, flag, values).map_err(at)?);
            }
            _ if line.contains("::=") => open = Some(grammar(line, place.clone()).map_err(at)?),
            _ => return Err(at(format!("`{line}` is neither vendor, application, avp nor a grammar"))),
        }
    }
    dictionary.grammars.extend(open);
    Ok(())
}

fn number(word: &str) -> Result<u32, String> {
    let parsed = match word.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => word.parse(),
    };
    parsed.map_err(|_| format!("`{word}` is no number of 32 bits"))
}

fn avp(
    vendor: u32,
    text: &str,
    code: &str,
    kind: &str,
    flag: &str,
    values: &[&str],
) -> Result<AvpDefinition, String> {
    let mandatory = match flag {
        "M" => Mandatory::Must,
        "!M" => Mandatory::MustNot,
        "m" => Mandatory::Sent,
        "-" => Mandatory::NotSent,
        _ => return Err(format!("`{flag}` is no flag rule: M, !M, m or -")),
    };
    let values = match values {
        [] => None,
        [range] => {
            let bound = |word: Option<&str>| word.and_then(|word| word.parse().ok());
            let mut parts = range.split("..");
            match (bound(parts.next()), bound(parts.next()), kind) {
                (Some(first), Some(last), "Enumerated") => Some((first, last)),
                _ => return Err(format!("`{range}` is no range of an Enumerated's values: FIRST..LAST")),
            }
        }
        _ => return Err(format!("{text} has too many words")),
    };
    Ok(AvpDefinition {
        text: text.to_string(),
        code: number(code)?,
        vendor,
        kind: kind.to_string(),
        mandatory,
        values,
    })
}

/// `NAME ::= < AVP Header: CODE [VENDOR] >` or `NAME (ABBREVIATION) ::= < Diameter Header: CODE, REQ, PXY >`.
fn grammar(line: &str, place: String) -> Result<Grammar, String> {
    let (head, header) = line.split_once("::=").ok_or("no `::=`")?;
    let header =
        header.trim().strip_prefix('<').and_then(|h| h.strip_suffix('>')).ok_or("no header in `< >`")?;
    let (what, fields) = header.split_once(':').ok_or("no `:` in the header")?;
    let mut names = head.split_whitespace();
    let text = names.next().ok_or("no name")?.to_string();
    let of = match what.trim() {
        "AVP Header" => {
            let mut ids = fields.split_whitespace().map(number);
            let code = ids.next().ok_or("no code")??;
            Of::Group { code, vendor: ids.next().transpose()?.unwrap_or(0) }
        }
        "Diameter Header" => {
            let mut words = fields.split(',').map(str::trim);
            let code = number(words.next().unwrap_or_default())?;
            let flags: Vec<&str> = words.collect();
            let abbreviation = names.next().and_then(|n| n.strip_prefix('(')?.strip_suffix(')'));
            Of::Command {
                code,
                abbreviation: abbreviation.ok_or("no abbreviation in brackets")?.to_string(),
                is_request: flags.contains(&"REQ"),
                is_proxiable: flags.contains(&"PXY"),
                is_error: flags.contains(&"ERR"),
            }
        }
        other => return Err(format!("`{other}` is neither `AVP Header` nor `Diameter Header`")),
    };
    Ok(Grammar { text, of, members: Vec::new(), is_open: false, place })
}

/// One member; `None` for `*[ AVP ]`. `[ ]` is at most one, `< >` and `{ }` are exactly one, unless `min*max`
/// in front says otherwise (RFC 6733, section 3.2).
fn member(line: &str) -> Result<Option<GrammarLine>, String> {
    let line = line.trim();
    let bracket = line.find(['<', '{', '[']).ok_or_else(|| format!("`{line}` has no bracket"))?;
    let (quantity, rest) = line.split_at(bracket);
    let quantity = quantity.trim();
    let is_optional = rest.starts_with('[');
    let closing = match &rest[..1] {
        "<" => '>',
        "{" => '}',
        _ => ']',
    };
    let text =
        rest[1..].trim().strip_suffix(closing).ok_or_else(|| format!("`{line}` lacks `{closing}`"))?.trim();
    let bound = |word: &str, default| if word.is_empty() { Ok(default) } else { number(word).map(Some) };
    let least = if is_optional { 0 } else { 1 };
    let (min, max) = match quantity.split_once('*') {
        Some((min, max)) => (bound(min, Some(least))?.unwrap_or(least), bound(max, None)?),
        None if quantity.is_empty() => (least, Some(1)),
        None => return Err(format!("`{quantity}` is no quantity: MIN*MAX")),
    };
    if text == "AVP" {
        return Ok(None);
    }
    Ok(Some(GrammarLine { text: text.to_string(), min, max }))
}

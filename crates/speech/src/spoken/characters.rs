//! Characters of spoken text: which are heard, which are pauses, and which are left out.

/// Marks that stand on one character; more than a word of any language has.
const MARKS_MAX: usize = 4;

/// Whether a character is a letter or digit that is seen. Fillers of Hangul are letters that nobody sees.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() && !is_invisible(c)
}

fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{ffff}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e000}'..='\u{f8ff}'
        | '\u{e0000}'..='\u{e0fff}' | '\u{f0000}'..='\u{10ffff}')
}

/// Joiners that shape the letters of a script. They are heard by a voice of Persian, Hindi and others.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// A joiner counts between two letters beyond Latin alone.
fn joins(before: Option<char>, after: Option<char>) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(|c| !c.is_ascii() && c.is_alphabetic() && is_word(c));
    is_letter(before) && is_letter(after)
}

/// Without control and invisible characters; blanks of all kinds folded; lines ended by `\n`.
pub(super) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut before, mut marks) = (None, 0);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        marks = if matches!(c, '\u{300}'..='\u{36f}') { marks + 1 } else { 0 };
        let heard = match c {
            _ if marks > MARKS_MAX => continue,
            _ if is_line_end(c) => '\n',
            _ if c.is_whitespace() => ' ',
            _ if is_joiner(c) && joins(before, rest.peek().copied()) => c,
            _ if c.is_control() || is_invisible(c) => continue,
            _ => c,
        };
        if heard != ' ' || before != Some(' ') {
            out.push(heard);
            before = Some(heard);
        }
    }
    out
}

/// Pictures, arrows, lines, signs of mathematics and of games: nobody hears them.
fn is_picture(c: char) -> bool {
    matches!(c,
        '\u{2020}'..='\u{2023}' | '\u{203b}'..='\u{205e}' | '\u{20dd}'..='\u{20f0}' | '\u{2100}'..='\u{2101}'
        | '\u{2103}'..='\u{214f}' | '\u{2190}'..='\u{245f}' | '\u{249c}'..='\u{24e9}' | '\u{2500}'..='\u{2bff}'
        | '\u{3004}' | '\u{3012}'..='\u{3013}' | '\u{3020}' | '\u{3030}' | '\u{1f000}'..='\u{1f0ff}'
        | '\u{1f110}'..='\u{1faff}')
        && !c.is_alphanumeric()
        || matches!(c, '\u{1f1e6}'..='\u{1f1ff}')
}

/// Without pictures, quotation marks and what a speech engine could take for markup.
pub(super) fn plain(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            // A word in brackets is a sentence of its own: the mark of a drill.
            ']' => out.push_str(". "),
            '…' => out.push('.'),
            '’' | '‘' | '‛' | '′' => out.push('\''),
            '−' => out.push('−'),
            '‐' | '‑' | '‒' => out.push('-'),
            '—' | '―' => out.push('–'),
            '℃' => out.push_str("°C"),
            '℉' => out.push_str("°F"),
            '<' | '>' | '[' | '{' | '}' | '|' | '\\' | '^' | '~' | '`' | '*' | '_' | '#' | '=' | '"' => {
                out.push(' ');
            }
            '“' | '”' | '„' | '‟' | '«' | '»' | '‹' | '›' | '「' | '」' | '『' | '』' | '《' | '》' | '″' =>
            {
                out.push(' ');
            }
            '¤' | '¦' | '©' | '®' | '¬' | '¶' | '·' | '•' | '¨' | '¯' | '´' | '¸' => {
                out.push(' ')
            }
            _ if is_picture(c) => out.push(' '),
            _ => out.push(c),
        }
    }
    out
}

/// Ends a sentence, or a part of one.
fn is_stop(c: char) -> bool {
    matches!(
        c,
        '.' | '!'
            | '?'
            | ':'
            | ';'
            | ','
            | '؟'
            | '؛'
            | '،'
            | '۔'
            | '।'
            | '。'
            | '！'
            | '？'
            | '：'
            | '；'
            | '，'
            | '、'
    )
}

/// A part of a sentence has a shorter pause, which the end of a line makes a longer one.
fn is_comma(c: char) -> bool {
    matches!(c, ',' | ';' | '،' | '؛' | '，' | '；' | '、')
}

/// Writes a full stop, unless a sentence ends there already.
pub(super) fn end_sentence(text: &mut String) {
    while text.ends_with(|c| is_comma(c) || c == ' ') {
        text.pop();
    }
    if !text.is_empty() && !text.ends_with(is_stop) {
        text.push('.');
    }
}

/// Blanks folded, stops joined to the word before them, one stop where there were several, no empty brackets.
pub(super) fn punctuated(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        let last = out.trim_end().chars().next_back();
        match c {
            ' ' if out.is_empty() || out.ends_with([' ', '(']) => {}
            _ if is_stop(c) => stop(&mut out, c, last),
            ')' if last == Some('(') => {
                let at = out.rfind('(').unwrap_or(out.len());
                out.truncate(at);
            }
            ')' => {
                out.truncate(out.trim_end().len());
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out.truncate(out.trim_end_matches([' ', '(']).len());
    out
}

/// Joins a stop to the word before it. Of several the heaviest is heard.
fn stop(out: &mut String, c: char, last: Option<char>) {
    match last {
        None | Some('(') => {}
        Some(before) if is_stop(before) => {
            // Between digits they are part of a number or a time.
            out.truncate(out.trim_end().len());
            if weight(c) > weight(before) {
                out.pop();
                out.push(c);
            }
        }
        Some(_) => {
            // What begins with a stop, such as ".5", is no end.
            out.truncate(out.trim_end().len());
            out.push(c);
        }
    }
}

fn weight(stop: char) -> u8 {
    match stop {
        '?' | '؟' | '？' => 4,
        '!' | '！' => 3,
        ':' | '：' => 1,
        _ if is_comma(stop) => 0,
        _ => 2,
    }
}

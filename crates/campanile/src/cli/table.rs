//! Columns of text.

use std::fmt::Write as _;

/// A cell is cut at so many characters.
const CELL_CHARS_MAX: usize = 80;

/// Lines with aligned columns: the header first. Columns whose name begins with `#` are numbers and stand
/// right.
pub(super) fn columns<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut lines: Vec<[String; N]> = vec![header.map(|name| name.trim_start_matches('#').to_owned())];
    lines.extend(rows.into_iter().map(|row| row.map(|cell| one_line(&cell))));
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let mut out = String::new();
    for line in &lines {
        let mut text = String::new();
        for (column, cell) in line.iter().enumerate() {
            let gap = if column == 0 { "" } else { "  " };
            let width = widths[column];
            let _ = match header[column].starts_with('#') {
                true => write!(text, "{gap}{cell:>width$}"),
                false => write!(text, "{gap}{cell:<width$}"),
            };
        }
        out.push_str(text.trim_end());
        out.push('\n');
    }
    out
}

/// Without line ends and other control characters, and not too long: a name from outside must not paint the
/// terminal.
pub(super) fn one_line(text: &str) -> String {
    let plain = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut out: String = plain.clone().take(CELL_CHARS_MAX).collect();
    if plain.count() > CELL_CHARS_MAX {
        out.pop();
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_in_line_and_control_characters_are_gone() {
        let rows = [["åäö".to_owned(), "7".to_owned()], ["\x1b[31mx\n".to_owned(), "1000".to_owned()]];
        assert_eq!(columns(["name", "#count"], rows), "name    count\nåäö         7\n [31mx   1000\n");
        assert_eq!(one_line(&"x".repeat(200)).chars().count(), CELL_CHARS_MAX);
    }
}

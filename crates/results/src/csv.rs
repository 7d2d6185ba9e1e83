//! Comma-separated values, for other programs.

/// Adds a line; cells are quoted where they must be.
pub fn line<'a>(text: &mut String, cells: impl IntoIterator<Item = &'a str>) {
    for (number, cell) in cells.into_iter().enumerate() {
        if number > 0 {
            text.push(',');
        }
        if cell.contains([',', '"', '\n', '\r']) {
            text.push('"');
            text.push_str(&cell.replace('"', "\"\""));
            text.push('"');
        } else {
            text.push_str(cell);
        }
    }
    text.push('\n');
}

/// A file's text: a line of names, then the rows. Numbers are written with as many digits as it
/// takes to read the same number back, if `to_string` made the cells.
pub fn text<const N: usize>(
    names: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut text = String::new();
    line(&mut text, names);
    for row in rows {
        line(&mut text, row.iter().map(String::as_str));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        let rows = [
            ["1.5".into(), "plain".into()],
            ["a,b".into(), "say \"no\"".into()],
        ];
        let expected = "x,y\n1.5,plain\n\"a,b\",\"say \"\"no\"\"\"\n";
        assert_eq!(text(["x", "y"], rows), expected);
    }
}

//! The sources of a table of figures: a line below it for each file of kept output that its template reads.

use super::figures::{EACH, Kept, found, number};

/// The begin of such a line.
pub const BEGIN: &str = "- `docs/figures/kept/";

/// An empty line, and a line for each file that a template reads: its command, commit, date and machine.
pub fn of(template: &[(usize, &str)], kept: &Kept) -> Result<String, String> {
    let mut names: Vec<&str> = Vec::new();
    for (_, line) in template {
        let listed = line.strip_prefix(EACH).into_iter();
        let placeholders = line.split('{').skip(1);
        let placeholders = placeholders.filter_map(|from| Some(from.split_once('}')?.0));
        let places = placeholders.flat_map(|placeholder| placeholder.split(' '));
        for place in listed.chain(places) {
            let (name, _) = place.split_once('/').unwrap_or((place, ""));
            let name = name.trim_start_matches([':', '-']);
            if kept.contains_key(name) && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let mut lines = String::from("\n");
    for name in names {
        lines += &source(name, kept)?;
        lines += "\n";
    }
    Ok(lines)
}

/// The line that names a file's command, commit, date and machine.
fn source(name: &str, kept: &Kept) -> Result<String, String> {
    let text = |field: &str| {
        let place = format!("{name}/{field}");
        let found = found(&place, kept)?;
        let text = found.as_str();
        text.ok_or_else(|| format!("{place} is {found}: a text is expected"))
    };
    let count = |field: &str| number(&format!("{name}/machine/{field}"), kept);
    let mut line = format!(
        "{BEGIN}{name}.json`: `{}`; commit {}, {}; {}, {} processors, {} GiB",
        text("command")?,
        text("commit")?,
        text("date")?,
        text("machine/processor")?,
        count("processors")?,
        count("memory_gibibytes")?,
    );
    if let Ok(runs) = number(&format!("{name}/medians_of"), kept) {
        line += &format!("; medians of {runs} runs");
    }
    if let Ok(note) = text("note") {
        line += &format!("; {note}");
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::super::figures;
    use super::*;
    use serde_json::json;

    #[test]
    fn the_sources_of_a_table_are_below_it_and_written_again_they_are_the_same() {
        let file = |command: &str, medians: Option<u32>| {
            let machine = json!({"processor": "X", "processors": 2, "memory_gibibytes": 23});
            json!({"command": command, "commit": "12345678", "date": "2026-11-30", "machine": machine,
                   "medians_of": medians, "note": null, "x": [{"y": 1}]})
        };
        let mut kept = Kept::from([
            ("a".into(), file("a --json", None)),
            ("b".into(), file("b --json", Some(5))),
        ]);
        let page = "<!-- figures\n| x |\n| --- |\neach a/x: | {./y :b/x/0/y} |\nsources\n-->\n";
        let once = figures::written(&format!("{page}\nText.\n"), &kept).unwrap();
        let line = |name: &str, end: &str| {
            format!(
                "- `docs/figures/kept/{name}.json`: `{name} --json`; commit 12345678, 2026-11-30; \
                 X, 2 processors, 23 GiB{end}\n"
            )
        };
        let sources = line("a", "") + &line("b", "; medians of 5 runs");
        let table = "| x |\n| --- |\n| 1 |\n";
        assert_eq!(once, format!("{page}{table}\n{sources}\nText.\n"));
        assert_eq!(figures::written(&once, &kept).unwrap(), once);
        kept.insert("b".into(), json!({"x": [{"y": 1}]}));
        let (line, said) = figures::written(page, &kept).unwrap_err();
        assert!(line == 5 && said.contains("no value at /command"), "{said}");
    }
}

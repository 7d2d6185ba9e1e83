//! Comments of sources, without examples and commands in them: a text for each line, empty if the line has none.
//!
//! Enough of each language for prose, and no more: comments that have a line to themselves, and docstrings of Python. A shell's
//! comments are like those of Python, and those of JavaScript like those of C.

/// The comments of a source, by the ending of its file's name; `None` if the language is not one of these.
pub fn of<'a>(ending: &str, text: &'a str) -> Option<Vec<&'a str>> {
    match ending {
        "rs" => Some(rust(text)),
        "py" | "sh" => Some(python(text)),
        "c" | "h" | "js" => Some(c(text)),
        _ => None,
    }
}

fn rust(text: &str) -> Vec<&str> {
    let (mut fenced, mut examples) = (false, false);
    let comments = text.lines().map(|line| {
        let comment = line.trim_start().strip_prefix("//");
        let Some(comment) = comment.map(|text| text.trim_start_matches(['/', '!'])) else {
            (fenced, examples) = (false, false);
            return "";
        };
        // Commands below "Example:" in a text of `--help`, up to an empty line, are not a sentence.
        let command = examples && !comment.trim().is_empty();
        examples = command || matches!(comment.trim(), "Example:" | "Examples:");
        let fence = comment.trim_start().starts_with("```");
        fenced ^= fence;
        if fence || fenced || command {
            ""
        } else {
            comment
        }
    });
    comments.collect()
}

/// A text in three quotes that has begun: its end, and of a docstring the indentation of its first line.
struct Quoted {
    end: &'static str,
    docstring: Option<usize>,
}

fn python(text: &str) -> Vec<&str> {
    let mut inside: Option<Quoted> = None;
    let comments = text.lines().map(|line| {
        if let Some(quoted) = &inside {
            let ended = line.split_once(quoted.end);
            // Lines further in are commands.
            let is_prose = quoted
                .docstring
                .is_some_and(|first| indentation(line) < first + 4);
            let prose = ended.map_or(line, |(prose, _)| prose);
            if ended.is_some() {
                inside = None;
            }
            return if is_prose { prose } else { "" };
        }
        if let Some(comment) = line.trim_start().strip_prefix('#') {
            return if comment.starts_with('!') {
                ""
            } else {
                comment
            };
        }
        let quotes = ["\"\"\"", "'''"].map(|quotes| (line.find(quotes), quotes));
        let quotes = quotes.iter().filter_map(|(at, end)| Some((((*at)?), *end)));
        let Some((at, end)) = quotes.min() else {
            return "";
        };
        let is_docstring = line[..at].trim().is_empty();
        let rest = &line[at + end.len()..];
        let prose = match rest.split_once(end) {
            Some((prose, _)) => prose,
            None => {
                let docstring = is_docstring.then_some(at);
                inside = Some(Quoted { end, docstring });
                rest
            }
        };
        if is_docstring { prose } else { "" }
    });
    comments.collect()
}

fn c(text: &str) -> Vec<&str> {
    let mut inside = false;
    let comments = text.lines().map(|line| {
        let line = line.trim();
        let comment = if inside {
            line.strip_prefix('*')
                .filter(|rest| !rest.starts_with('/'))
                .unwrap_or(line)
        } else if let Some(comment) = line.strip_prefix("//") {
            return comment.trim_start_matches(['/', '!']);
        } else if let Some(comment) = line.strip_prefix("/*") {
            inside = true;
            comment.trim_start_matches(['*', '!'])
        } else {
            return "";
        };
        let ended = comment.split_once("*/");
        inside &= ended.is_none();
        // Lines further in are commands.
        let comment = ended.map_or(comment, |(comment, _)| comment);
        if indentation(comment) > 2 {
            ""
        } else {
            comment
        }
    });
    comments.collect()
}

/// The number of spaces with which a line begins.
fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_docstrings_are_found_and_no_texts_of_programs() {
        let python = "#!/usr/bin/env python3\n\"\"\"One.\n\n    command\nTwo.\n\"\"\"\n# Three.\nTEXT = \"\"\"\nfour\n# five\n\"\"\"\n\
                      def f():\n    '''Six.'''\n    x = 1  # seven\n    \"\"\"Eight\n    nine.\"\"\"\n";
        let expected = [
            "",
            "One.",
            "",
            "",
            "Two.",
            "",
            " Three.",
            "",
            "",
            "",
            "",
            "",
            "Six.",
            "",
            "Eight",
            "    nine.",
        ];
        assert_eq!(of("py", python), Some(expected.to_vec()));
        let c = "/* One. */\nint a; /* two */\n/** Three\n * four.\n *\n *     command\n */\nint b;\n// Five.\n/*\n  six */\n";
        let expected = [
            " One. ", "", " Three", " four.", "", "", "", "", " Five.", "", "six ",
        ];
        assert_eq!(of("h", c), Some(expected.to_vec()));
        assert_eq!(of("toml", "# One."), None);
    }
}

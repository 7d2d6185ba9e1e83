//! Doc comments that only repeat the name of their item, as "Its name." above `name: String` does.
//!
//! A comment of one line is counted if each of its words is known: from the item's line, or from the line that begins
//! the type, trait or `impl` around it. Articles, pronouns and the like do not count, and words with the same first four
//! letters are one. Comments with links say more than a name. Files that use clap are left out: there the comments are
//! texts of help.

/// Words that say nothing about an item.
const LITTLE: [&str; 40] = [
    "a", "all", "also", "an", "and", "any", "are", "as", "at", "be", "by", "each", "for", "from",
    "has", "if", "in", "into", "is", "it", "its", "number", "of", "on", "one", "or", "own",
    "return", "returns", "so", "that", "the", "their", "there", "these", "this", "to", "true",
    "was", "with",
];

/// Keywords that begin the line of a type, a trait or an implementation.
const CONTAINERS: [&str; 5] = ["struct ", "enum ", "trait ", "impl", "union "];

/// Such comments in a source of Rust: their lines, from 1, and the comments with their items.
pub fn places(text: &str) -> Vec<(usize, String)> {
    if text.contains("clap::") {
        return Vec::new();
    }
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut around = "";
    let mut places = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let item = line.strip_prefix("pub ").unwrap_or(line);
        if CONTAINERS.iter().any(|keyword| item.starts_with(keyword)) {
            around = item;
        }
        let is_doc = |place: Option<usize>| {
            place.is_some_and(|place| lines.get(place).is_some_and(|line| line.starts_with("///")))
        };
        let Some(comment) = line.strip_prefix("///") else {
            continue;
        };
        if is_doc(at.checked_sub(1)) || is_doc(Some(at + 1)) || comment.contains("[`") {
            continue;
        }
        if let Some(item) = item_of(&lines[at + 1..])
            && repeats(comment, item, around)
        {
            places.push((at + 1, format!("{} ({item})", comment.trim())));
        }
    }
    places
}

/// The first line behind the attributes.
fn item_of<'a>(mut lines: &[&'a str]) -> Option<&'a str> {
    while let [line, rest @ ..] = lines {
        if !line.starts_with("#[") {
            return Some(line);
        }
        lines = rest;
        let mut open = depth(line);
        while open > 0
            && let [line, rest @ ..] = lines
        {
            open += depth(line);
            lines = rest;
        }
    }
    None
}

/// Brackets that a line opens, less those that it closes.
fn depth(line: &str) -> i64 {
    let of = |bracket: char| match bracket {
        '[' | '(' => 1,
        ']' | ')' => -1,
        _ => 0,
    };
    line.chars().map(of).sum()
}

fn repeats(comment: &str, item: &str, around: &str) -> bool {
    let name = item.split('=').next().unwrap_or_default();
    let known: Vec<String> = words(name).chain(words(around)).collect();
    let said: Vec<String> = words(comment).collect();
    let is_known = |word: &String| {
        LITTLE.contains(&word.as_str()) || known.iter().any(|other| alike(word, other))
    };
    !said.is_empty() && said.iter().all(is_known)
}

/// The words of a text in lower case; `CamelCase` and `snake_case` have several.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut parted = String::new();
    for letter in text.chars() {
        if letter.is_uppercase() {
            parted.push(' ');
        }
        parted.push(if letter.is_alphanumeric() {
            letter
        } else {
            ' '
        });
    }
    let words: Vec<String> = parted.split_whitespace().map(str::to_lowercase).collect();
    words.into_iter()
}

fn alike(one: &str, other: &str) -> bool {
    let begin = |word: &str| word.chars().take(4).collect::<String>();
    one == other || one.chars().count() >= 4 && begin(one) == begin(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_that_says_only_the_name_is_counted() {
        let source = "/// A bank.\n#[derive(\n    Debug,\n)]\npub struct Bank {\n    /// Its name.\n    pub name: String,\n    \
                      /// In cents.\n    pub balance: i64,\n    /// The accounts, in order of their numbers.\n    accounts: u8,\n}\n\
                      impl Bank {\n    /// The number of accounts of the bank.\n    fn accounts(&self) {}\n    /// For a year,\n    \
                      /// closed accounts.\n    fn closed_accounts() {}\n    /// [`Bank`].\n    fn bank() {}\n}\n";
        let expected = [
            (1, "A bank. (pub struct Bank {)"),
            (6, "Its name. (pub name: String,)"),
            (
                14,
                "The number of accounts of the bank. (fn accounts(&self) {})",
            ),
        ];
        let expected = expected.map(|(line, text)| (line, text.to_string()));
        assert_eq!(places(source), expected);
        assert!(places(&format!("use clap::Args;\n{source}")).is_empty());
    }
}

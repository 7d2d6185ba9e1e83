//! The ends and the words of statements in a text that arrives line by line.
//!
//! A semicolon in a string, a quoted name, a comment, dollar quotes or parentheses does not end a statement. Nor does
//! one in the body of a procedure, between `BEGIN ATOMIC` and its `END`.
//!
//! Each byte is read once, however many lines and semicolons a statement has. Pieces are whole lines, so that no quote,
//! comment mark or tag is cut.
//!
//! Source: PostgreSQL's documentation, *SQL Syntax*, "Lexical Structure".

/// A statement, and its line in the input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statement {
    pub text: String,
    /// The number of its first line, from 1.
    pub line: usize,
}

impl Statement {
    /// A statement from no file.
    pub fn of(text: impl Into<String>) -> Statement {
        Statement {
            text: text.into(),
            line: 1,
        }
    }
}

/// Input that is not yet a whole statement.
#[derive(Debug)]
pub struct Pending {
    text: String,
    /// The start of the next statement, and the number of that line.
    start: usize,
    line: usize,
    /// Lines that were read after a place and are not part of the text: the data of a copy.
    skipped: Vec<(usize, usize)>,
    scanner: Scanner,
    nesting: Nesting,
    /// Only blanks and comments so far.
    blank: bool,
}

impl Default for Pending {
    fn default() -> Self {
        Pending {
            text: String::new(),
            start: 0,
            line: 1,
            skipped: Vec::new(),
            scanner: Scanner::default(),
            nesting: Nesting::default(),
            blank: true,
        }
    }
}

impl Pending {
    /// Adds whole lines, of which the last may have no end.
    pub fn push(&mut self, lines: &str) {
        if self.start > 0 {
            self.text.drain(..self.start);
            self.scanner.at -= self.start;
            for (at, _) in &mut self.skipped {
                *at -= self.start;
            }
            self.start = 0;
        }
        self.text.push_str(lines);
    }

    /// Counts lines that were read after the text and are not part of it.
    pub fn skip_lines(&mut self, lines: usize) {
        self.skipped.push((self.text.len(), lines));
    }

    /// Takes the first statement, with its semicolon; `None` if it is not complete.
    pub fn take(&mut self) -> Option<Statement> {
        while let Some(lexeme) = self.scanner.next(&self.text) {
            self.blank = false;
            if self.nesting.ends(lexeme) {
                return Some(self.take_up_to(self.scanner.at));
            }
        }
        None
    }

    /// Takes the rest, which has no semicolon; `None` if it has no statement.
    pub fn take_rest(&mut self) -> Option<Statement> {
        let is_blank = self.is_blank();
        let rest = self.take_up_to(self.text.len());
        (!is_blank).then_some(rest)
    }

    /// Returns true if only blanks and comments remain, once [`Pending::take`] has no more statements.
    pub fn is_blank(&self) -> bool {
        self.blank && self.scanner.inside == Inside::Nothing
    }

    fn take_up_to(&mut self, end: usize) -> Statement {
        let text = self.text.get(self.start..end).unwrap_or_default();
        let statement = text.trim_start();
        let before = text.len() - statement.len();
        let line = self.line + self.lines(self.start, self.start + before);
        let statement = statement.to_string();
        self.line += self.lines(self.start, end);
        self.skipped.retain(|(at, _)| *at > end);
        self.start = end;
        self.nesting = Nesting::default();
        self.blank = true;
        Statement {
            text: statement,
            line,
        }
    }

    /// The number of lines that end between two places.
    fn lines(&self, from: usize, to: usize) -> usize {
        let text = self.text.get(from..to).unwrap_or_default();
        let skipped = self.skipped.iter();
        let skipped =
            skipped.filter(|(at, _)| (from + 1..=to).contains(at) || *at == 0 && from == 0);
        text.matches('\n').count() + skipped.map(|(_, lines)| lines).sum::<usize>()
    }
}

/// Returns true if a text has only blanks and comments.
pub fn is_blank(text: &str) -> bool {
    let mut scanner = Scanner::default();
    scanner.next(text).is_none() && scanner.inside == Inside::Nothing
}

/// The words of a statement outside of parentheses, in capitals, without quoted names.
pub fn words(statement: &str) -> Vec<String> {
    let (mut scanner, mut depth, mut words) = (Scanner::default(), 0_i64, Vec::new());
    while let Some(lexeme) = scanner.next(statement) {
        match lexeme {
            Lexeme::Open => depth += 1,
            Lexeme::Close => depth -= 1,
            Lexeme::Word(word) if depth <= 0 => words.push(word.to_ascii_uppercase()),
            _ => {}
        }
    }
    words
}

/// Returns true if a statement with these words is `COPY … FROM STDIN`, which reads the following lines.
pub fn copies_in(words: &[String]) -> bool {
    copies(words, ["FROM", "STDIN"])
}

/// Returns true if a statement with these words is `COPY … TO STDOUT`.
#[cfg(any(test, feature = "shell"))]
pub fn copies_out(words: &[String]) -> bool {
    copies(words, ["TO", "STDOUT"])
}

fn copies(words: &[String], way: [&str; 2]) -> bool {
    words.first().is_some_and(|word| word == "COPY") && words.windows(2).any(|pair| pair == way)
}

/// A lexeme of a statement, as far as its end and its words need it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lexeme<'t> {
    Word(&'t str),
    Open,
    Close,
    Semicolon,
    /// Anything else except blanks and comments.
    Other,
}

/// The depth of parentheses and procedures' bodies.
#[derive(Debug, Default)]
struct Nesting {
    depth: i64,
    bodies: u32,
    cases: u32,
    begins: bool,
}

impl Nesting {
    /// Passes a lexeme. Returns true if it ends the statement.
    fn ends(&mut self, lexeme: Lexeme<'_>) -> bool {
        let begins = std::mem::take(&mut self.begins);
        match lexeme {
            Lexeme::Open => self.depth += 1,
            Lexeme::Close => self.depth -= 1,
            Lexeme::Semicolon => return self.depth <= 0 && self.bodies == 0,
            Lexeme::Other => {}
            Lexeme::Word(word) => {
                let is = |other: &str| word.eq_ignore_ascii_case(other);
                if is("begin") {
                    self.begins = true;
                } else if is("atomic") && begins {
                    self.bodies += 1;
                } else if is("case") && self.bodies > 0 {
                    self.cases += 1;
                } else if is("end") && self.cases > 0 {
                    self.cases -= 1;
                } else if is("end") && self.bodies > 0 {
                    self.bodies -= 1;
                }
            }
        }
        false
    }
}

/// The context of the next byte.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
enum Inside {
    #[default]
    Nothing,
    /// Between such quotes, in which a backslash may escape the next character.
    Quotes { quote: u8, escapes: bool },
    /// Up to this tag.
    Dollars(String),
    /// In so many nested comments.
    Comment(u32),
}

/// A scanner of a text that grows.
#[derive(Debug, Default)]
struct Scanner {
    at: usize,
    inside: Inside,
}

impl Scanner {
    /// The next lexeme; `None` at the end of the text so far.
    fn next<'t>(&mut self, text: &'t str) -> Option<Lexeme<'t>> {
        let bytes = text.as_bytes();
        loop {
            self.leave(text);
            let byte = *bytes.get(self.at)?;
            let rest = &bytes[self.at..];
            match byte {
                byte if byte.is_ascii_whitespace() => self.at += 1,
                b'-' if rest.starts_with(b"--") => {
                    let end = rest.iter().position(|byte| *byte == b'\n');
                    self.at = end.map_or(bytes.len(), |end| self.at + end);
                }
                b'/' if rest.starts_with(b"/*") => {
                    self.at += 2;
                    self.inside = Inside::Comment(1);
                }
                b'\'' | b'"' => return Some(self.quotes(byte, false)),
                b'$' => {
                    let tag = tag_of(rest).and_then(|length| text.get(self.at..self.at + length));
                    self.at += tag.map_or(1, str::len);
                    if let Some(tag) = tag {
                        self.inside = Inside::Dollars(tag.to_string());
                    }
                    return Some(Lexeme::Other);
                }
                byte if begins_word(byte) => {
                    let end = rest.iter().position(|byte| !is_in_word(*byte));
                    let end = end.map_or(bytes.len(), |end| self.at + end);
                    let word = text.get(self.at..end).unwrap_or_default();
                    self.at = end;
                    if word.eq_ignore_ascii_case("e") && bytes.get(end) == Some(&b'\'') {
                        return Some(self.quotes(b'\'', true));
                    }
                    return Some(Lexeme::Word(word));
                }
                byte => {
                    self.at += match byte {
                        // A number, with its exponent.
                        b'0'..=b'9' => rest.iter().take_while(|byte| is_in_word(**byte)).count(),
                        _ => 1,
                    };
                    return Some(match byte {
                        b'(' => Lexeme::Open,
                        b')' => Lexeme::Close,
                        b';' => Lexeme::Semicolon,
                        _ => Lexeme::Other,
                    });
                }
            }
        }
    }

    fn quotes<'t>(&mut self, quote: u8, escapes: bool) -> Lexeme<'t> {
        self.at += 1;
        self.inside = Inside::Quotes { quote, escapes };
        Lexeme::Other
    }

    /// Moves to the end of the current context, if the text has it.
    fn leave(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let end = match &mut self.inside {
            Inside::Nothing => return,
            Inside::Quotes { quote, escapes } => {
                let mut at = self.at;
                loop {
                    match bytes.get(at) {
                        None => break None,
                        Some(b'\\') if *escapes => at += 2,
                        // Twice, it is a quote of the text.
                        Some(byte) if byte == quote && bytes.get(at + 1) == Some(quote) => at += 2,
                        Some(byte) if byte == quote => break Some(at + 1),
                        Some(_) => at += 1,
                    }
                }
            }
            Inside::Dollars(tag) => {
                let rest = text.get(self.at..).unwrap_or_default();
                rest.find(&**tag).map(|found| self.at + found + tag.len())
            }
            Inside::Comment(depth) => {
                let mut at = self.at;
                loop {
                    match bytes.get(at..) {
                        None | Some([]) => break None,
                        Some([b'*', b'/', ..]) => {
                            *depth -= 1;
                            at += 2;
                            if *depth == 0 {
                                break Some(at);
                            }
                        }
                        Some([b'/', b'*', ..]) => {
                            *depth += 1;
                            at += 2;
                        }
                        Some(_) => at += 1,
                    }
                }
            }
        };
        self.at = end.unwrap_or(bytes.len());
        if end.is_some() {
            self.inside = Inside::Nothing;
        }
    }
}

fn begins_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || !byte.is_ascii()
}

fn is_in_word(byte: u8) -> bool {
    begins_word(byte) || byte.is_ascii_digit() || byte == b'$'
}

/// The length of a dollar quote's tag, with its dollars, if one begins here.
fn tag_of(rest: &[u8]) -> Option<usize> {
    let name = rest.get(1..)?;
    let length = name.iter().position(|byte| *byte == b'$')?;
    let (first, others) = match &name[..length] {
        [] => return Some(2),
        [first, others @ ..] => (first, others),
    };
    let all = begins_word(*first) && others.iter().all(|byte| is_in_word(*byte));
    all.then_some(length + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken_of(lines: &[&str]) -> Vec<String> {
        let (mut pending, mut all) = (Pending::default(), Vec::new());
        for line in lines {
            pending.push(line);
            while let Some(one) = pending.take() {
                all.push(one.text);
            }
        }
        all.push(pending.take_rest().map_or(String::new(), |rest| rest.text));
        all
    }

    /// Compares the text in one piece with the text line by line.
    fn taken(text: &str) -> Vec<String> {
        let whole = taken_of(&[text]);
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        assert_eq!(taken_of(&lines), whole);
        whole
    }

    #[test]
    fn statements_end_at_semicolons_that_stand_for_themselves() {
        assert_eq!(taken("select 1; select 2;"), ["select 1;", "select 2;", ""]);
        assert_eq!(taken("select 1"), ["select 1"]);
        assert_eq!(taken("select ';' ; x"), ["select ';' ;", "x"]);
        assert_eq!(taken("select 'a;"), ["select 'a;"]);
        assert_eq!(
            taken("select \";\", 1 -- ;\n;"),
            ["select \";\", 1 -- ;\n;", ""]
        );
        assert_eq!(taken("select 'a\n;b' ;"), ["select 'a\n;b' ;", ""]);
        assert_eq!(taken("select 'it''s;';"), ["select 'it''s;';", ""]);
        assert_eq!(taken("select '\\'; x;"), ["select '\\';", "x;", ""]);
        assert_eq!(taken("select E'\\';' ;"), ["select E'\\';' ;", ""]);
        assert_eq!(
            taken("select $a$ ;\n $b$ ; $a$;"),
            ["select $a$ ;\n $b$ ; $a$;", ""]
        );
        assert_eq!(taken("select $$ ; $$; x"), ["select $$ ; $$;", "x"]);
        assert_eq!(
            taken("select $1; select a$b$;"),
            ["select $1;", "select a$b$;", ""]
        );
        assert_eq!(taken("select (1\n; 2);"), ["select (1\n; 2);", ""]);
        assert_eq!(taken("select /* ; */ 1;"), ["select /* ; */ 1;", ""]);
        assert_eq!(
            taken("select /* /* ;\n */ ; */ 1;"),
            ["select /* /* ;\n */ ; */ 1;", ""]
        );
        let body =
            "create procedure p() begin atomic select case when true then 1 end; select 2; end;";
        assert_eq!(taken(&format!("{body} select 1;")), [body, "select 1;", ""]);
        assert_eq!(taken("begin; atomic;"), ["begin;", "atomic;", ""]);
    }

    #[test]
    fn each_byte_is_looked_at_once() {
        // If a statement were scanned again for each line or semicolon, this would take hours.
        let (mut pending, lines) = (Pending::default(), 200_000);
        pending.push("select '\n");
        for _ in 0..lines {
            pending.push("a line with ; and ;\n");
            assert_eq!(pending.take(), None);
        }
        pending.push("'; ");
        assert!(pending.take().is_some() && pending.is_blank());
        pending.push(&"x;".repeat(lines));
        let mut taken = 0;
        while pending.take().is_some() {
            taken += 1;
        }
        assert_eq!(taken, lines);
    }

    #[test]
    fn a_statement_knows_its_line() {
        let mut pending = Pending::default();
        let mut lines = Vec::new();
        pending.push("-- first\nselect 1; select\n");
        lines.extend(pending.take());
        pending.push("2;\n\n\ncopy t from stdin; x;\n");
        lines.extend(pending.take());
        lines.extend(pending.take());
        // Its data.
        pending.skip_lines(10);
        lines.extend(pending.take());
        pending.push("y;\n");
        lines.extend(pending.take());
        pending.skip_lines(5);
        pending.push("\n z");
        assert_eq!(pending.take(), None);
        lines.extend(pending.take_rest());
        let lines: Vec<(&str, usize)> = lines.iter().map(|one| (&*one.text, one.line)).collect();
        let expected = [
            ("-- first\nselect 1;", 1),
            ("select\n2;", 2),
            ("copy t from stdin;", 6),
            ("x;", 6),
            ("y;", 17),
            ("z", 24),
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn statements_that_read_what_follows() {
        let (reads, writes) = (
            |text| copies_in(&words(text)),
            |text| copies_out(&words(text)),
        );
        assert!(reads("copy t (a, b) from stdin with (format csv)"));
        assert!(reads("-- what\n/* and */ copy t\nfrom\n stdin"));
        assert!(!reads("copy t to stdout") && !reads("select 'copy from stdin'"));
        assert!(writes("copy t  to\n stdout") && writes("copy (select 1) to stdout"));
        assert!(!writes("copy t from stdin") && !writes("copy (x to stdout) from stdin"));
    }

    #[test]
    fn a_text_without_words_is_blank() {
        assert!(is_blank(" \n -- nothing\n/* nor here */ "));
        assert!(!is_blank(";") && !is_blank("x") && !is_blank("/* no end"));
        let mut pending = Pending::default();
        for (line, is_so) in [
            ("\n", true),
            ("/* a\n", false),
            ("*/\n", true),
            ("x\n", false),
        ] {
            pending.push(line);
            assert_eq!(pending.take(), None);
            assert_eq!(pending.is_blank(), is_so, "{line}");
        }
    }
}

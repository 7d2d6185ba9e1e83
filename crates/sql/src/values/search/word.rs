//! A word in the text of a `tsvector` or a `tsquery`: plain, or in quotes, with a backslash before each escaped
//! character.

use crate::error::{SqlError, code, shortened};

/// The most bytes of a word.
const BYTES_MAX: usize = 2046;

/// Checks a word of a new value.
///
/// # Errors
/// `54000` if it is too long, `2200F` if it is empty, `22021` if it has a zero.
pub(super) fn check_word(word: &str, kind: &str) -> Result<(), SqlError> {
    if word.len() > BYTES_MAX {
        let text = match kind {
            "tsquery" => format!("word is too long in tsquery: \"{}\"", shortened(word)),
            _ => format!(
                "word is too long ({} bytes, max {BYTES_MAX} bytes)",
                word.len()
            ),
        };
        return Err(SqlError::new(code::PROGRAM_LIMIT, text));
    }
    if word.is_empty() {
        let text = format!("a word of a {kind} is empty");
        return Err(SqlError::new("2200F", text));
    }
    match word.contains('\0') {
        true => {
            let text = "invalid byte sequence for encoding \"UTF8\": 0x00";
            Err(SqlError::new(code::INVALID_BYTES, text))
        }
        false => Ok(()),
    }
}

/// The text of a value that is being read.
pub(super) struct Reader<'t> {
    pub text: &'t str,
    pub at: usize,
    /// `tsvector` or `tsquery`.
    pub kind: &'static str,
}

impl Reader<'_> {
    pub fn next(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }

    pub fn step(&mut self) {
        self.at += self.next().map_or(0, char::len_utf8);
    }

    pub fn skip_blanks(&mut self) {
        while self.next().is_some_and(is_blank) {
            self.step();
        }
    }

    #[cold]
    pub fn wrong(&self) -> SqlError {
        SqlError::syntax({
            let text = shortened(self.text);
            format!("syntax error in {}: \"{text}\"", self.kind)
        })
    }

    /// The word here, which is not empty; none at the end of the text. In a question it ends before an operator, too.
    ///
    /// # Errors
    /// `42601`; `54000` if it is too long.
    pub fn word(&mut self) -> Result<Option<String>, SqlError> {
        self.skip_blanks();
        let is_question = self.kind == "tsquery";
        let is_operator = |c: char| is_question && matches!(c, '!' | '&' | '|' | '(' | ')' | '<');
        let mut word = String::new();
        match self.next() {
            None => return Ok(None),
            Some('\'') => self.quoted(&mut word)?,
            Some(first) if is_operator(first) => return Err(self.wrong()),
            Some(first) => {
                // The first character may be a colon.
                self.push(first, &mut word)?;
                while let Some(next) = self.next() {
                    if is_blank(next) || is_operator(next) || next == ':' {
                        break;
                    }
                    self.push(next, &mut word)?;
                }
            }
        }
        if word.is_empty() {
            return Err(self.wrong());
        }
        check_word(&word, self.kind)?;
        Ok(Some(word))
    }

    fn quoted(&mut self, word: &mut String) -> Result<(), SqlError> {
        self.step();
        loop {
            match self.next() {
                None => return Err(self.wrong()),
                Some('\'') => {
                    self.step();
                    if self.next() != Some('\'') {
                        return Ok(());
                    }
                    word.push('\'');
                    self.step();
                }
                Some(next) => self.push(next, word)?,
            }
        }
    }

    /// Takes a character, or an escaped one.
    fn push(&mut self, mut next: char, word: &mut String) -> Result<(), SqlError> {
        if next == '\\' {
            self.step();
            next = self.next().ok_or_else(|| {
                let text = format!("there is no escaped character: \"{}\"", self.text);
                SqlError::syntax(text)
            })?;
        }
        word.push(next);
        self.step();
        Ok(())
    }
}

/// True for a blank of glibc's locale C.UTF-8: Unicode's blanks, without those that do not break a line and U+0085.
pub(super) fn is_blank(character: char) -> bool {
    let is_other = matches!(character, '\u{85}' | '\u{a0}' | '\u{2007}' | '\u{202f}');
    character.is_whitespace() && !is_other
}

/// Appends a word in quotes.
pub(super) fn push_quoted(word: &str, out: &mut String) {
    out.push('\'');
    for character in word.chars() {
        if matches!(character, '\'' | '\\') {
            out.push(character);
        }
        out.push(character);
    }
    out.push('\'');
}

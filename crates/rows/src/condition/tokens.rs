//! The words and signs of a condition's text.

use super::ConditionError;

/// A word or sign, and where it begins and ends.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Spanned {
    pub at: usize,
    pub end: usize,
    pub token: Token,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token {
    /// A word of the language, or a column.
    Word(String),
    /// A column, in double quotes.
    Quoted(String),
    /// A text in single quotes.
    Text(String),
    /// Digits, perhaps with a point or an exponent.
    Number(String),
    /// Operators, parentheses, comma.
    Sign(&'static str),
    End,
}

/// Longer ones first.
const SIGNS: [&str; 11] = ["<=", ">=", "<>", "!=", "=", "<", ">", "(", ")", ",", "-"];

/// Returns true if a name is a word without quotes.
#[inline]
pub(super) fn is_word(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(begins_word) && characters.all(continues_word)
}

fn begins_word(character: char) -> bool {
    character == '_' || character.is_alphabetic()
}

fn continues_word(character: char) -> bool {
    begins_word(character) || character == '.' || character.is_numeric()
}

/// Splits a text.
pub(super) fn tokens(text: &str) -> Result<Vec<Spanned>, ConditionError> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let at = text.len() - rest.len();
        let (token, after) = next(rest, at)?;
        let ended = token == Token::End;
        let end = text.len() - after.len();
        tokens.push(Spanned { at, end, token });
        if ended {
            return Ok(tokens);
        }
        rest = after;
    }
}

fn next(rest: &str, at: usize) -> Result<(Token, &str), ConditionError> {
    let Some(first) = rest.chars().next() else {
        return Ok((Token::End, rest));
    };
    if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
        return Ok((
            Token::Sign(sign),
            rest.strip_prefix(sign).unwrap_or_default(),
        ));
    }
    if begins_word(first) {
        let (word, rest) = split(rest, |_, next| !continues_word(next));
        return Ok((Token::Word(word.to_string()), rest));
    }
    if first.is_ascii_digit() || first == '.' {
        let (number, rest) = split(rest, |before, next| {
            let of_exponent = matches!(next, '+' | '-') && matches!(before, 'e' | 'E');
            !(next.is_alphanumeric() || next == '.' || of_exponent)
        });
        return Ok((Token::Number(number.to_string()), rest));
    }
    match first {
        '\'' => quoted(rest, first, at).map(|(text, rest)| (Token::Text(text), rest)),
        '"' => quoted(rest, first, at).map(|(name, rest)| (Token::Quoted(name), rest)),
        _ => Err(ConditionError::Syntax {
            at,
            expected: "a column, a literal or an operator",
            found: format!("{first:?}"),
        }),
    }
}

/// Splits before the first character that ends the part, given the one before it.
fn split(text: &str, ends: impl Fn(char, char) -> bool) -> (&str, &str) {
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        if ends(before, character) {
            return text.split_at(at);
        }
        before = character;
    }
    (text, "")
}

/// Reads the content between quotes, in which each quote is doubled.
fn quoted(text: &str, quote: char, at: usize) -> Result<(String, &str), ConditionError> {
    let mut content = String::new();
    let mut characters = text.chars();
    characters.next();
    loop {
        match characters.next() {
            Some(character) if character == quote => {
                if !characters.as_str().starts_with(quote) {
                    return Ok((content, characters.as_str()));
                }
                characters.next();
                content.push(quote);
            }
            Some(character) => content.push(character),
            None => {
                return Err(ConditionError::Syntax {
                    at,
                    expected: "a closing quote",
                    found: "the end".to_string(),
                });
            }
        }
    }
}

//! `RAISE` in blocks: a message, or an error.

use super::Reader;
use crate::conditions::{Caught, condition_of};
use crate::error::SqlError;
use sqlparser::tokenizer::Token;

/// A message or an error. Without a message it raises the handled error again.
#[derive(Debug, Default)]
pub(crate) struct Raise {
    /// `NOTICE`, `WARNING`, `EXCEPTION`, …
    pub level: &'static str,
    pub format: Option<String>,
    pub arguments: Vec<String>,
    /// The code given by `USING`, or by the name of a condition.
    pub code: Option<&'static str>,
    pub detail: Option<String>,
    pub hint: Option<String>,
}

impl Reader<'_> {
    /// `RAISE`, behind that word.
    pub(super) fn raise(&mut self) -> Result<Raise, SqlError> {
        let levels = ["DEBUG", "LOG", "INFO", "NOTICE", "WARNING", "EXCEPTION"];
        let level = levels.iter().find(|level| self.accept_word(level));
        let mut raise = Raise {
            level: level.copied().unwrap_or("EXCEPTION"),
            ..Raise::default()
        };
        match self.peek() {
            Some(Token::SingleQuotedString(format)) => {
                raise.format = Some(format.clone());
                self.at += 1;
                while self.accept(&Token::Comma) {
                    raise.arguments.push(self.text_to(&["USING"], true)?);
                }
            }
            Some(Token::Word(word)) if !self.is("USING") => {
                let name = word.value.to_ascii_lowercase();
                let Caught::Code(code) = self.condition()? else {
                    return Err(self.wrong());
                };
                raise.code = Some(crate::conditions::known(&code)?);
                raise.format = Some(match name.as_str() {
                    "sqlstate" => code,
                    _ => name,
                });
            }
            _ => {}
        }
        if self.accept_word("USING") {
            loop {
                let option = match self.peek() {
                    Some(Token::Word(word)) => word.value.to_ascii_lowercase(),
                    _ => return Err(self.wrong()),
                };
                self.at += 1;
                if !self.accept(&Token::Eq) && !self.accept(&Token::Assignment) {
                    return Err(self.wrong());
                }
                if option == "errcode" {
                    raise.code = Some(self.code()?);
                } else {
                    let value = self.text_to(&[], true)?;
                    match option.as_str() {
                        "message" => {
                            raise.format = Some("%".into());
                            raise.arguments = vec![value];
                        }
                        "detail" => raise.detail = Some(value),
                        "hint" => raise.hint = Some(value),
                        other => {
                            let text = format!("RAISE … USING {other} is not supported");
                            return Err(SqlError::unsupported(text));
                        }
                    }
                }
                if !self.accept(&Token::Comma) {
                    break;
                }
            }
        }
        let places = raise.format.as_deref().map_or(0, places_of);
        match places.cmp(&raise.arguments.len()) {
            std::cmp::Ordering::Less => {
                Err(SqlError::syntax("too many parameters specified for RAISE"))
            }
            std::cmp::Ordering::Greater => {
                Err(SqlError::syntax("too few parameters specified for RAISE"))
            }
            std::cmp::Ordering::Equal => Ok(raise),
        }
    }

    /// The code of `USING ERRCODE = 'name or five characters'`.
    fn code(&mut self) -> Result<&'static str, SqlError> {
        let Some(Token::SingleQuotedString(word)) = self.peek() else {
            return Err(SqlError::unsupported(
                "ERRCODE is a text in quotes in blocks",
            ));
        };
        let code = match condition_of(word) {
            Some(Caught::Code(code)) => code,
            _ => word.clone(),
        };
        self.at += 1;
        crate::conditions::known(&code)
    }
}

/// The number of arguments of a format: `%%` is a sign.
fn places_of(format: &str) -> usize {
    format.replace("%%", "").matches('%').count()
}

/// A format with its arguments in the places of `%`; `%%` is the sign itself.
pub(crate) fn filled(format: &str, arguments: Vec<String>) -> String {
    let mut arguments = arguments.into_iter();
    let mut text = String::with_capacity(format.len());
    let mut characters = format.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '%' if characters.next_if_eq(&'%').is_some() => text.push('%'),
            '%' => text.push_str(&arguments.next().unwrap_or_default()),
            character => text.push(character),
        }
    }
    text
}

//! The lines that bodies of functions have beside those of `DO`: variables, results, and loops.

use super::{Block, Line, NESTING_MAX, Reader, reader_of};
use crate::error::{SqlError, code};
use crate::types::SqlType;
use sqlparser::tokenizer::Token;

/// A variable of a block. Texts are SQL.
#[derive(Debug)]
pub(crate) struct Variable {
    pub name: String,
    /// Its type; `None` for a record, which gets its columns from a query.
    pub kind: Option<String>,
    pub value: Option<String>,
    pub is_constant: bool,
    pub is_not_null: bool,
}

/// A variable that gets a value, or a field of one.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Target {
    pub name: String,
    pub field: Option<String>,
}

/// Reads the body of a function in plpgsql.
///
/// # Errors
/// `42601`; `0A000` for syntax that functions do not support.
pub(crate) fn parse_routine(body: &str) -> Result<Block, SqlError> {
    let mut reader = reader_of(body)?;
    reader.is_routine = true;
    let block = reader.block(0)?;
    reader.accept(&Token::SemiColon);
    match reader.peek() {
        None => Ok(block),
        Some(_) => Err(reader.wrong()),
    }
}

impl Reader<'_> {
    /// The variables of a block, behind `DECLARE`.
    pub(super) fn variables(&mut self) -> Result<Vec<Variable>, SqlError> {
        let mut found: Vec<Variable> = Vec::new();
        while !self.is("BEGIN") {
            let name = self.name()?;
            if found.iter().any(|there| there.name == name) {
                let text = format!("duplicate declaration: \"{name}\"");
                return Err(SqlError::syntax(text));
            }
            if self.is("ALIAS") || self.is("CURSOR") {
                return Err(SqlError::unsupported(
                    "ALIAS and CURSOR are not supported in functions",
                ));
            }
            let is_constant = self.accept_word("CONSTANT");
            let kind = self.text_where(&|reader, token| {
                matches!(token, Token::Assignment | Token::Eq)
                    || reader.is("DEFAULT")
                    || reader.is("NOT")
            })?;
            let is_not_null = self.accept_word("NOT");
            if is_not_null {
                self.expect_word("NULL")?;
            }
            let has_value = self.accept(&Token::Assignment)
                || self.accept(&Token::Eq)
                || self.accept_word("DEFAULT");
            let value = match has_value {
                true => Some(self.text_to(&[], false)?),
                false => None,
            };
            self.end_of_line()?;
            let is_record = kind.eq_ignore_ascii_case("record");
            // A name of another kind may be that of a table.
            let lower = kind.to_ascii_lowercase();
            if is_record || lower.ends_with("%rowtype") || SqlType::named(&lower).is_none() {
                self.records.push(name.clone());
            }
            found.push(Variable {
                name,
                kind: (!is_record).then_some(kind),
                value,
                is_constant,
                is_not_null,
            });
        }
        Ok(found)
    }

    /// A line that only functions have; `None` for another one.
    pub(super) fn line_of_routine(&mut self, depth: usize) -> Result<Option<Line>, SqlError> {
        let refused = [
            "FOREACH", "OPEN", "FETCH", "MOVE", "CLOSE", "ASSERT", "CASE", "EXECUTE", "CALL",
        ];
        if let Some(word) = refused.iter().find(|word| self.is(word)) {
            let text = format!("{word} is not supported in functions");
            return Err(SqlError::unsupported(text));
        }
        if self.accept_word("WHILE") {
            let condition = self.text_to(&["LOOP"], false)?;
            let lines = self.looped(depth)?;
            return Ok(Some(Line::While { condition, lines }));
        }
        if self.is("LOOP") {
            let lines = self.looped(depth)?;
            return Ok(Some(Line::Loop(lines)));
        }
        if self.is("EXIT") || self.is("CONTINUE") {
            let continues = self.is("CONTINUE");
            self.at += 1;
            let when = match self.accept_word("WHEN") {
                true => Some(self.text_to(&[], false)?),
                false => None,
            };
            self.end_of_line()?;
            return Ok(Some(Line::Leave { continues, when }));
        }
        if self.accept_word("GET") {
            self.accept_word("CURRENT");
            self.expect_word("DIAGNOSTICS")?;
            let target = self.target()?;
            if !self.accept(&Token::Eq) && !self.accept(&Token::Assignment) {
                return Err(self.wrong());
            }
            if !self.accept_word("ROW_COUNT") {
                return Err(SqlError::unsupported(
                    "GET DIAGNOSTICS knows ROW_COUNT only in functions",
                ));
            }
            self.end_of_line()?;
            return Ok(Some(Line::Diagnostics(target)));
        }
        if self.accept_word("RETURN") {
            return self.given().map(Some);
        }
        let is_assignment = |reader: &Reader<'_>, ahead: usize| {
            let token = reader.tokens.get(reader.at + ahead);
            matches!(token, Some((Token::Assignment | Token::Eq, ..)))
        };
        let is_field = matches!(self.tokens.get(self.at + 1), Some((Token::Period, ..)));
        let is_name = matches!(self.peek(), Some(Token::Word(_)));
        if is_name && (is_assignment(self, 1) || is_field && is_assignment(self, 3)) {
            let target = self.target()?;
            self.at += 1;
            let value = self.text_to(&[], false)?;
            self.end_of_line()?;
            return Ok(Some(Line::Assign { target, value }));
        }
        self.with_targets()
    }

    /// The lines of a loop, from the word `LOOP` on.
    pub(super) fn looped(&mut self, depth: usize) -> Result<Vec<Line>, SqlError> {
        if depth > NESTING_MAX {
            let text = format!("loops may be nested {NESTING_MAX} deep");
            return Err(SqlError::new(code::TOO_COMPLEX, text));
        }
        self.expect_word("LOOP")?;
        let lines = self.lines(depth, &["END"])?;
        self.expect_word("END")?;
        self.expect_word("LOOP")?;
        self.end_of_line()?;
        Ok(lines)
    }

    /// `FOR i IN a .. b`, behind `IN`.
    pub(super) fn counted(&mut self, variable: String, depth: usize) -> Result<Line, SqlError> {
        let is_reverse = self.accept_word("REVERSE");
        let range = self.text_to(&["BY", "LOOP"], false)?;
        // The tokenizer takes the two points with a number before them.
        let Some((from, to)) = range.split_once("..") else {
            return Err(SqlError::unsupported(
                "FOR is supported in functions over numbers and the rows of a query only",
            ));
        };
        let step = match self.accept_word("BY") {
            true => Some(self.text_to(&["LOOP"], false)?),
            false => None,
        };
        let lines = self.looped(depth)?;
        Ok(Line::Count {
            variable,
            from: from.trim().to_string(),
            to: to.trim().to_string(),
            step,
            is_reverse,
            lines,
        })
    }

    /// The result, behind `RETURN`.
    fn given(&mut self) -> Result<Line, SqlError> {
        let line = if self.accept_word("QUERY") {
            if self.is("EXECUTE") {
                let text = "RETURN QUERY EXECUTE is not supported in functions";
                return Err(SqlError::unsupported(text));
            }
            Line::GiveRows(self.text_to(&[], false)?)
        } else if self.accept_word("NEXT") {
            Line::GiveNext(match self.peek() {
                Some(Token::SemiColon) => None,
                _ => Some(self.text_to(&[], false)?),
            })
        } else {
            Line::Give(match self.peek() {
                Some(Token::SemiColon) => None,
                _ => Some(self.text_to(&[], false)?),
            })
        };
        self.end_of_line()?;
        Ok(line)
    }

    fn target(&mut self) -> Result<Target, SqlError> {
        let name = self.name()?;
        let field = match self.accept(&Token::Period) {
            true => Some(self.name()?),
            false => None,
        };
        Ok(Target { name, field })
    }

    /// A statement with `INTO` and variables; `None` for another line.
    fn with_targets(&mut self) -> Result<Option<Line>, SqlError> {
        let begins = ["SELECT", "WITH", "INSERT", "UPDATE", "DELETE"];
        if !begins.iter().any(|word| self.is(word)) {
            return Ok(None);
        }
        let (begin, mut depth, mut at) = (self.at, 0_usize, None);
        while let Some(token) = self.peek() {
            match token {
                Token::SemiColon if depth == 0 => break,
                Token::LParen | Token::LBracket => depth += 1,
                Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
                Token::Word(_) if depth == 0 && at.is_none() && self.is("INTO") => {
                    let before = self.tokens.get(self.at.wrapping_sub(1));
                    let is_of_insert = matches!(before, Some((Token::Word(word), ..))
                        if word.value.eq_ignore_ascii_case("insert"));
                    at = (!is_of_insert).then_some(self.at);
                }
                _ => {}
            }
            self.at += 1;
        }
        let (Some(place), end) = (at, self.at) else {
            self.at = begin;
            return Ok(None);
        };
        self.at = place + 1;
        let is_strict = self.accept_word("STRICT");
        let mut targets = vec![self.target()?];
        while self.accept(&Token::Comma) {
            targets.push(self.target()?);
        }
        let behind = self.at;
        let part = |from: usize, to: usize| {
            let first = self.tokens.get(from).map(|(_, from, _)| *from);
            let last = self.tokens.get(to.wrapping_sub(1)).map(|(.., to)| *to);
            match (from < to, first, last) {
                (true, Some(first), Some(last)) => self.body.get(first..last).unwrap_or_default(),
                _ => "",
            }
        };
        let text = format!("{} {}", part(begin, place), part(behind, end));
        self.at = end;
        self.end_of_line()?;
        Ok(Some(Line::Into {
            text,
            targets,
            is_strict,
        }))
    }
}

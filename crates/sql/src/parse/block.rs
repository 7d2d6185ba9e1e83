//! `DO`, and bodies of functions: a block of PL/pgSQL that runs statements in order, tests conditions and catches errors.
//!
//! Frameworks and migrations write such blocks around definitions of objects that may exist already, and over rows of the
//! catalogue. A block here has statements of SQL, `PERFORM`, `EXECUTE`, `IF`, `RAISE`, `RETURN`, `NULL` and nested blocks. It
//! has `FOR` over the rows of a query, with a variable of the type `record`. Other variables and loops are refused by name,
//! so that a block's length and its queries' rows bound its work. Bodies of functions have more ([`routine`]).

mod raise;
mod routine;

pub(crate) use raise::{Raise, filled};
pub(crate) use routine::{Target, Variable, parse_routine};

use crate::conditions::{Caught, condition_of};
use crate::error::{SqlError, code};
use crate::lexer::placed;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

/// The limit of nested blocks and `IF`.
const NESTING_MAX: usize = 32;
/// The most lines of a block.
const LINES_MAX: usize = 10_000;

/// Statements, and the handlers of their errors.
#[derive(Debug, Default)]
pub(crate) struct Block {
    /// The variables of a function.
    pub variables: Vec<Variable>,
    pub lines: Vec<Line>,
    pub handlers: Vec<Handler>,
}

/// Lines that run after certain errors.
#[derive(Debug)]
pub(crate) struct Handler {
    pub catches: Vec<Caught>,
    pub lines: Vec<Line>,
}

/// One statement of a block. Texts are SQL.
#[derive(Debug)]
pub(crate) enum Line {
    /// A statement.
    Sql(String),
    /// A query whose rows are dropped.
    Perform(String),
    /// A statement in the text of an expression.
    Execute(String),
    /// The first branch with a true condition runs, or else the last one.
    If {
        branches: Vec<(String, Vec<Line>)>,
        otherwise: Vec<Line>,
    },
    /// The lines run for each row of a query.
    For {
        variable: String,
        query: String,
        lines: Vec<Line>,
    },
    Raise(Raise),
    Return,
    /// `RETURN` of a function, with an expression.
    Give(Option<String>),
    /// `RETURN QUERY`
    GiveRows(String),
    /// `RETURN NEXT`, with an expression.
    GiveNext(Option<String>),
    Assign {
        target: Target,
        value: String,
    },
    /// A statement whose first row goes into variables.
    Into {
        text: String,
        targets: Vec<Target>,
        is_strict: bool,
    },
    While {
        condition: String,
        lines: Vec<Line>,
    },
    Loop(Vec<Line>),
    /// The lines run for each number of a range.
    Count {
        variable: String,
        from: String,
        to: String,
        step: Option<String>,
        is_reverse: bool,
        lines: Vec<Line>,
    },
    /// `EXIT`, or `CONTINUE`, with a condition.
    Leave {
        continues: bool,
        when: Option<String>,
    },
    /// `GET DIAGNOSTICS … = ROW_COUNT`
    Diagnostics(Target),
    Block(Block),
}

/// True if the next statement is `DO`.
pub(crate) fn is_do(parser: &Parser<'_>) -> bool {
    matches!(&parser.peek_token_ref().token, Token::Word(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("do"))
}

/// Reads `DO`, with which the parser is to begin, up to its end.
///
/// # Errors
/// `42601`; `0A000` for another language, and for syntax that blocks do not support.
pub(crate) fn parse_do(parser: &mut Parser<'_>) -> Result<Block, SqlError> {
    parser.next_token();
    let (mut body, mut language) = (None, None);
    loop {
        let redundant = || SqlError::syntax("conflicting or redundant options");
        let word = match &parser.peek_token_ref().token {
            Token::DollarQuotedString(quoted) => Some(quoted.value.clone()),
            Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) => {
                Some(text.clone())
            }
            Token::Word(word) if word.value.eq_ignore_ascii_case("language") => None,
            _ => break,
        };
        parser.next_token();
        let is_second = match word {
            Some(word) => body.replace(word).is_some(),
            None => {
                let name = parser.parse_identifier();
                language
                    .replace(name.map_err(|error| SqlError::syntax(error.to_string()))?)
                    .is_some()
            }
        };
        if is_second {
            return Err(redundant());
        }
    }
    if let Some(language) = language
        && !language.value.eq_ignore_ascii_case("plpgsql")
    {
        return Err(SqlError::unsupported(format!(
            "the language {language} is not supported: blocks are in plpgsql"
        )));
    }
    let body = body.ok_or_else(|| SqlError::syntax("no inline code specified"))?;
    parse_body(&body)
}

fn parse_body(body: &str) -> Result<Block, SqlError> {
    let mut reader = reader_of(body)?;
    let block = reader.block(0)?;
    reader.accept(&Token::SemiColon);
    match reader.peek() {
        None => Ok(block),
        Some(_) => Err(reader.wrong()),
    }
}

fn reader_of(body: &str) -> Result<Reader<'_>, SqlError> {
    let tokens = placed(body).map_err(|error| SqlError::syntax(error.message))?;
    let tokens = tokens.into_iter().filter(|token| !token.is_blank());
    Ok(Reader {
        body,
        tokens: tokens
            .map(|one| (one.token, one.at.start, one.at.end))
            .collect(),
        at: 0,
        lines: 0,
        records: Vec::new(),
        looped: Vec::new(),
        is_routine: false,
    })
}

struct Reader<'b> {
    body: &'b str,
    /// With their first byte, and the one behind.
    tokens: Vec<(Token, usize, usize)>,
    at: usize,
    lines: usize,
    /// The variables of the blocks around a line.
    records: Vec<String>,
    /// The places there of those that have the rows of the loops around a line.
    looped: Vec<usize>,
    /// True in the body of a function.
    is_routine: bool,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, ..)| token)
    }

    /// True if a token is this word, which is in upper case.
    fn is_at(&self, ahead: usize, wanted: &str) -> bool {
        matches!(self.tokens.get(self.at + ahead), Some((Token::Word(word), ..))
            if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
    }

    fn is(&self, wanted: &str) -> bool {
        self.is_at(0, wanted)
    }

    fn accept_word(&mut self, wanted: &str) -> bool {
        let is = self.is(wanted);
        self.at += usize::from(is);
        is
    }

    fn accept(&mut self, wanted: &Token) -> bool {
        let is = self.peek() == Some(wanted);
        self.at += usize::from(is);
        is
    }

    fn wrong(&self) -> SqlError {
        match self.tokens.get(self.at) {
            Some((_, from, to)) => {
                let found = self.body.get(*from..*to).unwrap_or_default();
                SqlError::syntax(format!("syntax error at or near \"{found}\""))
            }
            None => SqlError::syntax("syntax error at end of input"),
        }
    }

    fn expect_word(&mut self, wanted: &str) -> Result<(), SqlError> {
        match self.accept_word(wanted) {
            true => Ok(()),
            false => Err(self.wrong()),
        }
    }

    fn end_of_line(&mut self) -> Result<(), SqlError> {
        match self.accept(&Token::SemiColon) {
            true => Ok(()),
            false => Err(self.wrong()),
        }
    }

    /// The text up to one of these words, or to an end of the line, outside of parentheses and `CASE`.
    fn text_to(&mut self, ends: &[&str], also_comma: bool) -> Result<String, SqlError> {
        self.text_where(&|reader, token| match token {
            Token::Comma => also_comma,
            Token::Word(_) => ends.iter().any(|end| reader.is(end)),
            _ => false,
        })
    }

    /// The text up to an end of the line, or a token for which `ends` holds.
    fn text_where(&mut self, ends: &dyn Fn(&Self, &Token) -> bool) -> Result<String, SqlError> {
        let from = self.tokens.get(self.at).map(|(_, from, _)| *from);
        let (mut depth, mut to) = (0usize, None);
        while let Some((token, _, end)) = self.tokens.get(self.at) {
            let is_outside = depth == 0;
            let is_end = *token == Token::SemiColon || ends(self, token);
            if is_outside && is_end {
                break;
            }
            match token {
                Token::LParen | Token::LBracket => depth += 1,
                Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
                Token::Word(_) if self.is("CASE") => depth += 1,
                Token::Word(_) if self.is("END") => depth = depth.saturating_sub(1),
                _ => {}
            }
            to = Some(*end);
            self.at += 1;
        }
        match (from, to) {
            (Some(from), Some(to)) => Ok(self.body.get(from..to).unwrap_or_default().to_string()),
            _ => Err(self.wrong()),
        }
    }

    /// `BEGIN … END`, perhaps with a label and declarations.
    fn block(&mut self, depth: usize) -> Result<Block, SqlError> {
        if depth > NESTING_MAX {
            let text = format!("blocks may be nested {NESTING_MAX} deep");
            return Err(SqlError::new(code::TOO_COMPLEX, text));
        }
        let around = self.records.len();
        let mut variables = Vec::new();
        if self.accept_word("DECLARE") {
            match self.is_routine {
                true => variables = self.variables()?,
                false => self.declarations()?,
            }
        }
        if self.peek() == Some(&Token::ShiftLeft) {
            return Err(SqlError::unsupported("labels are not supported in blocks"));
        }
        self.expect_word("BEGIN")?;
        let lines = self.lines(depth, &["EXCEPTION", "END"])?;
        let mut handlers = Vec::new();
        if self.accept_word("EXCEPTION") {
            while self.accept_word("WHEN") {
                let mut catches = vec![self.condition()?];
                while self.accept_word("OR") {
                    catches.push(self.condition()?);
                }
                self.expect_word("THEN")?;
                let lines = self.lines(depth, &["WHEN", "END"])?;
                handlers.push(Handler { catches, lines });
            }
            if handlers.is_empty() {
                return Err(self.wrong());
            }
        }
        self.expect_word("END")?;
        self.records.truncate(around);
        Ok(Block {
            variables,
            lines,
            handlers,
        })
    }

    /// The variables of a block, behind `DECLARE`.
    fn declarations(&mut self) -> Result<(), SqlError> {
        while !self.is("BEGIN") {
            let name = self.name()?;
            if !self.accept_word("RECORD") || !self.accept(&Token::SemiColon) {
                return Err(SqlError::unsupported(
                    "variables (DECLARE) are not supported in blocks, but for those of the type record",
                ));
            }
            self.records.push(name);
        }
        Ok(())
    }

    /// A name, in lower case if it has no quotes.
    fn name(&mut self) -> Result<String, SqlError> {
        let Some(Token::Word(word)) = self.peek() else {
            return Err(self.wrong());
        };
        let name = match word.quote_style {
            Some(_) => word.value.clone(),
            None => word.value.to_lowercase(),
        };
        self.at += 1;
        Ok(name)
    }

    /// `FOR` over the rows of a query, behind that word.
    fn rows(&mut self, depth: usize) -> Result<Line, SqlError> {
        if depth > NESTING_MAX {
            let text = format!("loops may be nested {NESTING_MAX} deep");
            return Err(SqlError::new(code::TOO_COMPLEX, text));
        }
        let variable = self.name()?;
        self.expect_word("IN")?;
        let is_parenthesis = |(token, ..): &&(Token, usize, usize)| *token == Token::LParen;
        let ahead = self.tokens.iter().skip(self.at);
        let ahead = ahead.take_while(is_parenthesis).count();
        let queries = ["SELECT", "WITH", "VALUES", "TABLE"];
        if self.is_routine && !queries.iter().any(|word| self.is_at(ahead, word)) {
            return self.counted(variable, depth);
        }
        if !queries.iter().any(|word| self.is_at(ahead, word)) {
            return Err(SqlError::unsupported(
                "FOR is supported in blocks over the rows of a query only",
            ));
        }
        let query = self.text_to(&["LOOP"], false)?;
        self.expect_word("LOOP")?;
        let place = self.records.iter().rposition(|name| *name == variable);
        let place = place.ok_or_else(|| {
            SqlError::syntax(
                "loop variable of loop over rows must be a record variable or list of scalar variables",
            )
        })?;
        if self.looped.contains(&place) {
            return Err(SqlError::unsupported(format!(
                "FOR over the variable \"{variable}\" of a loop around it is not supported in blocks"
            )));
        }
        self.looped.push(place);
        let lines = self.lines(depth, &["END"])?;
        self.looped.pop();
        self.expect_word("END")?;
        self.expect_word("LOOP")?;
        self.end_of_line()?;
        Ok(Line::For {
            variable,
            query,
            lines,
        })
    }

    fn condition(&mut self) -> Result<Caught, SqlError> {
        let is_code = self.accept_word("SQLSTATE");
        let word = match self.peek() {
            Some(Token::SingleQuotedString(code)) if is_code => code.clone(),
            Some(Token::Word(word)) if !is_code => word.value.to_ascii_lowercase(),
            _ => return Err(self.wrong()),
        };
        self.at += 1;
        if is_code {
            return Ok(Caught::Code(word));
        }
        condition_of(&word).ok_or_else(|| {
            let text = format!("unrecognized exception condition \"{word}\"");
            SqlError::new(code::UNKNOWN_OBJECT, text)
        })
    }

    fn lines(&mut self, depth: usize, ends: &[&str]) -> Result<Vec<Line>, SqlError> {
        let mut lines = Vec::new();
        while !ends.iter().any(|end| self.is(end)) {
            self.lines += 1;
            if self.lines > LINES_MAX {
                let text = format!("a block has at most {LINES_MAX} lines");
                return Err(SqlError::new(code::PROGRAM_LIMIT, text));
            }
            lines.extend(self.line(depth)?);
        }
        Ok(lines)
    }

    /// One line; none for `NULL`.
    fn line(&mut self, depth: usize) -> Result<Option<Line>, SqlError> {
        if self.is("BEGIN") || self.is("DECLARE") {
            let block = self.block(depth + 1)?;
            self.end_of_line()?;
            return Ok(Some(Line::Block(block)));
        }
        if self.accept_word("IF") {
            return self.branches(depth + 1).map(Some);
        }
        if self.accept_word("FOR") {
            return self.rows(depth + 1).map(Some);
        }
        if self.is_routine
            && let Some(line) = self.line_of_routine(depth + 1)?
        {
            return Ok(Some(line));
        }
        let refused = [
            "LOOP", "WHILE", "FOREACH", "EXIT", "CONTINUE", "OPEN", "GET", "ASSERT", "CASE",
        ];
        if let Some(word) = refused.iter().find(|word| self.is(word)) {
            let text = format!("{word} is not supported in blocks");
            return Err(SqlError::unsupported(text));
        }
        let line = if self.is("NULL")
            && matches!(self.tokens.get(self.at + 1), Some((Token::SemiColon, ..)))
        {
            self.at += 1;
            None
        } else if self.accept_word("RETURN") {
            Some(Line::Return)
        } else if self.accept_word("PERFORM") {
            Some(Line::Perform(self.text_to(&[], false)?))
        } else if self.accept_word("EXECUTE") {
            let text = self.text_to(&["USING", "INTO"], false)?;
            if self.is("USING") || self.is("INTO") {
                return Err(SqlError::unsupported(
                    "EXECUTE has neither INTO nor USING in blocks: write the values with format()",
                ));
            }
            Some(Line::Execute(text))
        } else if self.accept_word("RAISE") {
            Some(Line::Raise(self.raise()?))
        } else {
            if matches!(self.tokens.get(self.at + 1), Some((Token::Assignment, ..))) {
                return Err(SqlError::unsupported(
                    "variables are not supported in blocks",
                ));
            }
            Some(Line::Sql(self.text_to(&[], false)?))
        };
        self.end_of_line()?;
        Ok(line)
    }

    /// `IF`, behind that word.
    fn branches(&mut self, depth: usize) -> Result<Line, SqlError> {
        if depth > NESTING_MAX {
            let text = format!("IF may be nested {NESTING_MAX} deep");
            return Err(SqlError::new(code::TOO_COMPLEX, text));
        }
        let ends = ["ELSIF", "ELSEIF", "ELSE", "END"];
        let (mut branches, mut otherwise) = (Vec::new(), Vec::new());
        loop {
            let condition = self.text_to(&["THEN"], false)?;
            self.expect_word("THEN")?;
            branches.push((condition, self.lines(depth, &ends)?));
            if self.accept_word("ELSIF") || self.accept_word("ELSEIF") {
                continue;
            }
            if self.accept_word("ELSE") {
                otherwise = self.lines(depth, &["END"])?;
            }
            self.expect_word("END")?;
            self.expect_word("IF")?;
            self.end_of_line()?;
            return Ok(Line::If {
                branches,
                otherwise,
            });
        }
    }
}

//! The tokens of a text, with operators as PostgreSQL reads them.
//!
//! The parser's tokenizer reads `3>-1` as an operator `>-`, and takes the beginning of a comment for a part of one. Here
//! runs of the characters of operators are found first, and cut by PostgreSQL's rules. The tokenizer reads the text between
//! those runs that it would read otherwise. Literals that continue in another line are one. Source: the rules `{operator}`
//! and `{quotecontinue}` of PostgreSQL's `scan.l`.

use crate::position::Places;
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::tokenizer::{
    Location, Span, Token, TokenWithSpan, Tokenizer, TokenizerError, Whitespace,
};
use std::ops::Range;

/// The longest operator, in bytes.
const OPERATOR_BYTES_MAX: usize = 63;

/// The tokens of a text, with their places.
///
/// # Errors
/// The tokenizer's, for a text with an open literal or comment; also for an operator that is too long.
pub(crate) fn tokens(text: &str) -> Result<Vec<TokenWithSpan>, TokenizerError> {
    tokens_of(text).map(with_continued)
}

/// A token, and its bytes in the text. The letters of a literal are there: the token has the value that they mean.
#[derive(Debug)]
pub(crate) struct Placed {
    pub token: Token,
    pub at: Range<usize>,
}

impl Placed {
    pub fn is_blank(&self) -> bool {
        matches!(self.token, Token::Whitespace(_) | Token::EOF)
    }

    /// A name, or a key word, as SQL compares it.
    pub fn word(&self) -> Option<String> {
        match &self.token {
            Token::Word(word) if word.quote_style.is_some() => Some(word.value.clone()),
            Token::Word(word) => Some(word.value.to_lowercase()),
            _ => None,
        }
    }
}

/// The tokens of a text with their bytes: ranges in ascending order, without a gap.
///
/// # Errors
/// As [`tokens`].
pub(crate) fn placed(text: &str) -> Result<Vec<Placed>, TokenizerError> {
    let mut places = Places::of(text);
    let tokens = tokens(text)?.into_iter().map(|token| Placed {
        at: places.range(token.span),
        token: token.token,
    });
    Ok(tokens.collect())
}

fn tokens_of(text: &str) -> Result<Vec<TokenWithSpan>, TokenizerError> {
    let mut reader = Reader {
        tokens: Vec::new(),
        place: Location { line: 1, column: 1 },
    };
    let mut scan = Scan {
        bytes: text.as_bytes(),
        at: 0,
    };
    let mut from = 0;
    while let Some(run) = scan.next_run() {
        let operators = text.get(run.clone()).unwrap_or_default();
        // The tokenizer would take the beginning of a comment for a part of the operator.
        if is_read_whole(operators) && !scan.begins_comment() {
            continue;
        }
        reader.read(text.get(from..run.start).unwrap_or_default())?;
        reader.operators(operators)?;
        from = run.end;
    }
    reader.read(text.get(from..).unwrap_or_default())?;
    Ok(reader.tokens)
}

/// Operators that the tokenizer reads as PostgreSQL does.
fn is_read_whole(run: &str) -> bool {
    let known = [
        "<=", ">=", "<>", "!=", "=>", "||", "->", "->>", "#>", "#>>", "@>", "<@", "@@", "@?", "?|",
        "?&", "#-", "~*", "!~", "!~*", "~~", "~~*", "!~~", "!~~*", "&&", "<<", ">>", "^@", "<->",
        "&<", "&>", "-|-", "|/", "||/",
    ];
    run.len() == 1 || known.contains(&run)
}

/// The token of one operator.
fn token_of(operator: &str) -> Token {
    if operator == "@@@" {
        // Its older name.
        return Token::AtAt;
    }
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, operator).tokenize();
    match tokens.as_deref() {
        // PostgreSQL has no such operator, and the parser takes it for `=`.
        Ok([Token::DoubleEq]) => Token::CustomBinaryOperator(operator.into()),
        Ok([token]) if token.to_string() == operator => token.clone(),
        _ => Token::CustomBinaryOperator(operator.into()),
    }
}

/// The tokens with literals that continue in another line as one: `'a'`, a new line, and `'b'`.
fn with_continued(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut written: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    // The place of the last literal, and true if a new line is behind it.
    let (mut open, mut is_next_line) = (None, false);
    for token in tokens {
        match &token.token {
            Token::Whitespace(Whitespace::Space | Whitespace::Tab) => {}
            Token::Whitespace(Whitespace::Newline | Whitespace::SingleLineComment { .. }) => {
                is_next_line = true;
            }
            one => {
                let before = open.filter(|_| is_next_line);
                let before = before.and_then(|at: usize| written.get_mut(at));
                if let Some(before) = before
                    && continues(&mut before.token, one)
                {
                    before.span.end = token.span.end;
                    written.truncate(open.map_or(0, |at| at + 1));
                    is_next_line = false;
                    continue;
                }
                open = is_literal(one).then_some(written.len());
                is_next_line = false;
            }
        }
        written.push(token);
    }
    written
}

fn is_literal(token: &Token) -> bool {
    use Token::{EscapedStringLiteral, HexStringLiteral, SingleQuotedString, UnicodeStringLiteral};
    matches!(
        token,
        SingleQuotedString(_)
            | EscapedStringLiteral(_)
            | HexStringLiteral(_)
            | UnicodeStringLiteral(_)
    )
}

/// Adds a literal to the one before it. One with a backslash is not added to a literal with escapes: those were not read.
fn continues(before: &mut Token, token: &Token) -> bool {
    let Token::SingleQuotedString(more) = token else {
        return false;
    };
    match before {
        Token::SingleQuotedString(text) | Token::HexStringLiteral(text) => text.push_str(more),
        Token::EscapedStringLiteral(text) | Token::UnicodeStringLiteral(text)
            if !more.contains('\\') =>
        {
            text.push_str(more);
        }
        _ => return false,
    }
    true
}

struct Reader {
    tokens: Vec<TokenWithSpan>,
    /// The place behind the last token.
    place: Location,
}

impl Reader {
    /// Reads a part of the text without operators that need care.
    fn read(&mut self, part: &str) -> Result<(), TokenizerError> {
        if part.is_empty() {
            return Ok(());
        }
        let before = self.place;
        let of_text = |at: Location| Location {
            line: at.line + before.line - 1,
            column: match at.line {
                1 => at.column + before.column - 1,
                _ => at.column,
            },
        };
        let first = self.tokens.len();
        let dialect = PostgreSqlDialect {};
        let mut tokenizer = Tokenizer::new(&dialect, part);
        let read = tokenizer.tokenize_with_location_into_buf(&mut self.tokens);
        read.map_err(|error| TokenizerError {
            location: of_text(error.location),
            ..error
        })?;
        if (before.line, before.column) != (1, 1) {
            for token in self.tokens.iter_mut().skip(first) {
                token.span = Span::new(of_text(token.span.start), of_text(token.span.end));
            }
        }
        self.place = self.tokens.last().map_or(before, |last| last.span.end);
        Ok(())
    }

    /// Adds the operators of a run.
    fn operators(&mut self, mut run: &str) -> Result<(), TokenizerError> {
        let mut length = length_of_first(run);
        while !run.is_empty() {
            let (operator, rest) = run.split_at(length);
            if operator.len() > OPERATOR_BYTES_MAX {
                return Err(TokenizerError {
                    message: "operator too long".into(),
                    location: self.place,
                });
            }
            let mut end = self.place;
            end.column += operator.len() as u64;
            let span = Span::new(self.place, end);
            (self.tokens).push(TokenWithSpan::new(token_of(operator), span));
            self.place = end;
            // Signs are left, each an operator.
            (run, length) = (rest, 1);
        }
        Ok(())
    }
}

/// The length of the first operator of a run. At its end are no `+` and `-`, unless it has a character that operators of
/// the standard have not.
fn length_of_first(run: &str) -> usize {
    let is_special = |c: char| "~!@#^&|`?%".contains(c);
    let rest = run.trim_end_matches(['+', '-']);
    match run.contains(is_special) {
        true => run.len(),
        // One character is an operator, whatever it is.
        false => rest.len().max(1).min(run.len()),
    }
}

/// A walk over the runs of a text. What it passes over may be wrong, such as an open literal: the tokenizer says so.
struct Scan<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl Scan<'_> {
    /// The next run of characters of operators, outside of literals, names and comments.
    fn next_run(&mut self) -> Option<Range<usize>> {
        loop {
            match self.byte(0)? {
                b'\'' => self.literal(false),
                b'"' => self.literal(false),
                b'$' => self.dollars(),
                b'0'..=b'9' => self.number(),
                b'.' if self.byte(1).is_some_and(|next| next.is_ascii_digit()) => self.number(),
                // An assignment or a cast.
                b':' if matches!(self.byte(1), Some(b'=' | b':')) => self.at += 2,
                _ if self.begins_comment() => self.comment(),
                one if is_of_operator(one) => {
                    let from = self.at;
                    while self.byte(0).is_some_and(is_of_operator) && !self.begins_comment() {
                        self.at += 1;
                    }
                    return Some(from..self.at);
                }
                one if is_of_word(one) => self.word(),
                _ => self.at += 1,
            }
        }
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn begins_comment(&self) -> bool {
        let next = (self.byte(0), self.byte(1));
        matches!(next, (Some(b'-'), Some(b'-')) | (Some(b'/'), Some(b'*')))
    }

    /// Passes a literal or a name, with its quote at both ends. A doubled quote ends one, and begins the next.
    fn literal(&mut self, has_escapes: bool) {
        let quote = self.byte(0);
        self.at += 1;
        while let Some(one) = self.byte(0) {
            self.at += 1;
            if one == b'\\' && has_escapes {
                self.at += 1;
            } else if Some(one) == quote {
                if !(has_escapes && self.byte(0) == quote) {
                    return;
                }
                self.at += 1;
            }
        }
    }

    /// Passes a literal between dollars, or one dollar: of a parameter, say.
    fn dollars(&mut self) {
        let rest = self.bytes.get(self.at + 1..).unwrap_or_default();
        let length = rest.iter().take_while(|one| is_of_word(**one)).count();
        let is_tag = !rest.first().is_some_and(u8::is_ascii_digit);
        if !is_tag || rest.get(length) != Some(&b'$') {
            self.at += 1;
            return;
        }
        let tag = self.bytes.get(self.at..self.at + length + 2);
        let tag = tag.unwrap_or_default();
        self.at += tag.len();
        while let Some(rest) = self.bytes.get(self.at..).filter(|rest| !rest.is_empty()) {
            if rest.starts_with(tag) {
                self.at += tag.len();
                return;
            }
            self.at += 1;
        }
    }

    /// Passes a number, with the sign of its exponent.
    fn number(&mut self) {
        let digits = |scan: &mut Self| {
            while scan.byte(0).is_some_and(|one| one.is_ascii_digit()) {
                scan.at += 1;
            }
        };
        digits(self);
        if self.byte(0) == Some(b'.') {
            self.at += 1;
            digits(self);
        }
        if matches!(self.byte(0), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(self.byte(1), Some(b'+' | b'-')));
            if self.byte(1 + sign).is_some_and(|one| one.is_ascii_digit()) {
                self.at += 1 + sign;
                digits(self);
            }
        }
    }

    /// Passes a name or a key word, with the literal to which it belongs.
    fn word(&mut self) {
        let from = self.at;
        while (self.byte(0)).is_some_and(|one| is_of_word(one) || one == b'$') {
            self.at += 1;
        }
        let word = self.bytes.get(from..self.at).unwrap_or_default();
        match (word, self.byte(0), self.byte(1)) {
            ([b'e' | b'E'], Some(b'\''), _) => self.literal(true),
            ([b'u' | b'U'], Some(b'&'), Some(b'\'' | b'"')) => self.at += 1,
            _ => {}
        }
    }

    /// Passes a comment. Those between `/*` and `*/` have others in them.
    fn comment(&mut self) {
        if self.byte(0) == Some(b'-') {
            while (self.byte(0)).is_some_and(|one| !matches!(one, b'\n' | b'\r')) {
                self.at += 1;
            }
            return;
        }
        let mut depth = 0_usize;
        loop {
            match (self.byte(0), self.byte(1)) {
                (None, _) => return,
                (Some(b'/'), Some(b'*')) => {
                    depth += 1;
                    self.at += 2;
                }
                (Some(b'*'), Some(b'/')) => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return;
                    }
                }
                _ => self.at += 1,
            }
        }
    }
}

/// True if a text has characters of operators only.
pub(crate) fn is_operator(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_of_operator)
}

fn is_of_operator(one: u8) -> bool {
    b"+-*/<>=~!@#%^&|`?".contains(&one)
}

fn is_of_word(one: u8) -> bool {
    one.is_ascii_alphanumeric() || one == b'_' || !one.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::{Placed, placed, tokens};
    use sqlparser::tokenizer::Token;

    /// The tokens of a text, without blanks and comments.
    fn read(text: &str) -> Vec<String> {
        let tokens = tokens(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let tokens = tokens.into_iter().map(|token| token.token);
        let seen = tokens.filter(|token| !matches!(token, Token::Whitespace(_)));
        seen.map(|token| token.to_string()).collect()
    }

    #[test]
    fn operators_end_as_in_postgresql() {
        for (text, expected) in [
            ("3>-1", "3 > - 1"),
            ("3>=-1", "3 >= - 1"),
            ("3<>-+1", "3 <> - + 1"),
            ("3=-1", "3 = - 1"),
            ("3!=-1", "3 !=- 1"),
            ("3@-1", "3 @- 1"),
            ("3*-+-1", "3 * - + - 1"),
            ("a->-1", "a -> - 1"),
            ("a->>-1", "a ->> - 1"),
            ("a#>-1", "a #>- 1"),
            ("1<@x", "1 <@ x"),
            ("a==1", "a == 1"),
            ("a@@@b", "a @@ b"),
            ("a<|1", "a <| 1"),
            ("f(a=>-1)", "f ( a => - 1 )"),
            ("f(a:=-1)", "f ( a := - 1 )"),
            ("a::int", "a :: int"),
            ("1e-5>-.5e+3", "1e-5 > - .5e+3"),
            ("3>/*c*/1", "3 > 1"),
            ("3#--c\n1", "3 # 1"),
            ("3|/*c*/1", "3 | 1"),
            ("3||/*it's /*c*/ 'one*/1", "3 || 1"),
            ("$1>-$2", "$1 > - $2"),
            ("$$>-$$>-$a$>-$$>-$a$", "$$>-$$ > - $a$>-$$>-$a$"),
            ("a$b$>-1", "a$b$ > - 1"),
            ("'a''>-'>-E'\\'>-'", "'a'>-' > - E''>-'"),
            ("E'a''>-\\'>-'>-1", "E'a'>-'>-' > - 1"),
            ("\"a\"\">-\">-1", "\"a\"\">-\" > - 1"),
            ("U&'>-'>-1", "U&'>-' > - 1"),
        ] {
            let read = read(text).join(" ");
            assert_eq!(read, expected, "{text}");
        }
    }

    #[test]
    fn tokens_have_the_places_of_the_text() {
        let text = "a>-1\n ä>-'\n'>- b";
        let places = tokens(text).expect("tokens").into_iter();
        let places = places.filter(|token| !matches!(token.token, Token::Whitespace(_)));
        let places: Vec<_> = places
            .map(|token| (token.span.start.line, token.span.start.column))
            .collect();
        let line = [(1, 1), (1, 2), (1, 3), (1, 4)];
        let rest = [(2, 2), (2, 3), (2, 4), (2, 5), (3, 2), (3, 3), (3, 5)];
        assert_eq!(places, [&line[..], &rest].concat());
    }

    #[test]
    fn an_error_has_its_place() {
        let error = tokens("a>-1\n and b>-'x").expect_err("an open literal");
        assert_eq!((error.location.line, error.location.column), (2, 9));
    }

    #[test]
    fn operators_are_bounded() {
        assert!(tokens(&"~".repeat(63)).is_ok());
        let error = tokens(&"~".repeat(64)).expect_err("too long");
        assert_eq!(error.message, "operator too long");
    }

    #[test]
    fn literals_continue_in_another_line() {
        for (text, expected) in [
            ("'a'\n  'b'", "'ab'"),
            ("'a' --c\n\n'b'\n'c' 'd'", "'abc' 'd'"),
            ("E'\\x41'\n'b'", "E'Ab'"),
            ("'a' 'b'", "'a' 'b'"),
            ("'a' /*\n*/ 'b'", "'a' 'b'"),
            ("'a',\n'b'", "'a' , 'b'"),
        ] {
            assert_eq!(read(text).join(" "), expected, "{text}");
        }
    }

    /// The walk passes literals as the tokenizer does, so the tokens are the whole text.
    #[test]
    fn tokens_have_all_bytes_of_the_text() {
        let text = "a>-1+'\\'>-'x''>-y'>-\"b\"\"\">-$q$>-$q$ /* >- */>-1
            -- E'\r\n\t|| E'\\\\n\\'\\x41\\u00e4>-' || U&'\\0061>-''' || X'1f' || N'é' || 'ä'
            'b' ->> B'1' @@@ U&\"\\0061\"";
        let tokens = placed(text).expect("tokens");
        let mut end = 0;
        for token in &tokens {
            assert_eq!(token.at.start, end, "{:?}", token.token);
            end = token.at.end;
        }
        assert_eq!(end, text.len());
        let escaped = |one: &&Placed| matches!(one.token, Token::EscapedStringLiteral(_));
        let escaped = tokens.iter().find(escaped).expect("a literal");
        assert_eq!(&text[escaped.at.clone()], "E'\\\\n\\'\\x41\\u00e4>-'");
        let value = Token::EscapedStringLiteral("\\n'A\u{e4}>-".to_string());
        assert_eq!(escaped.token, value);
    }
}

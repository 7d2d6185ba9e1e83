//! A path from its tokens.

use super::tokens::{Kind, Token, tokens, wrong};
use super::{
    Chain, Comparison, JsonPath, LAST_LEVEL, Method, NODES_MAX, Node, Operator, Pattern,
    too_complex,
};
use crate::error::{SqlError, code};
use crate::text::{decode_text, shortened, text_of};
use crate::types::SqlType;

/// Reads a path.
///
/// # Errors
/// As [`JsonPath::read`].
pub(super) fn read(text: &str) -> Result<JsonPath, SqlError> {
    let tokens = tokens(text)?;
    if tokens.len() == 1 {
        return Err(SqlError::new(
            code::INVALID_TEXT,
            format!(
                "invalid input syntax for type jsonpath: \"{}\"",
                shortened(text)
            ),
        ));
    }
    let mut reader = Reader {
        tokens,
        at: 0,
        nodes: 0,
        depth: 0,
        filters: 0,
        subscripts: 0,
    };
    let mode = reader.next().keyword();
    let is_strict = mode == Some("strict");
    if is_strict || mode == Some("lax") {
        reader.at += 1;
    }
    let root = reader.any()?;
    match reader.next().kind {
        Kind::End => Ok(JsonPath { is_strict, root }),
        _ => Err(reader.unexpected()),
    }
}

struct Reader<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
    /// The parts so far.
    nodes: usize,
    /// The depth of what is being read in others.
    depth: usize,
    /// The filters around, in which `@` has a meaning.
    filters: usize,
    /// The subscripts around, in which `last` has one.
    subscripts: usize,
}

fn is_condition(chain: &Chain) -> bool {
    matches!(chain.as_slice(), [node] if node.is_condition())
}

impl<'t> Reader<'t> {
    fn next(&self) -> &Token<'t> {
        // The last token is the end.
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn behind_next(&self) -> &Token<'t> {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)]
    }

    fn takes(&mut self, mark: &str) -> bool {
        let is_it = self.next().is(mark);
        self.at += usize::from(is_it);
        is_it
    }

    fn takes_word(&mut self, keyword: &str) -> bool {
        let is_it = self.next().keyword() == Some(keyword);
        self.at += usize::from(is_it);
        is_it
    }

    fn expect(&mut self, mark: &str) -> Result<(), SqlError> {
        match self.takes(mark) {
            true => Ok(()),
            false => Err(self.unexpected()),
        }
    }

    #[cold]
    fn unexpected(&self) -> SqlError {
        wrong("syntax error", self.next().text)
    }

    /// Counts a part.
    fn made(&mut self, node: Node) -> Result<Chain, SqlError> {
        self.nodes += 1;
        match self.nodes > NODES_MAX {
            true => Err(too_complex()),
            false => Ok(vec![node]),
        }
    }

    /// Reads a part that is deeper: its depth is bounded as the number of parts is.
    fn deeper<T>(
        &mut self,
        of: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        self.depth += 1;
        if self.depth > NODES_MAX / 4 {
            return Err(too_complex());
        }
        let read = of(self);
        self.depth -= 1;
        read
    }

    /// A value or a condition.
    fn any(&mut self) -> Result<Chain, SqlError> {
        self.deeper(Self::alternatives)
    }

    fn condition(&mut self) -> Result<Chain, SqlError> {
        let read = self.any()?;
        match is_condition(&read) {
            true => Ok(read),
            false => Err(self.unexpected()),
        }
    }

    fn expression(&mut self) -> Result<Chain, SqlError> {
        let read = self.deeper(Self::sum)?;
        match is_condition(&read) {
            true => Err(self.unexpected()),
            false => Ok(read),
        }
    }

    fn alternatives(&mut self) -> Result<Chain, SqlError> {
        let mut left = self.conjunction()?;
        while self.next().is("||") {
            self.check_condition(&left)?;
            self.at += 1;
            let right = self.conjunction()?;
            self.check_condition(&right)?;
            left = self.made(Node::Or(left, right))?;
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Chain, SqlError> {
        let mut left = self.comparison()?;
        while self.next().is("&&") {
            self.check_condition(&left)?;
            self.at += 1;
            let right = self.comparison()?;
            self.check_condition(&right)?;
            left = self.made(Node::And(left, right))?;
        }
        Ok(left)
    }

    fn check_condition(&self, of: &Chain) -> Result<(), SqlError> {
        match is_condition(of) {
            true => Ok(()),
            false => Err(self.unexpected()),
        }
    }

    fn check_expression(&self, of: &Chain) -> Result<(), SqlError> {
        match is_condition(of) {
            true => Err(self.unexpected()),
            false => Ok(()),
        }
    }

    fn comparison(&mut self) -> Result<Chain, SqlError> {
        if self.takes("!") {
            let negated = match self.next().is("(") {
                true => {
                    self.at += 1;
                    let negated = self.condition()?;
                    self.expect(")")?;
                    negated
                }
                false => self.existence()?,
            };
            return self.made(Node::Not(negated));
        }
        let left = self.sum()?;
        let compared = match self.next() {
            token if token.is("==") => Comparison::Equal,
            token if token.is("!=") || token.is("<>") => Comparison::Unequal,
            token if token.is("<=") => Comparison::LessOrEqual,
            token if token.is("<") => Comparison::Less,
            token if token.is(">=") => Comparison::GreaterOrEqual,
            token if token.is(">") => Comparison::Greater,
            token if token.keyword() == Some("starts") => {
                self.check_expression(&left)?;
                self.at += 1;
                return self.start(left);
            }
            token if token.keyword() == Some("like_regex") => {
                self.check_expression(&left)?;
                self.at += 1;
                return self.pattern(left);
            }
            _ => return Ok(left),
        };
        self.check_expression(&left)?;
        self.at += 1;
        let right = self.sum()?;
        self.check_expression(&right)?;
        self.made(Node::Compare(compared, left, right))
    }

    fn start(&mut self, text: Chain) -> Result<Chain, SqlError> {
        if !self.takes_word("with") {
            return Err(self.unexpected());
        }
        let start = match &self.next().kind {
            Kind::Text(start) => Node::Text(start.clone()),
            Kind::Variable(name) => Node::Variable(name.clone()),
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        let start = self.made(start)?;
        self.made(Node::StartsWith(text, start))
    }

    fn pattern(&mut self, text: Chain) -> Result<Chain, SqlError> {
        let Kind::Text(pattern) = self.next().kind.clone() else {
            return Err(self.unexpected());
        };
        self.at += 1;
        let mut given = String::new();
        if self.takes_word("flag") {
            let Kind::Text(flags) = self.next().kind.clone() else {
                return Err(self.unexpected());
            };
            self.at += 1;
            given = flags;
        }
        if let Some(letter) = given.chars().find(|letter| !"ismxq".contains(*letter)) {
            let error = SqlError::syntax("invalid input syntax for type jsonpath");
            return Err(error.detail(format!(
                "Unrecognized flag character \"{letter}\" in LIKE_REGEX predicate."
            )));
        }
        if given.contains('x') && !given.contains('q') {
            return Err(SqlError::unsupported(
                "XQuery \"x\" flag (expanded regular expressions) is not implemented",
            ));
        }
        let flags: String = "ismxq"
            .chars()
            .filter(|letter| given.contains(*letter))
            .collect();
        self.made(Node::LikeRegex(text, Pattern { pattern, flags }))
    }

    fn sum(&mut self) -> Result<Chain, SqlError> {
        let mut left = self.product()?;
        loop {
            let operator = match self.next() {
                token if token.is("+") => Operator::Add,
                token if token.is("-") => Operator::Subtract,
                _ => return Ok(left),
            };
            self.check_expression(&left)?;
            self.at += 1;
            let right = self.product()?;
            self.check_expression(&right)?;
            left = self.made(Node::Arithmetic(operator, left, right))?;
        }
    }

    fn product(&mut self) -> Result<Chain, SqlError> {
        let mut left = self.signed()?;
        loop {
            let operator = match self.next() {
                token if token.is("*") => Operator::Multiply,
                token if token.is("/") => Operator::Divide,
                token if token.is("%") => Operator::Modulo,
                _ => return Ok(left),
            };
            self.check_expression(&left)?;
            self.at += 1;
            let right = self.signed()?;
            self.check_expression(&right)?;
            left = self.made(Node::Arithmetic(operator, left, right))?;
        }
    }

    fn signed(&mut self) -> Result<Chain, SqlError> {
        let is_minus = self.next().is("-");
        if !is_minus && !self.next().is("+") {
            return self.value();
        }
        self.at += 1;
        let value = self.deeper(Self::signed)?;
        self.check_expression(&value)?;
        match value.as_slice() {
            [Node::Number(number)] if !is_minus => Ok(vec![Node::Number(number.clone())]),
            // The number itself is negative.
            [Node::Number(number)] => Ok(vec![Node::Number(match number.strip_prefix('-') {
                Some(positive) => positive.to_string(),
                None if number.bytes().all(|c| b"0.".contains(&c)) => number.clone(),
                None => format!("-{number}"),
            })]),
            _ => self.made(Node::Sign(is_minus, value)),
        }
    }

    /// `EXISTS (…)`.
    fn existence(&mut self) -> Result<Chain, SqlError> {
        if !self.takes_word("exists") {
            return Err(self.unexpected());
        }
        self.expect("(")?;
        let of = self.expression()?;
        self.expect(")")?;
        self.made(Node::Exists(of))
    }

    /// A value with its steps, or a condition in parentheses.
    fn value(&mut self) -> Result<Chain, SqlError> {
        if self.next().keyword() == Some("exists") {
            return self.existence();
        }
        if self.takes("(") {
            let inner = self.any()?;
            self.expect(")")?;
            if !is_condition(&inner) {
                return self.steps(inner);
            }
            if self.takes_word("is") {
                return match self.takes_word("unknown") {
                    true => self.made(Node::IsUnknown(inner)),
                    false => Err(self.unexpected()),
                };
            }
            return self.steps(inner);
        }
        let token = self.next().clone();
        let node = match (&token.kind, token.keyword()) {
            (_, Some("null")) => Node::Null,
            (_, Some("true")) => Node::Bool(true),
            (_, Some("false")) => Node::Bool(false),
            (_, Some("last")) if self.subscripts == 0 => {
                return Err(SqlError::syntax("LAST is allowed only in array subscripts"));
            }
            (_, Some("last")) => Node::Last,
            (Kind::Text(text), _) => Node::Text(text.clone()),
            (Kind::Variable(name), _) => Node::Variable(name.clone()),
            (Kind::Integer | Kind::Number, _) => {
                let number = decode_text(SqlType::Numeric, token.text)?;
                Node::Number(text_of(SqlType::Numeric, number.as_ref()).unwrap_or_default())
            }
            (Kind::Mark, _) if token.text == "$" => Node::Root,
            (Kind::Mark, _) if token.text == "@" && self.filters == 0 => {
                return Err(SqlError::syntax("@ is not allowed in root expressions"));
            }
            (Kind::Mark, _) if token.text == "@" => Node::Current,
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        let value = self.made(node)?;
        self.steps(value)
    }

    /// The steps behind a value.
    fn steps(&mut self, mut chain: Chain) -> Result<Chain, SqlError> {
        loop {
            let step = if self.takes(".") {
                self.member()?
            } else if self.takes("[") {
                self.subscript()?
            } else if self.takes("?") {
                self.expect("(")?;
                self.filters += 1;
                let condition = self.condition()?;
                self.filters -= 1;
                self.expect(")")?;
                Node::Filter(condition)
            } else {
                return Ok(chain);
            };
            chain.extend(self.made(step)?);
        }
    }

    fn member(&mut self) -> Result<Node, SqlError> {
        if self.takes("**") {
            return self.levels();
        }
        if self.takes("*") {
            return Ok(Node::AnyKey);
        }
        let token = self.next().clone();
        let is_call = self.behind_next().is("(");
        if let (Some(keyword), true) = (token.keyword(), is_call) {
            if keyword == "datetime" {
                return Err(SqlError::unsupported(
                    "the jsonpath method .datetime() is not supported",
                ));
            }
            let method = Method::ALL.iter().find(|method| method.name() == keyword);
            if let Some(method) = method {
                self.at += 2;
                self.expect(")")?;
                return Ok(Node::Method(*method));
            }
        }
        match token.kind {
            Kind::Word(name) | Kind::Text(name) => {
                self.at += 1;
                Ok(Node::Key(name))
            }
            _ => Err(self.unexpected()),
        }
    }

    fn levels(&mut self) -> Result<Node, SqlError> {
        if !self.takes("{") {
            return Ok(Node::Any(0, LAST_LEVEL));
        }
        let first = self.level()?;
        let last = match self.takes_word("to") {
            true => self.level()?,
            false => first,
        };
        self.expect("}")?;
        Ok(Node::Any(first, last))
    }

    fn level(&mut self) -> Result<u32, SqlError> {
        if self.takes_word("last") {
            return Ok(LAST_LEVEL);
        }
        if self.next().kind != Kind::Integer {
            return Err(self.unexpected());
        }
        let digits = self.next().text;
        let level = digits
            .parse::<i32>()
            .ok()
            .and_then(|level| u32::try_from(level).ok());
        let level = level.ok_or_else(|| {
            let text = format!("value \"{digits}\" is out of range for type integer");
            SqlError::new(code::OUT_OF_RANGE, text)
        })?;
        self.at += 1;
        Ok(level)
    }

    fn subscript(&mut self) -> Result<Node, SqlError> {
        if self.takes("*") {
            self.expect("]")?;
            return Ok(Node::AnyArray);
        }
        self.subscripts += 1;
        let mut indexes = Vec::new();
        loop {
            let from = self.expression()?;
            let to = match self.takes_word("to") {
                true => Some(self.expression()?),
                false => None,
            };
            indexes.push((from, to));
            if !self.takes(",") {
                break;
            }
        }
        self.subscripts -= 1;
        self.expect("]")?;
        Ok(Node::Indexes(indexes))
    }
}

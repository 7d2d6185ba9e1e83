//! A bound on the depth of a text's trees, found from its tokens before the parser recurses.

use crate::error::{SqlError, code};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

/// The most operators in a chain: a tree of them is as deep.
const OPERATORS_MAX: usize = 1000;

/// Checks how deep the trees of a text can get: at most the number of operators and words between two commas, on all
/// levels of parentheses together, of which there are at most `levels_max`.
///
/// # Errors
/// `54001`, with its place.
pub(super) fn check_depth(
    tokens: &[TokenWithSpan],
    levels_max: usize,
) -> Result<(), (SqlError, Location)> {
    let mut levels = Levels::new();
    for token in tokens {
        let deepens = match &token.token {
            Token::Whitespace(_) | Token::EOF | Token::Number(..) | Token::Placeholder(_) => false,
            Token::SingleQuotedString(_) | Token::Period => false,
            Token::LParen | Token::LBracket | Token::LBrace => {
                levels.open(0, false);
                false
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                while levels.is_case() {
                    levels.close();
                }
                levels.close();
                // A chain of subscripts, or of calls.
                true
            }
            Token::Comma | Token::SemiColon => {
                levels.count_from(0);
                false
            }
            Token::Word(word) if word.quote_style.is_some() => false,
            Token::Word(word) if word.value.eq_ignore_ascii_case("case") => {
                levels.open(1, true);
                false
            }
            // The branches of a CASE are beside each other, as the elements of a list are.
            Token::Word(word) if levels.is_case() && ends_branch(&word.value) => {
                if word.value.eq_ignore_ascii_case("end") {
                    levels.close();
                } else {
                    levels.count_from(1);
                }
                false
            }
            Token::Word(word) => is_operator(&word.value),
            _ => true,
        };
        if deepens {
            levels.deepen();
        }
        if levels.operators > OPERATORS_MAX || levels.outer.len() >= levels_max {
            let error = SqlError::new(
                code::TOO_COMPLEX,
                format!("an expression has at most {OPERATORS_MAX} operators"),
            )
            .hint("Write a list with IN, or several statements.");
            return Err((error, token.span.start));
        }
    }
    Ok(())
}

/// The parentheses and CASEs that are open, and the operators of each. Any order of calls is allowed: texts are of users.
struct Levels {
    outer: Vec<Level>,
    /// It is never closed: there are texts with more closing parentheses than opening ones.
    innermost: Level,
    /// The sum of all levels.
    operators: usize,
}

#[derive(Clone, Copy)]
struct Level {
    operators: usize,
    is_case: bool,
}

impl Levels {
    const fn new() -> Self {
        let innermost = Level {
            operators: 0,
            is_case: false,
        };
        Self {
            outer: Vec::new(),
            innermost,
            operators: 0,
        }
    }

    const fn is_case(&self) -> bool {
        self.innermost.is_case
    }

    fn open(&mut self, operators: usize, is_case: bool) {
        let inner = Level { operators, is_case };
        self.outer
            .push(std::mem::replace(&mut self.innermost, inner));
        self.operators += operators;
    }

    /// Ends the innermost level, if it is inside of another one.
    fn close(&mut self) {
        if let Some(outer) = self.outer.pop() {
            self.operators -= self.innermost.operators;
            self.innermost = outer;
        }
    }

    const fn deepen(&mut self) {
        self.innermost.operators += 1;
        self.operators += 1;
    }

    /// Goes on beside what the innermost level has had.
    const fn count_from(&mut self, operators: usize) {
        self.operators = self.operators - self.innermost.operators + operators;
        self.innermost.operators = operators;
    }
}

/// True for words that end a condition, or a result, of a CASE.
fn ends_branch(word: &str) -> bool {
    const WORDS: [&str; 4] = ["when", "then", "else", "end"];
    WORDS.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// True for words between or before expressions.
fn is_operator(word: &str) -> bool {
    const WORDS: [&str; 24] = [
        "and",
        "or",
        "not",
        "is",
        "in",
        "like",
        "ilike",
        "between",
        "similar",
        "collate",
        "union",
        "except",
        "intersect",
        "at",
        "when",
        "then",
        "else",
        "overlaps",
        "div",
        "xor",
        "regexp",
        "rlike",
        "all",
        "any",
    ];
    WORDS.iter().any(|known| known.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::check_depth;
    use crate::error::code;
    use crate::parse::{parse, plain_tokens};

    /// The branches of a CASE are beside each other: Django's `bulk_update` writes one for each row.
    #[test]
    fn a_case_may_have_more_branches_than_operators_may_be_nested() {
        let branches = "when a = 1 and b or c then f(1 + 2) ".repeat(5_000);
        for text in [
            format!("select case {branches} else 1 end from t"),
            format!("select 1 + case x {branches} end, (case {branches} end)"),
        ] {
            assert_eq!(parse(&text).map(|parsed| parsed.len()).ok(), Some(1));
        }
    }

    /// Every order of up to five of these words, most of which are no SQL.
    #[test]
    fn any_order_of_words_is_counted() {
        const WORDS: [&str; 9] = ["case", "when", "end", ",", ";", "(", ")", "and", "a"];
        for mut number in 0..WORDS.len().pow(5) {
            let mut text = String::from("select ");
            for _ in 0..5 {
                text += WORDS[number % WORDS.len()];
                text.push(' ');
                number /= WORDS.len();
            }
            let tokens = plain_tokens(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert!(check_depth(&tokens, 50).is_ok(), "{text}");
        }
    }

    /// Each of these would make a tree as deep as the text is long.
    #[test]
    fn what_is_inside_of_each_other_is_bounded() {
        for (begin, repeated) in [
            ("select ", "case when "),
            ("select ", "case x when 1 then "),
            ("select ", "case else "),
            ("select case when 1", " + 1"),
            ("select case when 1 then 1", " and 1"),
            ("select (case when 1 then 1) ", " + 1"),
            ("select case when 1 then 1 end", " + case when 1 then 1 end"),
        ] {
            let refused = parse(&format!("{begin}{}", repeated.repeat(5_000)));
            assert_eq!(refused.unwrap_err().code, code::TOO_COMPLEX, "{repeated}");
        }
    }
}

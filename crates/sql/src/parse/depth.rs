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
    // The operators of each level, and if it is that of a CASE.
    let mut levels = vec![(0_usize, false)];
    let mut sum = 0_usize;
    for token in tokens {
        let deepens = match &token.token {
            Token::Whitespace(_) | Token::EOF | Token::Number(..) | Token::Placeholder(_) => false,
            Token::SingleQuotedString(_) | Token::Period => false,
            Token::LParen | Token::LBracket | Token::LBrace => {
                levels.push((0, false));
                false
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                let is_case = |level: &(usize, bool)| level.1;
                while levels.len() > 1 && levels.last().is_some_and(is_case) {
                    sum -= levels.pop().map_or(0, |level| level.0);
                }
                if levels.len() > 1 {
                    sum -= levels.pop().map_or(0, |level| level.0);
                }
                // A chain of subscripts, or of calls.
                true
            }
            Token::Comma | Token::SemiColon => {
                sum -= levels
                    .last_mut()
                    .map_or(0, |level| std::mem::take(&mut level.0));
                false
            }
            Token::Word(word) if word.quote_style.is_some() => false,
            Token::Word(word) if word.value.eq_ignore_ascii_case("case") => {
                levels.push((1, true));
                sum += 1;
                false
            }
            // The branches of a CASE are beside each other, as the elements of a list are.
            Token::Word(word)
                if levels.last().is_some_and(|level| level.1) && ends_branch(&word.value) =>
            {
                if word.value.eq_ignore_ascii_case("end") {
                    sum -= levels.pop().map_or(0, |level| level.0);
                } else if let Some(level) = levels.last_mut() {
                    sum -= std::mem::replace(&mut level.0, 1) - 1;
                }
                false
            }
            Token::Word(word) => is_operator(&word.value),
            _ => true,
        };
        if deepens && let Some(level) = levels.last_mut() {
            level.0 += 1;
            sum += 1;
        }
        if sum > OPERATORS_MAX || levels.len() > levels_max {
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
    use crate::error::code;
    use crate::parse::parse;

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

//! Where a statement ends in a text that is still being typed.

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::tokenizer::{Token, Tokenizer};

/// Takes the first statement, with its semicolon, off a text; `None` if it has not come to its end.
///
/// A semicolon in a string, in a quoted name, in a comment, between dollar quotes or between parentheses ends nothing,
/// nor does one in the body of a procedure: between `BEGIN ATOMIC` and its `END`.
pub fn take_statement(text: &mut String) -> Option<String> {
    let end = end_of_first(text)?;
    let rest = text.split_off(end);
    Some(std::mem::replace(text, rest))
}

/// Whether nothing stands in a text but blanks and comments.
pub fn is_blank(text: &str) -> bool {
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize();
    tokens.is_ok_and(|tokens| {
        tokens
            .iter()
            .all(|token| matches!(token, Token::Whitespace(_)))
    })
}

/// Whether a statement is `COPY … FROM STDIN`, which reads what follows it.
pub fn copies_in(statement: &str) -> bool {
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, statement).tokenize();
    let words = tokens.unwrap_or_default().into_iter();
    let words: Vec<String> = words
        .filter_map(|token| match token {
            Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_uppercase()),
            _ => None,
        })
        .collect();
    words.first().is_some_and(|word| word == "COPY")
        && words.windows(2).any(|pair| pair == ["FROM", "STDIN"])
}

fn end_of_first(text: &str) -> Option<usize> {
    let is_word = |token: &Token, word: &str| {
        matches!(token, Token::Word(found)
            if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word))
    };
    // Longer and longer texts: what is behind a semicolon may be half a string.
    for (at, _) in text.match_indices(';') {
        let first = text.get(..=at)?;
        let Ok(tokens) = Tokenizer::new(&PostgreSqlDialect {}, first).tokenize() else {
            continue;
        };
        let mut depth = 0_i64;
        let (mut bodies, mut cases) = (0_i64, 0_i64);
        let mut before = None;
        let words = tokens
            .iter()
            .filter(|token| !matches!(token, Token::Whitespace(_)));
        for token in words {
            match token {
                Token::LParen => depth += 1,
                Token::RParen => depth -= 1,
                _ if is_word(token, "atomic")
                    && before.is_some_and(|before| is_word(before, "begin")) =>
                {
                    bodies += 1;
                }
                _ if is_word(token, "case") && bodies > 0 => cases += 1,
                _ if is_word(token, "end") && cases > 0 => cases -= 1,
                _ if is_word(token, "end") && bodies > 0 => bodies -= 1,
                _ => {}
            }
            before = Some(token);
        }
        if depth <= 0 && bodies == 0 && matches!(tokens.last(), Some(Token::SemiColon)) {
            return Some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(text: &str) -> Vec<String> {
        let mut rest = text.to_string();
        let mut all = Vec::new();
        while let Some(one) = take_statement(&mut rest) {
            all.push(one.trim().to_string());
        }
        all.push(rest.trim().to_string());
        all
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
        assert_eq!(taken("select $a$ ; $a$;"), ["select $a$ ; $a$;", ""]);
        assert_eq!(taken("select /* ; */ 1;"), ["select /* ; */ 1;", ""]);
        let body =
            "create procedure p() begin atomic select case when true then 1 end; select 2; end;";
        assert_eq!(taken(&format!("{body} select 1;")), [body, "select 1;", ""]);
    }

    #[test]
    fn statements_that_read_what_follows() {
        assert!(copies_in("copy t (a, b) from stdin with (format csv)"));
        assert!(!copies_in("copy t to stdout") && !copies_in("select 'copy from stdin'"));
    }

    #[test]
    fn a_text_without_words_is_blank() {
        assert!(is_blank(" \n -- nothing\n/* nor here */ "));
        assert!(!is_blank(";") && !is_blank("x"));
    }
}

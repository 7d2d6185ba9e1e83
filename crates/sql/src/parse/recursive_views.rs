//! `CREATE RECURSIVE VIEW v (columns) AS query`, which the parser does not know, as the view that it is:
//! `CREATE VIEW v (columns) AS WITH RECURSIVE v (columns) AS (query) SELECT columns FROM v`.
//!
//! Source: PostgreSQL 15, `makeRecursiveViewSelect`.

use super::words::{behind, is_word};
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// Writes them so. One without columns stays as it is: the parser refuses it, as PostgreSQL does.
pub(super) fn with_recursive_views(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_word(token, "recursive")) {
        return tokens;
    }
    let mut written = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let is_view =
            is_word(token, "recursive") && behind(&tokens, at, &["recursive", "view"]).is_some();
        if !is_view {
            written.push(token.clone());
            at += 1;
            continue;
        }
        // A statement has at most one, so each token is read once.
        let rest = tokens.iter().skip(at);
        let statement = rest.take_while(|token| token.token != Token::SemiColon);
        let statement: Vec<TokenWithSpan> = statement.cloned().collect();
        at += statement.len();
        written.extend(view_of(&statement).unwrap_or(statement));
    }
    written
}

/// The tokens of a view from `RECURSIVE` on, rewritten.
fn view_of(tokens: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let open = tokens.iter().position(|one| one.token == Token::LParen)?;
    let close = tokens.iter().position(|one| one.token == Token::RParen)?;
    let head = tokens.get(1..open)?;
    let name = head
        .iter()
        .rfind(|one| matches!(one.token, Token::Word(_)))?;
    let columns = tokens.get(open + 1..close)?;
    let query = tokens.get(behind(tokens, close + 1, &["as"])?..)?;
    let made = |token: Token| TokenWithSpan {
        token,
        span: name.span,
    };
    let word = |text: &str| [made(Token::make_keyword(text)), blank(name)];
    let mut view = tokens.get(1..tokens.len() - query.len())?.to_vec();
    view.push(blank(name));
    view.extend(word("WITH").into_iter().chain(word("RECURSIVE")));
    view.extend([name.clone(), blank(name), made(Token::LParen)]);
    view.extend_from_slice(columns);
    view.extend([made(Token::RParen), blank(name)]);
    view.extend(word("AS"));
    view.push(made(Token::LParen));
    view.extend_from_slice(query);
    view.extend([made(Token::RParen), blank(name)]);
    view.extend(word("SELECT"));
    view.extend_from_slice(columns);
    view.push(blank(name));
    view.extend(word("FROM"));
    view.push(name.clone());
    Some(view)
}

fn blank(beside: &TokenWithSpan) -> TokenWithSpan {
    TokenWithSpan {
        token: Token::Whitespace(Whitespace::Space),
        span: beside.span,
    }
}

#[cfg(test)]
mod tests {
    use crate::parse::tokens;

    #[test]
    fn each_statement_has_its_own_view() {
        let text = "create recursive view v (n) as select 1; select 2; \
                    create or replace recursive view a.w (n, m) as select 3, 4";
        let written = tokens(text).expect("tokens").into_iter();
        let written: String = written.map(|token| token.token.to_string()).collect();
        let wanted = "create view v (n) as WITH RECURSIVE v (n) AS ( select 1) SELECT n FROM v; select 2; \
                      create or replace view a.w (n, m) as WITH RECURSIVE w (n, m) AS ( select 3, 4) SELECT n, m FROM w";
        let one_space = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(one_space(&written), one_space(wanted));
    }
}

//! `EXCLUDE` in the frame of a window, which the parser does not know, as a part of the frame's end: a function
//! [`EXCLUDED`] of the excluded rows, the kind of the end, and its offset. It is read where the frame is compiled.

use super::words::{behind, is_one_of, is_word};
use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Value, WindowFrameBound,
};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The name of such a function.
const EXCLUDED: &str = "sql.excluded";
/// The most tokens of a frame, blanks between them too: a text of many exclusions is read in linear time.
const FRAME_TOKENS_MAX: usize = 512;

/// Rows that a frame leaves out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Excluded {
    #[default]
    Nothing,
    /// The row itself.
    CurrentRow,
    /// The row and those that are equal in order.
    Group,
    /// Those that are equal in order, without the row.
    Ties,
}

/// The kinds of exclusions, with their words.
const KINDS: [(&str, &[&str], Excluded); 4] = [
    ("row", &["exclude", "current", "row"], Excluded::CurrentRow),
    ("group", &["exclude", "group"], Excluded::Group),
    ("ties", &["exclude", "ties"], Excluded::Ties),
    ("nothing", &["exclude", "no", "others"], Excluded::Nothing),
];

/// The exclusion that begins at a place, and the place behind it.
fn exclusion(tokens: &[TokenWithSpan], at: usize) -> Option<(&'static str, usize)> {
    let found = KINDS
        .iter()
        .find_map(|(name, words, _)| Some((*name, behind(tokens, at, words)?)))?;
    let mut rest = tokens.iter().skip(found.1);
    let next = rest.find(|token| !matches!(token.token, Token::Whitespace(_)))?;
    (next.token == Token::RParen).then_some(found)
}

/// The place of the frame's first word among the tokens before its exclusion, and that of the last `AND` outside of
/// parentheses.
fn frame(tokens: &[TokenWithSpan]) -> Option<(usize, Option<usize>)> {
    let mut depth = 0_usize;
    let mut and = None;
    let rest = tokens.iter().enumerate().rev().take(FRAME_TOKENS_MAX);
    for (at, token) in rest {
        match &token.token {
            Token::RParen | Token::RBracket => depth += 1,
            Token::LParen | Token::LBracket => depth = depth.checked_sub(1)?,
            _ if depth > 0 => {}
            _ if is_word(token, "and") && and.is_none() => and = Some(at),
            _ if is_one_of(token, &["rows", "range", "groups"]) => {
                let is_between = behind(tokens, at, &[&unquoted(token), "between"]).is_some();
                return Some((at, and.filter(|_| is_between)));
            }
            _ => {}
        }
    }
    None
}

fn unquoted(token: &TokenWithSpan) -> String {
    token.token.to_string()
}

/// The kind of a bound, and the tokens of its offset.
fn bound(tokens: &[TokenWithSpan]) -> Option<(&'static str, &[TokenWithSpan])> {
    let is_said = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_));
    let said: Vec<&TokenWithSpan> = tokens.iter().filter(is_said).collect();
    let words = |first, second| matches!(said.as_slice(), [a, b] if is_word(a, first) && is_word(b, second));
    if words("current", "row") {
        return Some(("current", &[]));
    }
    if words("unbounded", "following") {
        return Some(("last", &[]));
    }
    if words("unbounded", "preceding") {
        return Some(("first", &[]));
    }
    let last = tokens.iter().rposition(|token| is_said(&token))?;
    let kind = match &tokens[last] {
        word if is_word(word, "preceding") => "preceding",
        word if is_word(word, "following") => "following",
        _ => return None,
    };
    Some((kind, tokens.get(..last)?))
}

/// The most tokens of a bound's offset that begins with a text.
const OFFSET_TOKENS_MAX: usize = 64;

/// Puts the offsets of frames that are casts of texts, `'1 day'::interval PRECEDING`, in parentheses: the parser takes a text
/// there for a whole interval.
pub(super) fn with_cast_offsets(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let ends = |token: &TokenWithSpan| is_one_of(token, &["preceding", "following"]);
    if !tokens.iter().any(ends) {
        return tokens;
    }
    let mut written = Vec::with_capacity(tokens.len() + 2);
    // True behind a word at which a bound begins.
    let mut begins = false;
    let mut closes = None;
    for (at, token) in tokens.iter().enumerate() {
        if closes == Some(at) {
            written.push(TokenWithSpan::new(Token::RParen, token.span));
        }
        let is_space = matches!(token.token, Token::Whitespace(_));
        if begins && matches!(token.token, Token::SingleQuotedString(_)) {
            let rest = tokens
                .iter()
                .enumerate()
                .skip(at + 1)
                .take(OFFSET_TOKENS_MAX);
            let mut said = rest.filter(|(_, token)| !matches!(token.token, Token::Whitespace(_)));
            let is_cast = said
                .next()
                .is_some_and(|(_, token)| token.token == Token::DoubleColon);
            let end = said
                .take_while(|(_, token)| {
                    !matches!(token.token, Token::SemiColon | Token::SingleQuotedString(_))
                })
                .find(|(_, token)| ends(token));
            if let (true, Some((end, _))) = (is_cast, end) {
                written.push(TokenWithSpan::new(Token::LParen, token.span));
                closes = Some(end);
            }
        }
        if !is_space {
            begins = is_one_of(token, &["range", "rows", "groups", "between", "and"]);
        }
        written.push(token.clone());
    }
    written
}

/// Writes frames with exclusions so.
pub(super) fn with_exclusions(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_word(token, "exclude")) {
        return tokens;
    }
    let mut written: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let found = match is_word(token, "exclude") {
            true => exclusion(&tokens, at),
            false => None,
        };
        let rewritten = found.and_then(|(name, end)| {
            let (first, and) = frame(&written)?;
            let made = with_end(&written, first, and, name)?;
            Some((first, made, end))
        });
        match rewritten {
            Some((first, made, end)) => {
                written.truncate(first);
                written.extend(made);
                at = end;
            }
            None => {
                written.push(token.clone());
                at += 1;
            }
        }
    }
    written
}

/// A frame that begins at a place, with its end and what it excludes as one bound.
fn with_end(
    tokens: &[TokenWithSpan],
    first: usize,
    and: Option<usize>,
    name: &str,
) -> Option<Vec<TokenWithSpan>> {
    let span = tokens.get(first)?.span;
    let made = |token: Token| TokenWithSpan::new(token, span);
    let blank = || made(Token::Whitespace(sqlparser::tokenizer::Whitespace::Space));
    let (mut frame, kind, offset) = match and {
        Some(and) => {
            let (kind, offset) = bound(tokens.get(and + 1..)?)?;
            (tokens.get(first..=and)?.to_vec(), kind, offset)
        }
        None => {
            let start = tokens.get(first + 1..)?;
            bound(start)?;
            let between = made(Token::make_keyword("BETWEEN"));
            let mut frame = vec![tokens.get(first)?.clone(), blank(), between];
            frame.extend_from_slice(start);
            frame.extend([blank(), made(Token::make_keyword("AND"))]);
            (frame, "current", &[][..])
        }
    };
    let text = |text: &str| made(Token::SingleQuotedString(text.to_string()));
    frame.extend([
        blank(),
        made(Token::Word(Word {
            value: EXCLUDED.into(),
            quote_style: Some('"'),
            keyword: Keyword::NoKeyword,
        })),
        made(Token::LParen),
        text(name),
        made(Token::Comma),
        text(kind),
    ]);
    if !offset.is_empty() {
        frame.push(made(Token::Comma));
        frame.extend_from_slice(offset);
    }
    let following = Token::make_keyword("FOLLOWING");
    frame.extend([made(Token::RParen), blank(), made(following)]);
    Some(frame)
}

/// A frame's end as it was written, and the rows that the frame excludes.
pub(crate) fn excluded(end: &WindowFrameBound) -> Option<(WindowFrameBound, Excluded)> {
    let WindowFrameBound::Following(Some(call)) = end else {
        return None;
    };
    let Expr::Function(function) = &**call else {
        return None;
    };
    let name = function.name.0.last().and_then(|part| part.as_ident())?;
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    if name.value != EXCLUDED {
        return None;
    }
    let mut arguments = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(tree)) => Some(tree),
        _ => None,
    });
    let text = |tree: &Expr| match tree {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    };
    let (rows, kind) = (text(arguments.next()??)?, text(arguments.next()??)?);
    let offset = arguments.next().flatten().cloned().map(Box::new);
    let (_, _, rows) = KINDS.iter().find(|(name, ..)| *name == rows)?;
    let end = match kind.as_str() {
        "current" => WindowFrameBound::CurrentRow,
        "last" => WindowFrameBound::Following(None),
        "first" => WindowFrameBound::Preceding(None),
        "preceding" => WindowFrameBound::Preceding(Some(offset?)),
        _ => WindowFrameBound::Following(Some(offset?)),
    };
    Some((end, *rows))
}

//! Functions of text search, and of its operators.

use super::definition::*;
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::settings::SEARCH_CONFIG;
use crate::values::arrays::Array;
use crate::values::search::{
    Asked, Config, DISTANCE_MAX, Item, Lexeme, Query, Vector, WEIGHTS_OF_RANK, matches, question,
    rank, weight_of, wrong_distance,
};
use sardonyx::schema::Value;
use std::collections::HashSet;

pub(super) static TABLE: &[Definition] = functions! {
    array_to_tsvector(TEXTS) -> TSVECTOR, |a, _| of_array(a), "the texts of an array as lexemes";
    get_current_ts_config() -> REGCONFIG, |_, with| int(usual(with)?.number()), "the session's configuration of text search", stable, session;
    length(TSVECTOR) -> INT4, |a, _| int(vector(a, 0)?.lexemes().len()), "number of lexemes";
    numnode(TSQUERY) -> INT4, |a, _| int(query(a, 0)?.items().len()), "number of words and operators";
    phraseto_tsquery(REGCONFIG, TEXT) -> TSQUERY, |a, with| asked(config(a)?, a.text(1), Asked::Phrase, with), "the words of a text, in their order";
    phraseto_tsquery(TEXT) -> TSQUERY, |a, with| asked(usual(with)?, a.text(0), Asked::Phrase, with), "the words of a text, in their order", stable, session;
    plainto_tsquery(REGCONFIG, TEXT) -> TSQUERY, |a, with| asked(config(a)?, a.text(1), Asked::Plain, with), "all words of a text";
    plainto_tsquery(TEXT) -> TSQUERY, |a, with| asked(usual(with)?, a.text(0), Asked::Plain, with), "all words of a text", stable, session;
    querytree(TSQUERY) -> TEXT, |a, _| tree(a), "the part of a question that an index could look for; `T` if there is none";
    setweight(TSVECTOR, ONE_CHAR) -> TSVECTOR, |a, _| Ok(vector(a, 0)?.weighted(weight(a.text(1))?, None).value()), "with one weight at all places";
    setweight(TSVECTOR, ONE_CHAR, TEXTS) -> TSVECTOR, |a, _| Ok(vector(a, 0)?.weighted(weight(a.text(1))?, Some(&given_words(a, 2))).value()), "with one weight at the places of some lexemes";
    strip(TSVECTOR) -> TSVECTOR, |a, _| Ok(vector(a, 0)?.stripped().value()), "without places";
    to_tsquery(REGCONFIG, TEXT) -> TSQUERY, |a, with| asked(config(a)?, a.text(1), Asked::Operators, with), "a question whose words go through a configuration";
    to_tsquery(TEXT) -> TSQUERY, |a, with| asked(usual(with)?, a.text(0), Asked::Operators, with), "a question whose words go through a configuration", stable, session;
    to_tsvector(REGCONFIG, TEXT) -> TSVECTOR, |a, with| document(config(a)?, a.text(1), with), "the document of a text";
    to_tsvector(TEXT) -> TSVECTOR, |a, with| document(usual(with)?, a.text(0), with), "the document of a text", stable, session;
    ts_delete(TSVECTOR, TEXT) -> TSVECTOR, |a, _| Ok(vector(a, 0)?.without(&HashSet::from([a.text(1).to_string()])).value()), "without a lexeme";
    ts_delete(TSVECTOR, TEXTS) -> TSVECTOR, |a, _| Ok(vector(a, 0)?.without(&given_words(a, 1)).value()), "without some lexemes";
    ts_filter(TSVECTOR, ONE_CHARS) -> TSVECTOR, |a, _| filtered(a), "the places with some weights";
    ts_match_qv(TSQUERY, TSVECTOR) -> BOOL, |a, with| is_answer(vector(a, 1)?, query(a, 0)?, with), "`tsquery @@ tsvector`: true if the document is an answer", long;
    ts_match_vq(TSVECTOR, TSQUERY) -> BOOL, |a, with| is_answer(vector(a, 0)?, query(a, 1)?, with), "`tsvector @@ tsquery`: true if the document is an answer", long;
    ts_match_tq(TEXT, TSQUERY) -> BOOL, |a, with| is_answer(known(usual(with)?, a.text(0), with)?, query(a, 1)?, with), "`text @@ tsquery`: true if the document of the text is an answer", stable, session, long;
    ts_match_tt(TEXT, TEXT) -> BOOL, texts, "`text @@ text`: true if the document of the first is an answer to all words of the second", stable, session, long;
    ts_rank(FLOATS, TSVECTOR, TSQUERY) -> FLOAT4, |a, with| ranked(a, 1, weights(a)?, 0, with), "how well a document answers, with weights of the places from `D`", long;
    ts_rank(FLOATS, TSVECTOR, TSQUERY, INT4) -> FLOAT4, |a, with| ranked(a, 1, weights(a)?, a.int(3), with), "how well a document answers, with weights of the places from `D`, and by its length", long;
    ts_rank(TSVECTOR, TSQUERY) -> FLOAT4, |a, with| ranked(a, 0, WEIGHTS_OF_RANK, 0, with), "how well a document answers", long;
    ts_rank(TSVECTOR, TSQUERY, INT4) -> FLOAT4, |a, with| ranked(a, 0, WEIGHTS_OF_RANK, a.int(2), with), "how well a document answers, and by its length", long;
    tsquery_and(TSQUERY, TSQUERY) -> TSQUERY, |a, _| both(a, Item::And), "`tsquery && tsquery`: both";
    tsquery_not(TSQUERY) -> TSQUERY, |a, _| Ok(query(a, 0)?.negated()?.value()), "`!! tsquery`: not so";
    tsquery_or(TSQUERY, TSQUERY) -> TSQUERY, |a, _| both(a, Item::Or), "operator of two bars: one of both";
    tsquery_phrase(TSQUERY, TSQUERY) -> TSQUERY, |a, _| both(a, Item::Phrase(1)), "`tsquery <-> tsquery`: the second directly behind the first";
    tsquery_phrase(TSQUERY, TSQUERY, INT4) -> TSQUERY, |a, _| apart(a), "the second so many places behind the first";
    tsvector_concat(TSVECTOR, TSVECTOR) -> TSVECTOR, |a, _| Ok(vector(a, 0)?.joined(vector(a, 1)?)?.value()), "operator of two bars: the lexemes of both, the places of the second behind those of the first";
    tsvector_to_array(TSVECTOR) -> TEXTS, |a, _| lexemes(a), "the lexemes, as an array";
    websearch_to_tsquery(REGCONFIG, TEXT) -> TSQUERY, |a, with| asked(config(a)?, a.text(1), Asked::Web, with), "a question as people write it: quotes, `or`, `-`";
    websearch_to_tsquery(TEXT) -> TSQUERY, |a, with| asked(usual(with)?, a.text(0), Asked::Web, with), "a question as people write it: quotes, `or`, `-`", stable, session;
};

/// Bytes by which documents are compared.
pub(in crate::expression) static VECTOR_KEY: Definition = Definition::new(
    "tsvector_key",
    &[TSVECTOR],
    BYTEA,
    |a, _| Ok(Value::Bytes(vector(a, 0)?.key())),
    "",
);

/// The configuration that a call names.
///
/// # Errors
/// `42704`.
fn config(a: Arguments<'_>) -> Result<Config, SqlError> {
    let number = a.oid(0).unwrap_or(0);
    Config::of_number(number).ok_or_else(|| {
        let text = format!("cache lookup failed for text search configuration {number}");
        SqlError::new(code::UNKNOWN_OBJECT, text)
    })
}

/// The session's configuration.
fn usual(with: &Environment<'_>) -> Result<Config, SqlError> {
    let name = with.context.settings.borrow().get(SEARCH_CONFIG)?;
    Config::written(&name).ok_or_else(|| {
        let text = format!("text search configuration \"{name}\" does not exist");
        SqlError::new(code::UNKNOWN_OBJECT, text)
    })
}

fn known(config: Config, text: &str, with: &Environment<'_>) -> Result<Vector, SqlError> {
    config.vector(text, &|| with.context.between_rows())
}

fn document(config: Config, text: &str, with: &Environment<'_>) -> Answer {
    Ok(known(config, text, with)?.value())
}

fn asked(config: Config, text: &str, asked: Asked, with: &Environment<'_>) -> Answer {
    let look = || with.context.between_rows();
    Ok(question(config, text, asked, &look)?.value())
}

fn texts(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let (config, look) = (usual(with)?, || with.context.between_rows());
    let query = question(config, a.text(1), Asked::Plain, &look)?;
    is_answer(known(config, a.text(0), with)?, query, with)
}

/// The weights of an array, from `D`; negative ones are the usual ones.
///
/// # Errors
/// `2202E`, `22004` and `22023`.
fn weights(a: Arguments<'_>) -> Result<[f32; 4], SqlError> {
    let Array { bounds, elements } = Array::known(a.text(0));
    if bounds.len() != 1 {
        let text = "array of weight must be one-dimensional";
        return Err(SqlError::new("2202E", text));
    }
    if elements.len() < 4 {
        return Err(SqlError::new("2202E", "array of weight is too short"));
    }
    let mut weights = WEIGHTS_OF_RANK;
    for (weight, element) in weights.iter_mut().zip(elements) {
        let Some(element) = element else {
            let text = "array of weight must not contain nulls";
            return Err(SqlError::new(code::NULL_NOT_ALLOWED, text));
        };
        let given: f32 = element.parse().unwrap_or(-1.0);
        if given > 1.0 {
            let text = "weight out of range";
            return Err(SqlError::new(code::INVALID_PARAMETER_VALUE, text));
        }
        if given >= 0.0 {
            *weight = given;
        }
    }
    Ok(weights)
}

fn ranked(
    a: Arguments<'_>,
    at: usize,
    weights: [f32; 4],
    method: i64,
    with: &Environment<'_>,
) -> Answer {
    let look = || with.context.between_rows();
    let rank = rank(weights, &vector(a, at)?, &query(a, at + 1)?, method, &look)?;
    Ok(Value::Float(rank.into()))
}

fn vector(a: Arguments<'_>, at: usize) -> Result<Vector, SqlError> {
    Vector::known(a.text(at))
}

fn query(a: Arguments<'_>, at: usize) -> Result<Query, SqlError> {
    Query::known(a.text(at))
}

fn is_answer(vector: Vector, query: Query, with: &Environment<'_>) -> Answer {
    let look = || with.context.between_rows();
    Ok(Value::Bool(matches(&vector, &query, &look)?))
}

/// The number of a weight.
///
/// # Errors
/// `22023`.
fn weight(text: &str) -> Result<u8, SqlError> {
    let letter = text.chars().next();
    letter.and_then(weight_of).ok_or_else(|| {
        let text = format!("unrecognized weight: \"{text}\"");
        SqlError::new(code::INVALID_PARAMETER_VALUE, text)
    })
}

/// The lexemes of an array.
///
/// # Errors
/// `22004` for a null.
fn words(a: Arguments<'_>, at: usize) -> Result<HashSet<String>, SqlError> {
    let elements = Array::known(a.text(at)).elements.into_iter();
    let words = elements.map(|element| {
        element.ok_or_else(|| {
            let text = "lexeme array may not contain nulls";
            SqlError::new(code::NULL_NOT_ALLOWED, text)
        })
    });
    words.collect()
}

/// The lexemes of an array that are not null.
fn given_words(a: Arguments<'_>, at: usize) -> HashSet<String> {
    let elements = Array::known(a.text(at)).elements.into_iter();
    elements.flatten().collect()
}

fn of_array(a: Arguments<'_>) -> Answer {
    let lexemes = words(a, 0)?.into_iter().map(|word| match word.is_empty() {
        true => {
            let text = "lexeme array may not contain empty strings";
            Err(SqlError::new("2200F", text))
        }
        false => Ok(Lexeme {
            word,
            positions: Vec::new(),
        }),
    });
    Ok(Vector::of(lexemes.collect::<Result<_, _>>()?)?.value())
}

fn tree(a: Arguments<'_>) -> Answer {
    let query = query(a, 0)?;
    let is_empty = query.items().is_empty();
    let left = query.without_nots();
    text(match left.items().is_empty() && !is_empty {
        true => "T".to_string(),
        false => left.text(),
    })
}

fn filtered(a: Arguments<'_>) -> Answer {
    let letters = Array::known(a.text(1)).elements;
    let mut weights = 0;
    for letter in letters {
        let letter = letter.ok_or_else(|| {
            let text = "weight array may not contain nulls";
            SqlError::new(code::NULL_NOT_ALLOWED, text)
        })?;
        weights |= 1 << weight(&letter)?;
    }
    Ok(vector(a, 0)?.with_weights(weights).value())
}

fn both(a: Arguments<'_>, operator: Item) -> Answer {
    Ok(query(a, 0)?.with(query(a, 1)?, operator)?.value())
}

fn apart(a: Arguments<'_>) -> Answer {
    let distance = u16::try_from(a.int(2)).ok();
    let distance = distance.filter(|distance| *distance <= DISTANCE_MAX);
    let distance = distance.ok_or_else(wrong_distance)?;
    both(a, Item::Phrase(distance))
}

fn lexemes(a: Arguments<'_>) -> Answer {
    let vector = vector(a, 0)?;
    let words = vector.lexemes().iter().map(|one| Some(one.word.clone()));
    text(Array::of(words.collect()).text())
}

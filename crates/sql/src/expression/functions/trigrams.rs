//! Functions of similar texts, `pg_trgm`, of texts without accents, `unaccent`, and those that stand for their operators.

use super::definition::*;
use crate::error::SqlError;
use crate::expression::Environment;
use crate::values::arrays::Array;
use crate::values::trigrams::{shown, similarity, word_similarity};
use crate::values::unaccent::unaccented;
use sardonyx::schema::Value;

/// The least similarity for which an operator is true.
const SIMILAR: &str = "pg_trgm.similarity_threshold";
const WORDS: &str = "pg_trgm.word_similarity_threshold";
const STRICT: &str = "pg_trgm.strict_word_similarity_threshold";

pub(super) static TABLE: &[Definition] = functions! {
    show_limit() -> FLOAT4, |_, with| Ok(Value::Float(limit(SIMILAR, with)?.into())), "the least similarity for which `%` is true: pg_trgm.similarity_threshold", stable, session;
    show_trgm(TEXT) -> TEXTS, shown_of, "the trigrams of a text";
    similarity(TEXT, TEXT) -> FLOAT4, |a, with| float(similar(a, with)?), "how similar two texts are, from 0 to 1: the share of their trigrams that both have";
    similarity_dist(TEXT, TEXT) -> FLOAT4, |a, with| float(1.0 - similar(a, with)?), "`text <-> text`: 1 without the similarity";
    similarity_op(TEXT, TEXT) -> BOOL, |a, with| reaches(similar(a, with)?, SIMILAR, with), "`text % text`: true if they are similar", stable, session;
    strict_word_similarity(TEXT, TEXT) -> FLOAT4, |a, with| float(words(a, (0, 1), true, with)?), "how similar a text is to the words in a row of another one that are most similar to it", long;
    strict_word_similarity_commutator_op(TEXT, TEXT) -> BOOL, |a, with| reaches(words(a, (1, 0), true, with)?, STRICT, with), "`text %>> text`: true if words of the first are similar to the second", stable, session, long;
    strict_word_similarity_dist_commutator_op(TEXT, TEXT) -> FLOAT4, |a, with| float(1.0 - words(a, (1, 0), true, with)?), "`text <->>> text`: 1 without the strict word similarity", long;
    strict_word_similarity_dist_op(TEXT, TEXT) -> FLOAT4, |a, with| float(1.0 - words(a, (0, 1), true, with)?), "`text <<<-> text`: 1 without the strict word similarity", long;
    strict_word_similarity_op(TEXT, TEXT) -> BOOL, |a, with| reaches(words(a, (0, 1), true, with)?, STRICT, with), "`text <<% text`: true if words of the second are similar to the first", stable, session, long;
    unaccent(TEXT) -> TEXT, |a, with| text(unaccented(a.text(0), &|| with.context.between_rows())?), "without accents, by the rules of PostgreSQL's extension", stable;
    word_similarity(TEXT, TEXT) -> FLOAT4, |a, with| float(words(a, (0, 1), false, with)?), "how similar a text is to the part of another one that is most similar to it", long;
    word_similarity_commutator_op(TEXT, TEXT) -> BOOL, |a, with| reaches(words(a, (1, 0), false, with)?, WORDS, with), "`text %> text`: true if a part of the first is similar to the second", stable, session, long;
    word_similarity_dist_commutator_op(TEXT, TEXT) -> FLOAT4, |a, with| float(1.0 - words(a, (1, 0), false, with)?), "`text <->> text`: 1 without the word similarity", long;
    word_similarity_dist_op(TEXT, TEXT) -> FLOAT4, |a, with| float(1.0 - words(a, (0, 1), false, with)?), "`text <<-> text`: 1 without the word similarity", long;
    word_similarity_op(TEXT, TEXT) -> BOOL, |a, with| reaches(words(a, (0, 1), false, with)?, WORDS, with), "`text <% text`: true if a part of the second is similar to the first", stable, session, long;
};

fn float(value: f32) -> Answer {
    Ok(Value::Float(value.into()))
}

fn similar(a: Arguments<'_>, with: &Environment<'_>) -> Result<f32, SqlError> {
    similarity(a.text(0), a.text(1), &|| with.context.between_rows())
}

fn shown_of(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let all = shown(a.text(0), &|| with.context.between_rows())?;
    text(Array::of(all).text())
}

/// The similarity of one of the two texts to a part of the other one.
fn words(
    a: Arguments<'_>,
    (one, other): (usize, usize),
    is_strict: bool,
    with: &Environment<'_>,
) -> Result<f32, SqlError> {
    let look = || with.context.between_rows();
    word_similarity(a.text(one), a.text(other), is_strict, &look)
}

/// The session's value of a threshold.
fn limit(name: &str, with: &Environment<'_>) -> Result<f32, SqlError> {
    let value = with.context.settings.borrow().get(name)?;
    Ok(value.parse().unwrap_or(1.0))
}

fn reaches(similarity: f32, name: &str, with: &Environment<'_>) -> Answer {
    Ok(Value::Bool(similarity >= limit(name, with)?))
}

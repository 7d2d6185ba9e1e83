//! Functions of `hstore`, and those that stand for its operators.

use super::definition::*;
use crate::error::SqlError;
use crate::text::decode_text;
use crate::types::SqlType;
use crate::values::arrays::Array;
use crate::values::hstore::Hstore;
use sardonyx::schema::Value;
use std::collections::HashSet;

pub(super) static TABLE: &[Definition] = functions! {
    akeys(HSTORE) -> TEXTS, |a, _| keys(a), "the keys, as an array";
    avals(HSTORE) -> TEXTS, |a, _| values(a), "the values, as an array";
    defined(HSTORE, TEXT) -> BOOL, |a, _| defined(a), "true if a key is there with a value that is not null";
    delete(HSTORE, TEXT) -> HSTORE, |a, _| without(a, |key, _| key == a.text(1)), "`hstore - key`: without a pair";
    delete(HSTORE, TEXTS) -> HSTORE, |a, _| without_keys(a), "`hstore - keys`: without pairs";
    delete(HSTORE, HSTORE) -> HSTORE, |a, _| { let other = of(a, 1)?; without(a, |key, value| other.get(key) == Some(value)) }, "`hstore - hstore`: without the pairs that the second has, too";
    exist(HSTORE, TEXT) -> BOOL, |a, _| truth(of(a, 0)?.get(a.text(1)).is_some()), "`hstore ? key`: true if a key is there";
    exists_all(HSTORE, TEXTS) -> BOOL, |a, _| { let hstore = of(a, 0)?; truth(given(a, 1).iter().all(|key| hstore.get(key).is_some())) }, "`hstore ?& keys`: true if all keys are there";
    exists_any(HSTORE, TEXTS) -> BOOL, |a, _| { let hstore = of(a, 0)?; truth(given(a, 1).iter().any(|key| hstore.get(key).is_some())) }, "operator `?` with a bar: true if one of the keys is there";
    fetchval(HSTORE, TEXT) -> TEXT, |a, _| Ok(nullable(of(a, 0)?.get(a.text(1)).cloned().flatten())), "`hstore -> key`: value of a key; null if it is not there";
    hs_concat(HSTORE, HSTORE) -> HSTORE, |a, _| Ok(of(a, 0)?.joined(&of(a, 1)?).value()), "operator of two bars: pairs of both; those of the second replace others";
    hs_contained(HSTORE, HSTORE) -> BOOL, |a, _| truth(of(a, 1)?.contains(&of(a, 0)?)), "`hstore <@ hstore`: true if the second has all pairs of the first";
    hs_contains(HSTORE, HSTORE) -> BOOL, |a, _| truth(of(a, 0)?.contains(&of(a, 1)?)), "`hstore @> hstore`: true if the first has all pairs of the second";
    hstore(TEXT, TEXT) -> HSTORE, |a, _| Ok(pair(a)), "one pair; null if the key is", on_null;
    hstore(TEXTS) -> HSTORE, |a, _| Ok(Hstore::of_array(array(a, 0))?.value()), "pairs of an array of keys and values in turn, or of rows of two";
    hstore(TEXTS, TEXTS) -> HSTORE, |a, _| pairs(a), "pairs of the keys of one array and the values of another one", on_null;
    hstore_to_array(HSTORE) -> TEXTS, |a, _| all(a, false), "keys and values in turn, as an array";
    hstore_to_json(HSTORE) -> JSON, |a, _| text(of(a, 0)?.json(false)), "as an object of JSON, whose values are texts";
    hstore_to_json_loose(HSTORE) -> JSON, |a, _| text(of(a, 0)?.json(true)), "as an object of JSON, with numbers and booleans where the texts look like them";
    hstore_to_jsonb(HSTORE) -> JSONB, |a, _| jsonb(a, false), "as an object of `jsonb`, whose values are texts";
    hstore_to_jsonb_loose(HSTORE) -> JSONB, |a, _| jsonb(a, true), "as an object of `jsonb`, with numbers and booleans where the texts look like them";
    hstore_to_matrix(HSTORE) -> TEXTS, |a, _| all(a, true), "an array of rows of a key and its value";
    isdefined(HSTORE, TEXT) -> BOOL, |a, _| defined(a), "as `defined`";
    isexists(HSTORE, TEXT) -> BOOL, |a, _| truth(of(a, 0)?.get(a.text(1)).is_some()), "as `exist`";
    skeys(HSTORE) -> TEXT, |a, _| keys(a), "rows of the keys", rows;
    slice(HSTORE, TEXTS) -> HSTORE, |a, _| { let keys = key_set(a); without(a, |key, _| !keys.contains(key)) }, "the pairs of some keys";
    slice_array(HSTORE, TEXTS) -> TEXTS, |a, _| sliced(a), "`hstore -> keys`: the values of some keys, null where one is not there";
    svals(HSTORE) -> TEXT, |a, _| values(a), "rows of the values", rows;
    tconvert(TEXT, TEXT) -> HSTORE, |a, _| Ok(pair(a)), "as `hstore`", on_null;
};

/// Bytes by which values are compared.
pub(in crate::expression) static HSTORE_KEY: Definition = Definition::new(
    "hstore_key",
    &[HSTORE],
    BYTEA,
    |a, _| Ok(Value::Bytes(of(a, 0)?.key())),
    "",
);

fn of(a: Arguments<'_>, at: usize) -> Result<Hstore, SqlError> {
    Hstore::known(a.text(at))
}

fn array(a: Arguments<'_>, at: usize) -> Array {
    Array::known(a.text(at))
}

/// The texts of an array that are not null.
fn given(a: Arguments<'_>, at: usize) -> Vec<String> {
    array(a, at).elements.into_iter().flatten().collect()
}

fn jsonb(a: Arguments<'_>, is_loose: bool) -> Answer {
    decode_text(SqlType::Jsonb, &of(a, 0)?.json(is_loose))
}

fn truth(is_true: bool) -> Answer {
    Ok(Value::Bool(is_true))
}

fn nullable(text: Option<String>) -> Value {
    text.map_or(Value::Null, Value::Text)
}

fn defined(a: Arguments<'_>) -> Answer {
    truth(of(a, 0)?.get(a.text(1)).is_some_and(Option::is_some))
}

fn without(a: Arguments<'_>, is_out: impl Fn(&str, &Option<String>) -> bool) -> Answer {
    let kept = of(a, 0)?.filtered(|key, value| !is_out(key, value));
    Ok(kept.value())
}

/// The texts of the second argument that are not null: finding one takes no longer if there are many.
fn key_set(a: Arguments<'_>) -> HashSet<String> {
    given(a, 1).into_iter().collect()
}

fn without_keys(a: Arguments<'_>) -> Answer {
    let keys = key_set(a);
    without(a, |key, _| keys.contains(key))
}

fn keys(a: Arguments<'_>) -> Answer {
    let hstore = of(a, 0)?;
    let keys = hstore.pairs().iter().map(|(key, _)| Some(key.clone()));
    text(Array::of(keys.collect()).text())
}

fn values(a: Arguments<'_>) -> Answer {
    let hstore = of(a, 0)?;
    let values = hstore.pairs().iter().map(|(_, value)| value.clone());
    text(Array::of(values.collect()).text())
}

fn all(a: Arguments<'_>, has_rows: bool) -> Answer {
    let hstore = of(a, 0)?;
    let pairs = hstore.pairs().iter();
    let parts = pairs.flat_map(|(key, value)| [Some(key.clone()), value.clone()]);
    let mut array = Array::of(parts.collect());
    if has_rows && !array.elements.is_empty() {
        array.bounds = vec![(1, hstore.pairs().len()), (1, 2)];
    }
    text(array.text())
}

fn pair(a: Arguments<'_>) -> Value {
    let Some(key) = a.given_text(0) else {
        return Value::Null;
    };
    let pair = (key.to_string(), a.given_text(1).map(str::to_string));
    Hstore::of(vec![pair]).value()
}

fn pairs(a: Arguments<'_>) -> Answer {
    if a.given_text(0).is_none() {
        return Ok(Value::Null);
    }
    let values = a.given_text(1).map(Array::known);
    Ok(Hstore::of_arrays(array(a, 0), values)?.value())
}

/// The values of keys, in an array of the form that the keys have.
fn sliced(a: Arguments<'_>) -> Answer {
    let (hstore, mut keys) = (of(a, 0)?, array(a, 1));
    for element in &mut keys.elements {
        let value = element.as_deref().and_then(|key| hstore.get(key));
        *element = value.cloned().flatten();
    }
    text(keys.text())
}

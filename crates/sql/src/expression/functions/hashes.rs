//! Hashes of values, as PostgreSQL computes them.

use super::definition::*;
use crate::values::arithmetic::float_of;
use crate::values::hashes::Hashed;
use sardonyx::schema::ValueRef;

pub(super) static TABLE: &[Definition] = functions! {
    hashbpchar(CHAR) -> INT4, |a, _| int(blank_cut(a).short()), "hash of a text without blanks at its end";
    hashbpcharextended(CHAR, INT8) -> INT8, |a, _| int(blank_cut(a).long(a.int(1))), "the same with a seed, of 64 bits";
    hashfloat4(FLOAT4) -> INT4, |a, _| int(Hashed::Float(float_of(a.value(0))).short()), "hash of a float";
    hashfloat4extended(FLOAT4, INT8) -> INT8, |a, _| int(Hashed::Float(float_of(a.value(0))).long(a.int(1))), "the same with a seed, of 64 bits";
    hashfloat8(FLOAT8) -> INT4, |a, _| int(Hashed::Float(float_of(a.value(0))).short()), "hash of a float";
    hashfloat8extended(FLOAT8, INT8) -> INT8, |a, _| int(Hashed::Float(float_of(a.value(0))).long(a.int(1))), "the same with a seed, of 64 bits";
    hashint2(INT2) -> INT4, |a, _| int(word(a).short()), "hash of a whole number";
    hashint2extended(INT2, INT8) -> INT8, |a, _| int(word(a).long(a.int(1))), "the same with a seed, of 64 bits";
    hashint4(INT4) -> INT4, |a, _| int(word(a).short()), "hash of a whole number";
    hashint4extended(INT4, INT8) -> INT8, |a, _| int(word(a).long(a.int(1))), "the same with a seed, of 64 bits";
    hashint8(INT8) -> INT4, |a, _| int(Hashed::Whole(a.int(0)).short()), "hash of a whole number";
    hashint8extended(INT8, INT8) -> INT8, |a, _| int(Hashed::Whole(a.int(0)).long(a.int(1))), "the same with a seed, of 64 bits";
    hashoid(OID) -> INT4, |a, _| int(word(a).short()), "hash of the number of an object";
    hashoidextended(OID, INT8) -> INT8, |a, _| int(word(a).long(a.int(1))), "the same with a seed, of 64 bits";
    hashtext(TEXT) -> INT4, |a, _| int(Hashed::Bytes(a.text(0).as_bytes()).short()), "hash of a text";
    hashtextextended(TEXT, INT8) -> INT8, |a, _| int(Hashed::Bytes(a.text(0).as_bytes()).long(a.int(1))), "the same with a seed, of 64 bits";
    uuid_hash(UUID) -> INT4, |a, _| int(uuid(a).short()), "hash of a uuid";
    uuid_hash_extended(UUID, INT8) -> INT8, |a, _| int(uuid(a).long(a.int(1))), "the same with a seed, of 64 bits";
};

fn word(a: Arguments<'_>) -> Hashed<'static> {
    Hashed::Word(a.int(0) as u32)
}

fn blank_cut<'v>(a: Arguments<'v>) -> Hashed<'v> {
    Hashed::Bytes(a.text(0).trim_end_matches(' ').as_bytes())
}

fn uuid<'v>(a: Arguments<'v>) -> Hashed<'v> {
    match a.value(0) {
        ValueRef::Uuid(bytes) => Hashed::Bytes(bytes),
        _ => Hashed::Bytes(&[]),
    }
}

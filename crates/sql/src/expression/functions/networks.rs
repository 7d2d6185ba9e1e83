//! Functions of addresses of hosts and networks, and of their operators.
//!
//! Source: PostgreSQL 15, `src/backend/utils/adt/network.c`; its documentation, 9.12.

use super::definition::*;
use crate::error::{SqlError, code};
use crate::text::text_of;
use crate::types::SqlType;
use crate::values::networks::value;
use sardonyx::schema::{Value, ValueRef};
use sardonyx_rows::networks::Network;

pub(super) static TABLE: &[Definition] = functions! {
    abbrev(CIDR) -> TEXT, |a, _| text(of(a, 0)?.abbreviated()), "shortest text of a network";
    abbrev(INET) -> TEXT, |a, _| text(of(a, 0)?.to_string()), "shortest text of an address";
    broadcast(INET) -> INET, |a, _| with(of(a, 0)?, |one| one.address() | !one.mask()), "broadcast address of its network";
    family(INET) -> INT4, |a, _| int(if of(a, 0)?.is_six() { 6 } else { 4 }), "version of the address: 4 or 6";
    host(INET) -> TEXT, |a, _| text(of(a, 0)?.host()), "address without its mask";
    hostmask(INET) -> INET, |a, _| whole(of(a, 0)?, |one| !one.mask()), "bits that the mask does not cover";
    inet_merge(INET, INET) -> CIDR, |a, _| merged(of(a, 0)?, of(a, 1)?), "smallest network that has both";
    inet_same_family(INET, INET) -> BOOL, |a, _| Ok(Value::Bool(of(a, 0)?.is_six() == of(a, 1)?.is_six())), "are both of one version?";
    inetand(INET, INET) -> INET, |a, _| joined(a, "AND", |one, other| one & other), "`inet & inet`";
    inetmi(INET, INET) -> INT8, |a, _| difference(of(a, 0)?, of(a, 1)?), "`inet - inet`";
    inetmi_int8(INET, INT8) -> INET, |a, _| moved(of(a, 0)?, a.int(1).wrapping_neg().into()), "`inet - bigint`";
    inetnot(INET) -> INET, |a, _| with(of(a, 0)?, |one| !one.address()), "`~ inet`";
    inetor(INET, INET) -> INET, |a, _| joined(a, "OR", |one, other| one | other), "`inet \\| inet`";
    inetpl(INET, INT8) -> INET, |a, _| moved(of(a, 0)?, a.int(1).into()), "`inet + bigint`";
    masklen(INET) -> INT4, |a, _| int(of(a, 0)?.bits()), "length of its mask in bits";
    netmask(INET) -> INET, |a, _| whole(of(a, 0)?, Network::mask), "mask as an address";
    network(INET) -> CIDR, |a, _| Ok(value(of(a, 0)?.network())), "network of the address";
    network_overlap(INET, INET) -> BOOL, |a, _| within(a, |_, _| true), "`inet && inet`";
    network_sub(INET, INET) -> BOOL, |a, _| within(a, |one, other| one > other), "`inet << inet`";
    network_subeq(INET, INET) -> BOOL, |a, _| within(a, |one, other| one >= other), "`inet <<= inet`";
    network_sup(INET, INET) -> BOOL, |a, _| within(a, |one, other| one < other), "`inet >> inet`";
    network_supeq(INET, INET) -> BOOL, |a, _| within(a, |one, other| one <= other), "`inet >>= inet`";
    set_masklen(CIDR, INT4) -> CIDR, |a, _| Ok(value(masked(a)?.network())), "network with a mask of this length; -1 for the whole address";
    set_masklen(INET, INT4) -> INET, |a, _| Ok(value(masked(a)?)), "address with a mask of this length; -1 for the whole address";
};

fn of(a: Arguments<'_>, at: usize) -> Result<Network, SqlError> {
    let found = match a.value(at) {
        ValueRef::Bytes(bytes) => Network::decode(bytes),
        _ => None,
    };
    found.ok_or_else(|| SqlError::new(code::INVALID_TEXT, "these bytes are no address"))
}

fn wrong(message: &str) -> SqlError {
    SqlError::new(code::INVALID_PARAMETER_VALUE, message)
}

fn beyond() -> SqlError {
    SqlError::new(code::OUT_OF_RANGE, "result is out of range")
}

/// The bits of a number that fit into an address.
fn cut(one: Network, bits: u128) -> u128 {
    bits & u128::MAX >> (128 - one.most_bits())
}

/// The same with another address.
fn with(one: Network, address: impl Fn(Network) -> u128) -> Answer {
    let other = one.with_address(cut(one, address(one)));
    other.map(value).ok_or_else(beyond)
}

/// An address whose mask covers it.
fn whole(one: Network, address: impl Fn(Network) -> u128) -> Answer {
    let other = Network::new(one.is_six(), cut(one, address(one)), one.most_bits());
    other.map(value).ok_or_else(beyond)
}

fn masked(a: Arguments<'_>) -> Result<Network, SqlError> {
    let (one, bits) = (of(a, 0)?, a.int(1));
    let wanted = match bits {
        -1 => Some(one.most_bits()),
        bits => u8::try_from(bits).ok(),
    };
    let found = wanted.and_then(|wanted| one.with_bits(wanted));
    found.ok_or_else(|| wrong(&format!("invalid mask length: {bits}")))
}

/// True if the two agree in the bits of both masks, and the masks' lengths meet the condition.
fn within(a: Arguments<'_>, is_so: fn(u8, u8) -> bool) -> Answer {
    let (one, other) = (of(a, 0)?, of(a, 1)?);
    let least = one.bits().min(other.bits());
    let found = one.agrees(other, least) && is_so(one.bits(), other.bits());
    Ok(Value::Bool(found))
}

fn joined(a: Arguments<'_>, operator: &str, join: fn(u128, u128) -> u128) -> Answer {
    let (one, other) = (of(a, 0)?, of(a, 1)?);
    if one.is_six() != other.is_six() {
        let text = format!("cannot {operator} inet values of different sizes");
        return Err(wrong(&text));
    }
    let bits = one.bits().max(other.bits());
    let address = join(one.address(), other.address());
    let found = Network::new(one.is_six(), address, bits);
    found.map(value).ok_or_else(beyond)
}

/// An address as it is shown.
pub(in crate::expression) static INET_TEXT: Definition = Definition::new(
    "inet_out",
    &[INET],
    TEXT,
    |a, _| Ok(text_of(SqlType::Inet, a.value(0)).map_or(Value::Null, Value::Text)),
    "",
);

fn moved(one: Network, by: i128) -> Answer {
    let address = one.address().checked_add_signed(by);
    let found = address.and_then(|address| one.with_address(address));
    found.map(value).ok_or_else(beyond)
}

fn difference(one: Network, other: Network) -> Answer {
    if one.is_six() != other.is_six() {
        return Err(wrong("cannot subtract inet values of different sizes"));
    }
    let (a, b) = (one.address(), other.address());
    // Addresses of 128 bits are subtracted as signed numbers of so many bits: the last one less the first is -1.
    let distance = a.wrapping_sub(b).cast_signed();
    int(i64::try_from(distance).map_err(|_| beyond())?)
}

fn merged(one: Network, other: Network) -> Answer {
    if one.is_six() != other.is_six() {
        return Err(wrong("cannot merge addresses from different families"));
    }
    let least = one.bits().min(other.bits());
    let bits = (0..=least).rev().find(|bits| one.agrees(other, *bits));
    let found = bits.and_then(|bits| one.with_bits(bits));
    let found = found.map(|found| value(found.network()));
    found.ok_or_else(beyond)
}

//! Addresses of hosts and networks, `inet` and `cidr`, as PostgreSQL reads and writes them. Columns store the bytes of
//! [`Network`].
//!
//! A column of the engine refuses all other bytes, so a value read from one is an address.
//!
//! Source: PostgreSQL 15, `src/backend/utils/adt/network.c`.

use crate::error::{SqlError, code, invalid};
use crate::types::SqlType;
use sardonyx::schema::Value;
use sardonyx_rows::networks::{Network, NotANetwork};

/// `AF_INET`, and PostgreSQL's number of version 6, in the binary format.
const FAMILIES: [u8; 2] = [2, 3];
const HAS_HOST: &str = "Value has bits set to right of mask.";

/// The value of an address.
pub(crate) fn value(network: Network) -> Value {
    Value::Bytes(network.encode())
}

/// Reads an address from PostgreSQL's text format.
///
/// # Errors
/// `22P02`.
pub(crate) fn read(kind: SqlType, text: &str) -> Result<Value, SqlError> {
    let found = Network::parse(text, kind == SqlType::Cidr);
    found.map(value).map_err(|error| match error {
        NotANetwork::Malformed => invalid(kind, text),
        NotANetwork::HasHost => {
            let message = format!("invalid cidr value: \"{text}\"");
            SqlError::new(code::INVALID_TEXT, message).detail(HAS_HOST)
        }
    })
}

/// Appends an address in PostgreSQL's text format.
pub(crate) fn push(kind: SqlType, bytes: &[u8], out: &mut String) {
    if let Some(network) = Network::decode(bytes) {
        *out += &match kind {
            SqlType::Cidr => network.with_mask(),
            _ => network.to_string(),
        };
    }
}

/// An address cast to a text: always with its mask.
pub(crate) fn with_mask(bytes: &[u8]) -> String {
    let network = Network::decode(bytes);
    network.map(Network::with_mask).unwrap_or_default()
}

/// Converts an address between the two types: a `cidr` has no host.
pub(crate) fn cast(bytes: &[u8], to: SqlType) -> Value {
    match (Network::decode(bytes), to) {
        (Some(network), SqlType::Cidr) => value(network.network()),
        _ => Value::Bytes(bytes.to_vec()),
    }
}

/// Appends an address in PostgreSQL's binary format: family, mask, a flag for `cidr`, length, address.
pub(crate) fn send(kind: SqlType, bytes: &[u8], out: &mut Vec<u8>) {
    if let Some(network) = Network::decode(bytes) {
        let (address, length) = network.bytes();
        let family = FAMILIES[usize::from(network.is_six())];
        let is_cidr = u8::from(kind == SqlType::Cidr);
        out.extend([family, network.bits(), is_cidr, length as u8]);
        out.extend(address.iter().take(length));
    }
}

/// Reads an address from PostgreSQL's binary format.
///
/// # Errors
/// `22P03`.
pub(crate) fn receive(kind: SqlType, bytes: &[u8]) -> Result<Value, SqlError> {
    let wrong = |what: &str| {
        let message = format!("invalid {what} in external \"{}\" value", kind.name());
        SqlError::new(code::INVALID_BINARY, message)
    };
    // The mark of a `cidr` is ignored: the type is known.
    let [family, bits, _, length, address @ ..] = bytes else {
        return Err(wrong("length"));
    };
    let Some(version) = FAMILIES.iter().position(|known| known == family) else {
        return Err(wrong("address family"));
    };
    let is_six = version == 1;
    let whole = if is_six { 16 } else { 4 };
    if usize::from(*length) != whole || address.len() != whole {
        return Err(wrong("length"));
    }
    let number = address.iter();
    let number = number.fold(0_u128, |before, byte| before << 8 | u128::from(*byte));
    let network = Network::new(is_six, number, *bits).ok_or_else(|| wrong("bits"))?;
    match kind == SqlType::Cidr && network.network() != network {
        true => {
            let message = "invalid external \"cidr\" value";
            Err(SqlError::new(code::INVALID_BINARY, message).detail(HAS_HOST))
        }
        false => Ok(value(network)),
    }
}

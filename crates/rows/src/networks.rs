//! Addresses of hosts and networks: the values of the declared types `inet` and `cidr`, whose columns are bytes.
//!
//! ```text
//! 0        1            5 or 17   6 or 18
//! ├ 4 or 6 ┼ network ───┼ mask ───┤                 the mask covers the address
//! ├ 4 or 6 ┼ network ───┼ mask ───┼ address ────┤   a shorter mask
//! ```
//!
//! The network is the address with zeros behind the mask, whose length is in bits. So bytes are ordered as PostgreSQL orders
//! addresses: by family, by the bits that both masks cover, by mask, by address. Hence indexes, keys and references of such a
//! column are those of its bytes.
//!
//! Invariant: a value has exactly one form, so equal values have equal bytes. [`Network::decode`] accepts that form only.
//!
//! Source: PostgreSQL 15, `src/backend/utils/adt/inet_net_pton.c`, `src/port/inet_net_ntop.c`, `network_cmp_internal`.

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::fmt::{self, Write};
use std::net::Ipv6Addr;

/// The bits of an address of version 4.
const BITS_4: u8 = 32;
/// The bits of an address of version 6.
const BITS_6: u8 = 128;

/// An address with a mask.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Network {
    is_six: bool,
    bits: u8,
    /// Of version 4 the lower 32 bits.
    address: u128,
}

/// The reason why a text is no address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotANetwork {
    /// It does not have the form of one.
    #[error("this is no address of a host or a network, as 10.1.2.3, 10.1.2.0/24 or 2001:db8::/32")]
    Malformed,
    /// It is the address of a host, where that of a network is wanted.
    #[error("the address of a network has no bits set to the right of its mask")]
    HasHost,
}

impl Network {
    /// An address with a mask of so many bits; `None` if it has fewer.
    pub fn new(is_six: bool, address: u128, bits: u8) -> Option<Network> {
        let most = most_bits(is_six);
        let fits = bits <= most && (is_six || address >> BITS_4 == 0);
        fits.then_some(Network {
            is_six,
            bits,
            address,
        })
    }

    /// True of version 6, false of version 4.
    pub fn is_six(self) -> bool {
        self.is_six
    }

    /// The length of the mask.
    pub fn bits(self) -> u8 {
        self.bits
    }

    /// The length of the address in bits.
    pub fn most_bits(self) -> u8 {
        most_bits(self.is_six)
    }

    /// An IPv4 address has the lowest 32 bits.
    pub fn address(self) -> u128 {
        self.address
    }

    /// The address as bytes, in the order of the network.
    pub fn bytes(self) -> ([u8; 16], usize) {
        bytes_of(self.is_six, self.address)
    }

    /// The address of a mask of so many bits.
    pub fn mask(self) -> u128 {
        mask_of(self.is_six, self.bits)
    }

    /// The same without a host: zeros behind the mask.
    pub fn network(self) -> Network {
        let address = self.address & self.mask();
        Network { address, ..self }
    }

    /// The same with another mask; `None` if it is longer than the address.
    pub fn with_bits(self, bits: u8) -> Option<Network> {
        Network::new(self.is_six, self.address, bits)
    }

    /// The same with another address; `None` if that is too large.
    pub fn with_address(self, address: u128) -> Option<Network> {
        Network::new(self.is_six, address, self.bits)
    }

    /// True if the first bits of two addresses of one version are the same.
    pub fn agrees(self, other: Network, bits: u8) -> bool {
        let mask = mask_of(self.is_six, bits);
        self.is_six == other.is_six && self.address & mask == other.address & mask
    }

    /// It as bytes, as a column has them.
    #[inline]
    pub fn encode(self) -> Vec<u8> {
        let (network, length) = self.network().bytes();
        let mut bytes = Vec::with_capacity(2 + 2 * length);
        bytes.push(if self.is_six { 6 } else { 4 });
        bytes.extend(network.iter().take(length));
        bytes.push(self.bits);
        if self.bits < self.most_bits() {
            bytes.extend(self.bytes().0.iter().take(length));
        }
        bytes
    }

    /// Reads what [`Network::encode`] wrote; `None` for any other bytes.
    pub fn decode(bytes: &[u8]) -> Option<Network> {
        let (version, rest) = bytes.split_first()?;
        let is_six = match version {
            4 => false,
            6 => true,
            _ => return None,
        };
        let length = usize::from(most_bits(is_six) / 8);
        let (network, rest) = rest.split_at_checked(length)?;
        let (bits, host) = rest.split_first()?;
        let is_whole = *bits == most_bits(is_six);
        let address = if is_whole { network } else { host };
        if address.len() != length || is_whole && !host.is_empty() {
            return None;
        }
        let number = |bytes: &[u8]| {
            let bytes = bytes.iter();
            bytes.fold(0_u128, |before, byte| before << 8 | u128::from(*byte))
        };
        let found = Network::new(is_six, number(address), *bits)?;
        (found.network().address == number(network)).then_some(found)
    }

    /// Reads an address, or that of a network.
    ///
    /// # Errors
    /// [`NotANetwork`].
    #[inline]
    pub fn parse(text: &str, is_cidr: bool) -> Result<Network, NotANetwork> {
        let found = match (text.contains(':'), is_cidr) {
            (true, _) => parse_six(text),
            (false, false) => parse_four(text),
            (false, true) => parse_class(text),
        };
        let found = found.ok_or(NotANetwork::Malformed)?;
        match is_cidr && found.network() != found {
            true => Err(NotANetwork::HasHost),
            false => Ok(found),
        }
    }

    /// The address without its mask.
    #[inline]
    pub fn host(self) -> String {
        let mut text = String::new();
        match self.is_six {
            true => push_six(self.address, &mut text),
            false => push_four(self.address, &mut text),
        }
        text
    }

    /// The address with its mask, also if that covers the address.
    #[inline]
    pub fn with_mask(self) -> String {
        format!("{}/{}", self.host(), self.bits)
    }

    /// The shortest text that a `cidr` is read from.
    #[inline]
    pub fn abbreviated(self) -> String {
        let mut text = String::new();
        let (bytes, _) = self.network().bytes();
        match self.is_six {
            true => push_short_six(bytes, self.bits, &mut text),
            false if self.bits == 0 => text.push('0'),
            false => {
                let octets = usize::from(self.bits.div_ceil(8));
                let octets: Vec<String> = bytes.iter().take(octets).map(u8::to_string).collect();
                text = octets.join(".");
            }
        }
        let _ = write!(text, "/{}", self.bits);
        text
    }
}

impl fmt::Display for Network {
    /// The text of an `inet`, whose mask is left out if it covers the address.
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bits == self.most_bits() {
            true => f.write_str(&self.host()),
            false => f.write_str(&self.with_mask()),
        }
    }
}

const fn most_bits(is_six: bool) -> u8 {
    if is_six { BITS_6 } else { BITS_4 }
}

fn mask_of(is_six: bool, bits: u8) -> u128 {
    let most = most_bits(is_six);
    let all = u128::MAX >> (BITS_6 - most);
    let host = all.checked_shr(bits.into()).unwrap_or(0);
    all & !host
}

fn bytes_of(is_six: bool, address: u128) -> ([u8; 16], usize) {
    match is_six {
        true => (address.to_be_bytes(), 16),
        false => ((address << (BITS_6 - BITS_4)).to_be_bytes(), 4),
    }
}

/// Takes the number at the beginning of a text; `None` if there is none, or it is above `most`.
#[inline]
fn take_number(text: &mut &[u8], most: u32) -> Option<u8> {
    let mut number = None;
    while let [digit @ b'0'..=b'9', rest @ ..] = text {
        let grown = number.unwrap_or(0) * 10 + u32::from(digit - b'0');
        if grown > most {
            return None;
        }
        (number, *text) = (Some(grown), rest);
    }
    number.map(|number| number as u8)
}

/// The mask behind an address, if a text has one: nothing may follow it.
#[inline]
fn take_mask(text: &[u8], most: u8) -> Option<Option<u8>> {
    match text {
        [] => Some(None),
        [b'/', rest @ ..] => {
            let mut rest = rest;
            let bits = take_number(&mut rest, most.into())?;
            rest.is_empty().then_some(Some(bits))
        }
        _ => None,
    }
}

#[inline]
fn number_of(octets: &[u8]) -> u128 {
    let whole = octets.iter().chain(std::iter::repeat(&0)).take(4);
    whole.fold(0, |before, octet| before << 8 | u128::from(*octet))
}

/// A host of version 4: four octets, or fewer with a mask that they cover.
#[inline]
fn parse_four(text: &str) -> Option<Network> {
    let mut rest = text.as_bytes();
    let mut octets = Vec::with_capacity(4);
    while rest.first().is_some_and(u8::is_ascii_digit) {
        let octet = take_number(&mut rest, 255)?;
        if octets.len() == 4 {
            return None;
        }
        octets.push(octet);
        match rest {
            [b'.', behind @ ..] => rest = behind,
            _ => break,
        }
    }
    if octets.is_empty() {
        return None;
    }
    let bits = match take_mask(rest, BITS_4)? {
        Some(bits) => bits,
        None if octets.len() == 4 && !text.ends_with('.') => BITS_4,
        None => return None,
    };
    let covers = usize::from(bits / 8) <= octets.len();
    covers.then_some(Network::new(false, number_of(&octets), bits)?)
}

/// A network of version 4, whose mask is that of its class if there is none.
#[inline]
fn parse_class(text: &str) -> Option<Network> {
    let mut rest = text.as_bytes();
    let mut octets: Vec<u8> = Vec::with_capacity(4);
    if let [b'0', b'x' | b'X', digits @ ..] = rest
        && digits.first().is_some_and(u8::is_ascii_hexdigit)
    {
        let end = digits.iter().position(|digit| !digit.is_ascii_hexdigit());
        let (digits, behind) = digits.split_at_checked(end.unwrap_or(digits.len()))?;
        rest = behind;
        let value = |digit: u8| char::from(digit).to_digit(16).unwrap_or(0) as u8;
        let pairs = digits.chunks(2);
        octets.extend(pairs.map(|pair| match *pair {
            [upper, lower] => value(upper) << 4 | value(lower),
            [upper] => value(upper) << 4,
            _ => 0,
        }));
    } else {
        loop {
            octets.push(take_number(&mut rest, 255)?);
            match rest {
                [b'.', behind @ ..] if octets.len() < 4 => rest = behind,
                _ => break,
            }
        }
    }
    if octets.len() > 4 {
        return None;
    }
    let given = take_mask(rest, BITS_4)?;
    let first = octets.first().copied()?;
    let said = 8 * octets.len() as u8;
    let bits = given.unwrap_or_else(|| {
        let of_class = match first {
            240.. => 32,
            224.. => 8,
            192.. => 24,
            128.. => 16,
            _ => 8,
        };
        match of_class.max(said) {
            8 if first == 224 => 4,
            bits => bits,
        }
    });
    Network::new(false, number_of(&octets), bits)
}

#[inline]
fn parse_six(text: &str) -> Option<Network> {
    let (address, mask) = match text.split_once('/') {
        None => (text, None),
        Some((address, mask)) => (address, Some(mask)),
    };
    let address: Ipv6Addr = address.parse().ok()?;
    let bits = match mask {
        None => BITS_6,
        Some(mask) => {
            let mut rest = mask.as_bytes();
            let bits = take_number(&mut rest, BITS_6.into())?;
            let is_plain = rest.is_empty() && (mask.len() == 1 || !mask.starts_with('0'));
            is_plain.then_some(bits)?
        }
    };
    Network::new(true, address.into(), bits)
}

fn push_four(address: u128, text: &mut String) {
    let [a, b, c, d] = (address as u32).to_be_bytes();
    let _ = write!(text, "{a}.{b}.{c}.{d}");
}

/// The longest run of zeros, the first of several, as its first word and its length: none of fewer than two.
#[inline]
fn zeros_of(words: &[u16]) -> (usize, usize) {
    let (mut best, mut at) = ((0, 1), 0);
    while at < words.len() {
        let rest = words.iter().skip(at);
        let length = rest.take_while(|word| **word == 0).count();
        if length > best.1 {
            best = (at, length);
        }
        at += length.max(1);
    }
    if best.1 < 2 { (0, 0) } else { best }
}

#[inline]
fn push_six(address: u128, text: &mut String) {
    let words = Ipv6Addr::from(address).segments();
    let (first, length) = zeros_of(&words);
    let is_four = first == 0
        && (length == 6 || length == 7 && words[7] != 1 || length == 5 && words[5] == 0xffff);
    for (at, word) in words.iter().enumerate() {
        if length > 0 && (first..first + length).contains(&at) {
            if at == first {
                text.push(':');
            }
            continue;
        }
        if at > 0 {
            text.push(':');
        }
        if is_four && at == 6 {
            push_four(address & u128::from(u32::MAX), text);
            break;
        }
        let _ = write!(text, "{word:x}");
    }
    if length > 0 && first + length == words.len() {
        text.push(':');
    }
}

/// As PostgreSQL's `inet_cidr_ntop` writes it: no more words than the mask covers, two at least.
#[inline]
fn push_short_six(bytes: [u8; 16], bits: u8, text: &mut String) {
    if bits == 0 {
        text.push_str("::");
        return;
    }
    let all = Ipv6Addr::from(bytes).segments();
    let count = usize::from(bits.div_ceil(16)).max(2);
    let words = all.iter().take(count);
    let (mut first, mut length, mut start, mut run) = (0, 0, 0, 0);
    for (at, word) in words.clone().enumerate() {
        if *word == 0 {
            if run == 0 {
                start = at;
            }
            run += 1;
        } else if run > length {
            (first, length, run) = (start, run, 0);
        }
    }
    if run > length {
        (first, length) = (start, run);
    }
    let is_four = length != count
        && first == 0
        && (length == 6
            || length == 5 && all[5] == 0xffff
            || length == 7 && bytes[14] != 0 && bytes[15] != 1);
    for (at, word) in words.enumerate() {
        if length > 0 && (first..first + length).contains(&at) {
            if at == first {
                text.push(':');
            }
            if at == count - 1 {
                text.push(':');
            }
            continue;
        }
        if is_four && at > 5 {
            let [upper, lower] = word.to_be_bytes();
            text.push(if at == 6 { ':' } else { '.' });
            let _ = write!(text, "{upper}");
            if at != 7 || bits > 120 {
                let _ = write!(text, ".{lower}");
            }
            continue;
        }
        if !text.is_empty() {
            text.push(':');
        }
        let _ = write!(text, "{word:x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// PostgreSQL 15's order: `network_cmp_internal`.
    fn compare(a: Network, b: Network) -> std::cmp::Ordering {
        let least = a.bits.min(b.bits);
        let masked = |one: Network| one.address & mask_of(one.is_six, least);
        let by_family = a.is_six.cmp(&b.is_six);
        by_family
            .then_with(|| masked(a).cmp(&masked(b)))
            .then(a.bits.cmp(&b.bits))
            .then(a.address.cmp(&b.address))
    }

    fn any_network() -> impl Strategy<Value = Network> {
        // Few different bits, so that networks are in each other.
        (any::<bool>(), 0..=128_u8, 0..4_u128, 0..128_u32).prop_map(
            |(is_six, bits, some, shift)| {
                let address = match is_six {
                    true => some << shift,
                    false => some << (shift % 32) & u128::from(u32::MAX),
                };
                let bits = bits % (most_bits(is_six) + 1);
                Network::new(is_six, address, bits).expect("it fits")
            },
        )
    }

    proptest! {
        #[test]
        fn bytes_are_in_the_order_of_addresses(a in any_network(), b in any_network()) {
            prop_assert_eq!(a.encode().cmp(&b.encode()), compare(a, b), "{} {}", a, b);
        }

        #[test]
        fn what_is_written_is_read(one in any_network()) {
            prop_assert_eq!(Network::decode(&one.encode()), Some(one));
            prop_assert_eq!(Network::parse(&one.to_string(), false), Ok(one));
            prop_assert_eq!(Network::parse(&one.with_mask(), false), Ok(one));
            let network = one.network();
            prop_assert_eq!(Network::parse(&network.with_mask(), true), Ok(network));
        }

        #[test]
        fn other_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Some(found) = Network::decode(&bytes) {
                prop_assert_eq!(found.encode(), bytes);
            }
        }

        #[test]
        fn a_changed_byte_is_another_value_or_none(one in any_network(), at in any::<usize>(), bit in 0..8_u8) {
            let mut bytes = one.encode();
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            if let Some(other) = Network::decode(&bytes) {
                prop_assert_ne!(other, one);
                prop_assert_eq!(other.encode(), bytes);
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[0-9a-fx:./]{0,24}", is_cidr: bool) {
            if let Ok(found) = Network::parse(&text, is_cidr) {
                prop_assert_eq!(Network::parse(&found.with_mask(), is_cidr), Ok(found));
            }
        }
    }

    #[test]
    fn texts_are_those_of_postgresql() {
        for (text, shown) in [
            ("192.168.1.5", "192.168.1.5"),
            ("192.168.1.5/24", "192.168.1.5/24"),
            ("10/8", "10.0.0.0/8"),
            ("1.2./16", "1.2.0.0/16"),
            ("::ffff:1.2.3.4", "::ffff:1.2.3.4"),
            ("::1", "::1"),
            ("::", "::"),
            ("::1.2.3.4", "::1.2.3.4"),
            ("2001:db8:0:0:1:0:0:1/64", "2001:db8::1:0:0:1/64"),
            ("2001:DB8::", "2001:db8::"),
        ] {
            let found = Network::parse(text, false).map(|found| found.to_string());
            assert_eq!(found.as_deref(), Ok(shown), "{text}");
        }
        for text in [
            "",
            "1.2.3",
            "1.2.3.4.5",
            "1.2.3.4/33",
            "256.1.1.1",
            "1.2.3.4/",
            "1.2/24",
            "1.2.3.4 ",
            "::1/129",
            "::1/",
            "::1/064",
            ":::",
            "1.2.3.4.",
        ] {
            assert_eq!(
                Network::parse(text, false),
                Err(NotANetwork::Malformed),
                "{text}"
            );
        }
        for (text, shown) in [
            ("10", "10.0.0.0/8"),
            ("192.168.1", "192.168.1.0/24"),
            ("128.1", "128.1.0.0/16"),
            ("224", "224.0.0.0/4"),
            ("240", "240.0.0.0/32"),
            ("0xac10", "172.16.0.0/16"),
            ("10.1.2.3/32", "10.1.2.3/32"),
        ] {
            let found = Network::parse(text, true).map(|found| found.with_mask());
            assert_eq!(found.as_deref(), Ok(shown), "{text}");
        }
        assert_eq!(
            Network::parse("10.1.2.3/24", true),
            Err(NotANetwork::HasHost)
        );
    }
}

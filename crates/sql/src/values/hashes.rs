//! Hashes as PostgreSQL computes them, for clients that divide rows by `hashtext` and its kin, or that choose numbers of
//! advisory locks by it. Nothing here is kept or found by them.
//!
//! Source: `hash_bytes` and `hash_bytes_extended` of PostgreSQL 15, after Bob Jenkins' lookup3.

/// The state: three words.
type Words = (u32, u32, u32);

fn begun(length: usize) -> u32 {
    0x9e37_79b9_u32
        .wrapping_add(length as u32)
        .wrapping_add(3_923_095)
}

fn mixed((mut a, mut b, mut c): Words) -> Words {
    for (first, second) in [(4, 6), (8, 16), (19, 4)] {
        a = a.wrapping_sub(c) ^ c.rotate_left(first);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(second);
        a = a.wrapping_add(c);
        // The three words take turns.
        (a, b, c) = (c, a, b);
    }
    (a, b, c)
}

fn last((mut a, mut b, mut c): Words) -> Words {
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    c = (c ^ b).wrapping_sub(b.rotate_left(24));
    (a, b, c)
}

fn seeded(length: usize, seed: u64) -> Words {
    let word = begun(length);
    match seed {
        0 => (word, word, word),
        _ => mixed((
            word.wrapping_add((seed >> 32) as u32),
            word.wrapping_add(seed as u32),
            word,
        )),
    }
}

fn word(bytes: &[u8]) -> u32 {
    let bytes = bytes.iter().take(4).rev();
    bytes.fold(0, |word, byte| (word << 8) | u32::from(*byte))
}

fn hashed(bytes: &[u8], seed: u64) -> Words {
    let (mut a, mut b, mut c) = seeded(bytes.len(), seed);
    let mut parts = bytes.chunks_exact(12);
    for part in &mut parts {
        a = a.wrapping_add(word(&part[..4]));
        b = b.wrapping_add(word(&part[4..8]));
        c = c.wrapping_add(word(&part[8..]));
        (a, b, c) = mixed((a, b, c));
    }
    let rest = parts.remainder();
    let from = |at: usize| word(rest.get(at..).unwrap_or_default());
    a = a.wrapping_add(from(0));
    b = b.wrapping_add(from(4));
    // The lowest byte of the third word is that of the length.
    c = c.wrapping_add(from(8) << 8);
    last((a, b, c))
}

fn hashed_word(value: u32, seed: u64) -> Words {
    let (a, b, c) = seeded(4, seed);
    last((a.wrapping_add(value), b, c))
}

fn short((_, _, c): Words) -> i64 {
    i64::from(c as i32)
}

fn long((_, b, c): Words) -> i64 {
    ((u64::from(b) << 32) | u64::from(c)) as i64
}

/// A value that is hashed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Hashed<'b> {
    Bytes(&'b [u8]),
    /// A number of 32 bits.
    Word(u32),
    /// A number of 64 bits; a small one has the hash of the same number of 32 bits.
    Whole(i64),
    Float(f64),
}

impl Hashed<'_> {
    fn words(self, seed: u64) -> Option<Words> {
        Some(match self {
            Hashed::Bytes(bytes) => hashed(bytes, seed),
            Hashed::Word(word) => hashed_word(word, seed),
            Hashed::Whole(value) => {
                let high = (value >> 32) as u32;
                let high = if value < 0 { !high } else { high };
                hashed_word(value as u32 ^ high, seed)
            }
            // Both zeros are equal.
            Hashed::Float(0.0) => return None,
            Hashed::Float(value) if value.is_nan() => hashed(&f64::NAN.to_le_bytes(), seed),
            Hashed::Float(value) => hashed(&value.to_le_bytes(), seed),
        })
    }

    /// The hash of 32 bits.
    pub fn short(self) -> i64 {
        self.words(0).map_or(0, short)
    }

    /// The hash of 64 bits.
    pub fn long(self, seed: i64) -> i64 {
        self.words(seed as u64).map_or(seed, long)
    }
}

//! The kinds of values, and their names in rows.

/// The kinds of values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    String,
    Hash,
    Set,
    SortedSet,
    List,
    Stream,
    /// Nothing that is known here: another program wrote the row. Commands for the other kinds refuse it; it can be
    /// deleted and replaced.
    Unknown,
}

impl Kind {
    /// The kinds that commands create.
    pub const KNOWN: [Kind; 6] = [
        Kind::String,
        Kind::Hash,
        Kind::Set,
        Kind::SortedSet,
        Kind::List,
        Kind::Stream,
    ];

    /// The name in `TYPE` and in `kv`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::String => "string",
            Kind::Hash => "hash",
            Kind::Set => "set",
            Kind::SortedSet => "zset",
            Kind::List => "list",
            Kind::Stream => "stream",
            Kind::Unknown => "unknown",
        }
    }

    /// The kind whose name is stored in these words of a row: its length in four bytes, and the name behind it.
    #[inline]
    pub fn stored(words: [u64; 2]) -> Option<Kind> {
        const STORED: [([u64; 2], Kind); 6] = [
            (stored("string"), Kind::String),
            (stored("hash"), Kind::Hash),
            (stored("set"), Kind::Set),
            (stored("zset"), Kind::SortedSet),
            (stored("list"), Kind::List),
            (stored("stream"), Kind::Stream),
        ];
        let found = STORED.iter().find(|(stored, _)| *stored == words);
        found.map(|(_, kind)| *kind)
    }

    #[inline]
    pub fn named(name: &[u8]) -> Option<Kind> {
        Some(match name {
            b"string" => Kind::String,
            b"hash" => Kind::Hash,
            b"set" => Kind::Set,
            b"zset" => Kind::SortedSet,
            b"list" => Kind::List,
            b"stream" => Kind::Stream,
            _ => return None,
        })
    }
}

/// A short text as it is stored in a row: the words of its reference.
const fn stored(text: &str) -> [u64; 2] {
    let (bytes, mut words) = (text.as_bytes(), [text.len() as u64, 0]);
    let mut at = 0;
    while at < bytes.len() {
        let place = at + 4;
        words[place / 8] |= (bytes[at] as u64) << (place % 8 * 8);
        at += 1;
    }
    words
}

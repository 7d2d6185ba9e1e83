//! What the two sides say to each other, and how it is put into frames.
//!
//! A frame is a length (four bytes, big-endian, as [`LengthDelimitedCodec`] writes it), a CRC-32C of
//! the rest, a byte that says what it is, and the content. The connection begins with the primary's
//! [`Hello`], which names the protocol's version before anything that may change with it, and the
//! standby's [`Message::Welcome`] or [`Message::Refused`].
//!
//! Nothing here does I/O. Every length is checked before it is believed: a frame that is longer than
//! the side expects is refused by its length alone.
//!
//! Source: TPK paper, section 3, configuration C (there by remote procedure call).

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use crate::refusal::{ProtocolError, Refusal};
use bytes::{BufMut, Bytes, BytesMut};
use sardonyx_base::crc32c;
use sardonyx_base::token::Token;
use sardonyx_storage::journal::Retention;
use sardonyx_storage::log::{LogPosition, Lsn};
use sardonyx_storage::manifest::Manifest;
use serde::{Deserialize, Serialize};
use tokio_util::codec::LengthDelimitedCodec;

/// The version of the protocol that is spoken here. Version 2 has a token in the greeting, and groups that are not
/// durable at the primary yet; version 3 standbys that have nothing and are given a seed. The sides of another version refuse each other by [`Refusal::Version`], so what
/// that is made of never changes: new kinds of messages and refusals come last.
pub const PROTOCOL_VERSION: u32 = 3;

/// So many groups the primary may send that are not durable there yet.
pub const GROUPS_AHEAD_MAX: usize = 8;

/// The longest frame before the sides know each other, and of all that is not a group or pages.
pub const MESSAGE_BYTES_MAX: usize = 64 << 10;

/// The most bytes of pages in one frame.
pub const PAGES_BYTES_MAX: usize = 1 << 20;

const MAGIC: &[u8; 8] = b"SardonyC";
const CHECKSUM_BYTES: usize = 4;

const TAG_HELLO: u8 = 1;
const TAG_MESSAGE: u8 = 2;
const TAG_GROUP: u8 = 3;
const TAG_PAGES: u8 = 4;

/// A [`LogPosition`] on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WirePosition {
    lsn: u64,
    group: u64,
    transactions: u64,
    incarnation: u32,
}

impl From<LogPosition> for WirePosition {
    fn from(position: LogPosition) -> Self {
        WirePosition {
            lsn: position.lsn.0,
            group: position.group,
            transactions: position.transactions,
            incarnation: position.incarnation,
        }
    }
}

impl From<WirePosition> for LogPosition {
    fn from(position: WirePosition) -> Self {
        LogPosition {
            lsn: Lsn(position.lsn),
            group: position.group,
            transactions: position.transactions,
            incarnation: position.incarnation,
        }
    }
}

/// What the primary wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Purpose {
    /// To send its log.
    Log,
    /// To be sent an image of DB'.
    Image,
}

/// The primary's greeting.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// What it wants.
    pub purpose: Purpose,
    /// The database's identity.
    pub identity: u64,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Bytes of a log segment.
    pub segment_bytes: u64,
    /// Bytes of a backup block.
    pub block_bytes: u32,
    /// Stripes of the backup.
    pub stripes: u32,
    /// What is kept of the journals, as the manifest has it.
    pub journal: String,
    /// The secret that shows that this is the primary.
    pub token: Option<Token>,
}

impl Hello {
    /// The greeting of a database, without a token.
    pub fn of(manifest: &Manifest, purpose: Purpose) -> Self {
        Hello {
            token: None,
            purpose,
            identity: manifest.identity,
            page_bytes: manifest.page_bytes,
            segment_bytes: manifest.segment_bytes,
            block_bytes: manifest.block_bytes,
            stripes: manifest.stripes,
            journal: manifest.journal.to_string(),
        }
    }

    /// The manifest of a standby's directory for this database; `None` if no database is so.
    pub fn manifest(&self) -> Option<Manifest> {
        let journal: Retention = self.journal.parse().ok()?;
        let manifest = Manifest {
            page_bytes: self.page_bytes,
            segment_bytes: self.segment_bytes,
            block_bytes: self.block_bytes,
            stripes: self.stripes,
            journal,
            ..Manifest::new(self.identity)
        };
        manifest.check().ok()?;
        Some(manifest)
    }
}

/// How far a standby is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Progress {
    /// The end of its durable log.
    pub durable: WirePosition,
    /// Up to where that is applied to DB'.
    pub applied: WirePosition,
    /// The place up to which its last complete checkpoint has everything.
    pub complete_from: WirePosition,
    /// Checkpoints completed since it was started.
    pub checkpoints: u64,
    /// Blocks written since then.
    pub blocks: u64,
    /// Bytes of them.
    pub bytes: u64,
}

/// What is said in few words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Message {
    /// The standby takes the primary.
    Welcome {
        /// The standby's database.
        identity: u64,
        /// The history checksum of the last group before the end of its log; 0 at the log's start.
        last_checksum: u32,
        /// How far it is.
        progress: Progress,
    },
    /// One side does not take the other.
    Refused(Refusal),
    /// The standby's report.
    Progress(Progress),
    /// The primary wants a checkpoint that has everything before a place.
    Checkpoint(WirePosition),
    /// An image follows.
    ImageBegins {
        /// From where the log must be applied to it.
        redo_start: WirePosition,
        /// Bytes of a block.
        block_bytes: u32,
        /// Stripes.
        stripes: u32,
    },
    /// The image was sent.
    ImageEnds {
        /// The end of the standby's durable log.
        position: WirePosition,
        /// The history checksum of the last group before it.
        last_checksum: u32,
        /// Bytes sent of all stripes.
        bytes: u64,
    },
    /// All groups before the one of this number are durable at the primary.
    Durable(u64),
    /// The standby takes the primary, and has no database yet.
    Empty,
    /// The log follows from its beginning.
    FromBeginning,
    /// The last group follows, and all pages as they are after it.
    SeedBegins,
    /// All pages were sent.
    SeedEnds {
        /// Their bytes.
        bytes: u64,
    },
    /// The standby makes its directory of the seed.
    Seeding,
}

/// A part of a stripe of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PagesHead {
    /// The stripe.
    pub stripe: u32,
    /// Where the bytes start in the stripe's blocks side by side.
    pub offset: u64,
}

/// A frame's content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Frame {
    /// The primary's greeting.
    Hello(Hello),
    /// A few words.
    Message(Message),
    /// A commit group as it stands on the primary's disk, or soon will: the standby keeps it in memory until
    /// [`Message::Durable`].
    Group(Bytes),
    /// A part of an image.
    Pages(PagesHead, Bytes),
}

impl Frame {
    /// What it is, for error messages.
    pub fn name(&self) -> &'static str {
        match self {
            Frame::Hello(_) => "a greeting",
            Frame::Message(Message::Welcome { .. }) => "a welcome",
            Frame::Message(Message::Refused(_)) => "a refusal",
            Frame::Message(Message::Progress(_)) => "a report",
            Frame::Message(Message::Checkpoint(_)) => "the wish for a checkpoint",
            Frame::Message(Message::Durable(_)) => "the durable log's end",
            Frame::Message(Message::ImageBegins { .. }) => "an image's beginning",
            Frame::Message(Message::ImageEnds { .. }) => "an image's end",
            Frame::Message(Message::Empty) => "that it has no database",
            Frame::Message(Message::FromBeginning) => "the log's beginning",
            Frame::Message(Message::SeedBegins) => "a seed's beginning",
            Frame::Message(Message::SeedEnds { .. }) => "a seed's end",
            Frame::Message(Message::Seeding) => "that it is being made",
            Frame::Group(_) => "a group",
            Frame::Pages(..) => "pages",
        }
    }

    /// Its bytes, without the length.
    #[expect(
        clippy::indexing_slicing,
        reason = "the checksum's place was just put there"
    )]
    pub fn encode(&self) -> Bytes {
        let (tag, head, body): (u8, Vec<u8>, &[u8]) = match self {
            Frame::Hello(hello) => {
                let mut head = MAGIC.to_vec();
                head.extend_from_slice(&PROTOCOL_VERSION.to_le_bytes());
                head.extend(to_bytes(hello));
                (TAG_HELLO, head, &[])
            }
            Frame::Message(message) => (TAG_MESSAGE, to_bytes(message), &[]),
            Frame::Group(bytes) => (TAG_GROUP, Vec::new(), bytes),
            Frame::Pages(head, bytes) => (TAG_PAGES, to_bytes(head), bytes),
        };
        let mut frame = BytesMut::with_capacity(CHECKSUM_BYTES + 1 + head.len() + body.len());
        frame.put_u32_le(0);
        frame.put_u8(tag);
        frame.put_slice(&head);
        frame.put_slice(body);
        let checksum = crc32c::crc32c(&frame[CHECKSUM_BYTES..]);
        frame[..CHECKSUM_BYTES].copy_from_slice(&checksum.to_le_bytes());
        frame.freeze()
    }

    /// Reads a frame's bytes.
    ///
    /// # Errors
    /// [`ProtocolError`], whatever the bytes are.
    pub fn decode(mut bytes: Bytes) -> Result<Frame, ProtocolError> {
        let length = bytes.len();
        let Some((checksum, rest)) = bytes.split_first_chunk::<CHECKSUM_BYTES>() else {
            return Err(ProtocolError::Short { bytes: length });
        };
        let Some(&tag) = rest.first() else {
            return Err(ProtocolError::Short { bytes: length });
        };
        if crc32c::crc32c(rest) != u32::from_le_bytes(*checksum) {
            return Err(ProtocolError::Checksum { bytes: length });
        }
        let body = bytes.split_off(CHECKSUM_BYTES + 1);
        match tag {
            TAG_HELLO => decode_hello(&body),
            TAG_MESSAGE => Ok(Frame::Message(from_bytes("message", &body)?)),
            TAG_GROUP => Ok(Frame::Group(body)),
            TAG_PAGES => {
                let what = "head of pages";
                let (head, pages): (PagesHead, &[u8]) = postcard::take_from_bytes(&body)
                    .map_err(|source| ProtocolError::Content { what, source })?;
                let pages = body.slice_ref(pages);
                Ok(Frame::Pages(head, pages))
            }
            tag => Err(ProtocolError::Kind { tag }),
        }
    }
}

fn decode_hello(body: &[u8]) -> Result<Frame, ProtocolError> {
    let rest = body.strip_prefix(MAGIC).ok_or(ProtocolError::Magic)?;
    let (version, rest) = rest.split_first_chunk().ok_or(ProtocolError::Magic)?;
    let found = u32::from_le_bytes(*version);
    if found != PROTOCOL_VERSION {
        return Err(ProtocolError::Version { found });
    }
    Ok(Frame::Hello(from_bytes("greeting", rest)?))
}

fn to_bytes<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).expect("plain values are encoded into memory")
}

fn from_bytes<'a, T: Deserialize<'a>>(
    what: &'static str,
    bytes: &'a [u8],
) -> Result<T, ProtocolError> {
    let content = |source| ProtocolError::Content { what, source };
    let (value, rest) = postcard::take_from_bytes(bytes).map_err(content)?;
    if !rest.is_empty() {
        return Err(content(postcard::Error::DeserializeBadEncoding));
    }
    Ok(value)
}

/// The framing; frames longer than `frame_bytes_max` are refused.
pub fn codec(frame_bytes_max: usize) -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder()
        .max_frame_length(frame_bytes_max)
        .new_codec()
}

/// The longest frame that a primary may send once the segments' length is known.
pub fn group_frame_bytes_max(segment_bytes: u64) -> usize {
    let group = usize::try_from(segment_bytes).unwrap_or(usize::MAX);
    group.saturating_add(64).max(MESSAGE_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tokio_util::codec::Decoder;

    fn hello() -> Hello {
        Hello::of(&Manifest::new(0x5eed), Purpose::Log)
    }

    fn frames() -> Vec<Frame> {
        let position = WirePosition::from(LogPosition::START);
        let progress = Progress {
            durable: position,
            applied: position,
            complete_from: position,
            checkpoints: 1,
            blocks: 2,
            bytes: 3,
        };
        let reason = "so".to_string();
        let refusals = [
            Refusal::Version { known: 1 },
            Refusal::Identity {
                standby: 1,
                primary: 2,
            },
            Refusal::SegmentBytes {
                standby: 1,
                primary: 2,
            },
            Refusal::Manifest,
            Refusal::Empty,
            Refusal::Failed {
                reason: reason.clone(),
            },
            Refusal::History { reason },
            Refusal::Token { wanted: true },
        ];
        let head = PagesHead {
            stripe: 3,
            offset: 1 << 40,
        };
        let mut frames = vec![
            Frame::Hello(hello()),
            Frame::Hello(Hello {
                token: Some(Token::new("secret").unwrap()),
                ..hello()
            }),
            Frame::Group(Bytes::from_static(b"a group")),
            Frame::Pages(head, Bytes::from_static(b"pages")),
            Frame::Pages(head, Bytes::new()),
            Frame::Message(Message::Welcome {
                identity: 7,
                last_checksum: 9,
                progress,
            }),
            Frame::Message(Message::Progress(progress)),
            Frame::Message(Message::Checkpoint(position)),
            Frame::Message(Message::Durable(7)),
            Frame::Message(Message::Empty),
            Frame::Message(Message::FromBeginning),
            Frame::Message(Message::SeedBegins),
            Frame::Message(Message::SeedEnds { bytes: 5 }),
            Frame::Message(Message::Seeding),
            Frame::Message(Message::ImageBegins {
                redo_start: position,
                block_bytes: 4096,
                stripes: 2,
            }),
            Frame::Message(Message::ImageEnds {
                position,
                last_checksum: 1,
                bytes: 5,
            }),
        ];
        frames.extend(refusals.map(|refusal| Frame::Message(Message::Refused(refusal))));
        frames
    }

    #[test]
    fn every_frame_reads_back_and_any_flipped_bit_is_an_error() {
        for frame in frames() {
            let bytes = frame.encode();
            assert_eq!(Frame::decode(bytes.clone()).unwrap(), frame);
            for bit in 0..bytes.len() * 8 {
                let mut damaged = bytes.to_vec();
                damaged[bit / 8] ^= 1 << (bit % 8);
                let found = Frame::decode(damaged.into());
                assert!(
                    matches!(found, Err(ProtocolError::Checksum { .. })),
                    "{found:?}"
                );
            }
            for length in 0..bytes.len() {
                assert!(Frame::decode(bytes.slice(..length)).is_err());
            }
        }
    }

    #[test]
    fn a_greeting_of_another_version_or_protocol_is_named() {
        let mut bytes = Frame::Hello(hello()).encode().to_vec();
        let version_at = CHECKSUM_BYTES + 1 + MAGIC.len();
        bytes[version_at] = 9;
        sign(&mut bytes);
        let found = Frame::decode(bytes.clone().into());
        assert!(
            matches!(found, Err(ProtocolError::Version { found: 9 })),
            "{found:?}"
        );
        bytes[CHECKSUM_BYTES + 1] = b'X';
        sign(&mut bytes);
        let found = Frame::decode(bytes.into());
        assert!(matches!(found, Err(ProtocolError::Magic)), "{found:?}");
    }

    /// The bytes by which a side of another version learns that it is one, since version 1.
    #[test]
    fn the_refusal_of_a_version_is_the_same_in_all_of_them() {
        let refusal = Frame::Message(Message::Refused(Refusal::Version { known: 5 }));
        assert_eq!(refusal.encode()[CHECKSUM_BYTES..], [TAG_MESSAGE, 1, 0, 5]);
        let hello = Frame::Hello(hello()).encode();
        let version_at = CHECKSUM_BYTES + 1 + MAGIC.len();
        assert_eq!(hello[CHECKSUM_BYTES..version_at], *b"\x01SardonyC");
        let version = PROTOCOL_VERSION.to_le_bytes();
        assert_eq!(hello[version_at..version_at + 4], version);
    }

    fn sign(frame: &mut [u8]) {
        let checksum = crc32c::crc32c(&frame[CHECKSUM_BYTES..]);
        frame[..CHECKSUM_BYTES].copy_from_slice(&checksum.to_le_bytes());
    }

    #[test]
    fn impossible_manifests_are_refused() {
        assert_eq!(hello().manifest(), Some(Manifest::new(0x5eed)));
        for wrong in [
            Hello {
                page_bytes: 0,
                ..hello()
            },
            Hello {
                segment_bytes: u64::MAX,
                ..hello()
            },
            Hello {
                block_bytes: 1,
                ..hello()
            },
            Hello {
                stripes: 0,
                ..hello()
            },
            Hello {
                journal: "some".into(),
                ..hello()
            },
        ] {
            assert_eq!(wrong.manifest(), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_frame_that_is_too_long_is_refused_by_its_length_alone() {
        let mut codec = codec(MESSAGE_BYTES_MAX);
        let mut bytes = BytesMut::from(&(MESSAGE_BYTES_MAX as u32 + 1).to_be_bytes()[..]);
        assert!(codec.decode(&mut bytes).is_err());
        assert!(bytes.capacity() < MESSAGE_BYTES_MAX);
    }

    proptest! {
        #[test]
        fn whatever_comes_is_a_frame_or_an_error(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..300),
            tag in 0u8..6,
            signed in any::<bool>(),
        ) {
            if signed && bytes.len() > CHECKSUM_BYTES {
                // Past the checksum, so that the decoders behind it see it too.
                bytes[CHECKSUM_BYTES] = tag;
                sign(&mut bytes);
            }
            if let Ok(frame) = Frame::decode(bytes.clone().into()) {
                // Varints may be longer than needed; what was understood is encoded the same again.
                prop_assert_eq!(Frame::decode(frame.encode()).unwrap(), frame);
            }
            let mut codec = codec(MESSAGE_BYTES_MAX);
            let mut stream = BytesMut::from(&bytes[..]);
            while let Ok(Some(frame)) = codec.decode(&mut stream) {
                let _ = Frame::decode(frame.freeze());
            }
        }
    }
}

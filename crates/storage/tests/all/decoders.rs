//! Everything that is read back from a disk: values of every kind read back as they were written, and
//! a change of the bytes is noticed (I4). Arbitrary bytes, and changes behind a right checksum, are the
//! fuzz targets' (`fuzz/`).

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use sardonyx_storage::checkpoint::StripeLayout;
use sardonyx_storage::checkpoint::slot::{
    CompleteCheckpoint, SLOT_HEADER_BYTES, SlotHeader, SlotState,
};
use sardonyx_storage::disk::AlignedBuffer;
use sardonyx_storage::journal::Retention;
use sardonyx_storage::journal::chunk::{CHUNK_HEADER_BYTES, ChunkHeader};
use sardonyx_storage::log::group::{GROUP_HEADER_BYTES, GroupHeader};
use sardonyx_storage::log::record::{Body, RECORD_BYTES_MAX, Records, encoded_bytes};
use sardonyx_storage::log::seal::{GroupBuilder, SealedGroup, Sequencer};
use sardonyx_storage::log::{LogLayout, LogPosition, Lsn};
use sardonyx_storage::manifest::{Manifest, ManifestError};
use sardonyx_storage::page::{Address, PAGE_SIZE, PageId};

const LAYOUT: StripeLayout = StripeLayout {
    identity: 7,
    stripe: 1,
    stripes: 2,
    block_bytes: 16 << 10,
    compaction: 0,
};

fn position() -> impl Strategy<Value = LogPosition> {
    (any::<u64>(), any::<u64>(), any::<u64>(), any::<u32>()).prop_map(
        |(lsn, group, transactions, incarnation)| LogPosition {
            lsn: Lsn(lsn),
            group,
            transactions,
            incarnation,
        },
    )
}

fn group_header() -> impl Strategy<Value = GroupHeader> {
    let words = (any::<[u64; 5]>(), any::<[u32; 4]>());
    words.prop_map(|(long, short)| {
        let header = GroupHeader {
            identity: long[0],
            number: long[1],
            lsn: Lsn(long[2]),
            durable_number: long[3],
            first_transaction: long[4],
            payload_bytes: short[0],
            transactions: short[1],
            incarnation: short[2],
            payload_checksum: short[3],
            spanned_bytes: 0,
        };
        match short[1] % 2 {
            0 => header,
            _ => GroupHeader {
                transactions: 1,
                spanned_bytes: (header.bytes_on_disk() as u64).next_multiple_of(1 << 26),
                ..header
            },
        }
    })
}

fn chunk_header() -> impl Strategy<Value = ChunkHeader> {
    (any::<[u64; 4]>(), any::<[u32; 2]>(), position(), position()).prop_map(
        |(long, short, from, to)| ChunkHeader {
            durable_chunks: long[3],
            identity: long[0],
            number: long[1],
            from,
            to,
            rows: long[2],
            payload_bytes: short[0],
            payload_checksum: short[1],
        },
    )
}

/// A header that may be in a slot of [`LAYOUT`].
fn slot_header() -> impl Strategy<Value = SlotHeader> {
    let numbers = (
        0..=4u32,
        any::<[u32; 5]>(),
        position(),
        position(),
        position(),
    );
    numbers.prop_map(|(pages, n, first, second, complete)| SlotHeader {
        identity: LAYOUT.identity,
        stripe: LAYOUT.stripe,
        used_bytes: pages * PAGE_SIZE as u32,
        block: u64::from(n[0]),
        blocks: u64::from(n[0]) + 1 + u64::from(n[1]),
        checkpoint: u64::from(n[2]) + 1 + u64::from(n[3]),
        position: if first.lsn < second.lsn {
            second
        } else {
            first
        },
        redo_start: if first.lsn < second.lsn {
            first
        } else {
            second
        },
        complete: CompleteCheckpoint {
            number: u64::from(n[2]),
            blocks: u64::from(n[4]),
            redo_start: complete,
        },
        data_checksum: n[4],
    })
}

#[derive(Clone, Debug)]
enum Write {
    Bytes(Address, Vec<u8>),
    Row(u16, Vec<u8>),
    Version(PageId, u64),
    End,
}

fn write() -> impl Strategy<Value = Write> {
    let bytes = vec(any::<u8>(), 1..200);
    prop_oneof![
        (0..1u64 << 36, any::<Index>(), bytes.clone()).prop_map(|(page, at, bytes)| {
            let offset = at.index(PAGE_SIZE - bytes.len() + 1) as u64;
            Write::Bytes(Address(page * PAGE_SIZE as u64 + offset), bytes)
        }),
        (any::<u16>(), bytes).prop_map(|(journal, row)| Write::Row(journal, row)),
        (0..1u64 << 36, any::<u64>()).prop_map(|(page, psn)| Write::Version(PageId(page), psn)),
        Just(Write::End),
    ]
}

fn built(writes: &[Write]) -> GroupBuilder {
    let mut builder = GroupBuilder::with_capacity(4096);
    for write in writes {
        match write {
            Write::Bytes(address, bytes) => builder.push_write(*address, bytes),
            Write::Row(journal, row) => builder.push_journal(*journal, row),
            Write::Version(page, psn) => builder.push_version(*page, *psn),
            Write::End => _ = builder.end_transaction(),
        }
    }
    builder.end_transaction();
    builder
}

/// Reads all records; any bytes stay within their bounds.
fn read_all(payload: &[u8]) -> usize {
    let mut records = Records::new(payload);
    let mut count = 0;
    while let Some(record) = records.next() {
        assert!(records.offset() <= payload.len());
        match record {
            Err(error) => {
                assert!(error.offset <= payload.len());
                assert!(records.next().is_none(), "an error is the end");
                return count;
            }
            Ok(record) => match record.body {
                Body::Write { address, bytes } => {
                    assert!(address.offset_in_page() + bytes.len() <= PAGE_SIZE);
                    assert!(!bytes.is_empty());
                }
                Body::Journal { row, .. } => assert!((1..=RECORD_BYTES_MAX).contains(&row.len())),
                Body::Version { page, .. } => assert!(page.address() <= Address::MAX),
            },
        }
        count += 1;
    }
    count
}

/// Changes to valid bytes, none of which leaves them as they were.
fn changes() -> impl Strategy<Value = Vec<(Index, u8)>> {
    vec((any::<Index>(), 1..=255u8), 1..4)
}

/// Applies the changes; false if they cancel out.
fn change(bytes: &mut [u8], changes: &[(Index, u8)]) -> bool {
    let before = bytes.to_vec();
    for (at, flip) in changes {
        bytes[at.index(before.len())] ^= flip;
    }
    bytes != before
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(sardonyx_base::random::cases(700))
    })]

    #[test]
    fn group_headers(
        header in group_header(), changes in changes(), noise in vec(any::<u8>(), 0..200)
    ) {
        let mut bytes = [0; GROUP_HEADER_BYTES];
        header.encode(&mut bytes);
        prop_assert_eq!(GroupHeader::decode(&bytes), Some(header));
        if change(&mut bytes, &changes) {
            prop_assert_eq!(GroupHeader::decode(&bytes), None);
        }
        prop_assert_eq!(GroupHeader::decode(&noise), None);
        prop_assert_eq!(GroupHeader::decode(&bytes[..noise.len() % GROUP_HEADER_BYTES]), None);
    }

    #[test]
    fn chunk_headers(
        header in chunk_header(), changes in changes(), noise in vec(any::<u8>(), 0..200)
    ) {
        let mut bytes = [0; CHUNK_HEADER_BYTES];
        header.encode(&mut bytes);
        prop_assert_eq!(ChunkHeader::decode(&bytes), Some(header));
        if change(&mut bytes, &changes) {
            prop_assert_eq!(ChunkHeader::decode(&bytes), None);
        }
        prop_assert_eq!(ChunkHeader::decode(&noise), None);
        prop_assert!(!header.payload_is_valid(&noise) || noise.is_empty());
    }

    #[test]
    fn slot_headers(header in slot_header(), changes in changes(), noise in any::<u64>()) {
        let mut bytes = [0; SLOT_HEADER_BYTES];
        header.encode(&mut bytes);
        prop_assert_eq!(SlotState::of(&bytes, &LAYOUT), SlotState::Valid(header));
        let other = StripeLayout { identity: 8, ..LAYOUT };
        prop_assert_eq!(SlotState::of(&bytes, &other), SlotState::Foreign);
        if change(&mut bytes, &changes) {
            prop_assert_eq!(SlotState::of(&bytes, &LAYOUT), SlotState::Damaged);
        }
        let mut random = sardonyx_base::random::Random::stream(noise, 0);
        bytes.fill_with(|| random.next() as u8);
        prop_assert_eq!(SlotState::of(&bytes, &LAYOUT), SlotState::Damaged);
    }

    #[test]
    fn redo_records_read_back_and_changed_ones_stay_within_bounds(
        writes in vec(write(), 0..30), changes in changes(), noise in vec(any::<u8>(), 0..400)
    ) {
        let builder = built(&writes);
        let expected: Vec<_> = writes.iter().filter(|write| !matches!(write, Write::End)).collect();
        let records: Result<Vec<_>, _> = Records::new(builder.payload()).collect();
        let records = records.expect("whole");
        prop_assert_eq!(records.len(), expected.len());
        let mut length = 0;
        for (record, write) in records.iter().zip(expected) {
            match (record.body, write) {
                (Body::Write { address, bytes }, Write::Bytes(at, image)) => {
                    prop_assert_eq!((address, bytes), (*at, &image[..]));
                    length += encoded_bytes(bytes.len());
                }
                (Body::Journal { journal, row }, Write::Row(number, image)) => {
                    prop_assert_eq!((journal, row), (*number, &image[..]));
                    length += encoded_bytes(row.len());
                }
                (Body::Version { page, psn }, Write::Version(of, number)) => {
                    prop_assert_eq!((page, psn), (*of, *number));
                    length += encoded_bytes(8);
                }
                (body, write) => prop_assert!(false, "{:?} for {:?}", body, write),
            }
        }
        prop_assert_eq!(length, builder.payload().len());
        let ends = records.iter().filter(|record| record.ends_transaction).count();
        prop_assert_eq!(ends as u32, builder.transactions());
        if !builder.payload().is_empty() {
            let mut payload = builder.payload().to_vec();
            change(&mut payload, &changes);
            read_all(&payload);
            read_all(&payload[..changes[0].0.index(payload.len())]);
        }
        read_all(&noise);
    }

    #[test]
    fn whole_groups(writes in vec(write(), 1..20), changes in changes(), cut in any::<Index>()) {
        let layout = LogLayout::new(7, 1 << 20);
        let mut group = Sequencer::new(layout, 1, LogPosition::START).seal(built(&writes));
        group.finish(0);
        let copy = |bytes: &[u8]| {
            let mut buffer = AlignedBuffer::with_capacity(bytes.len().max(1));
            buffer.extend_zeroed(bytes.len());
            buffer.copy_from_slice(bytes);
            buffer
        };
        let read = SealedGroup::from_bytes(copy(group.bytes())).expect("whole");
        prop_assert_eq!(read.header(), group.header());
        prop_assert_eq!(read.payload(), group.payload());
        // Any change before the padding is noticed.
        let used = GROUP_HEADER_BYTES + group.payload().len();
        let mut changed = copy(group.bytes());
        if change(&mut changed[..used], &changes) {
            prop_assert!(SealedGroup::from_bytes(changed).is_err());
        }
        let cut = cut.index(group.bytes().len());
        prop_assert!(SealedGroup::from_bytes(copy(&group.bytes()[..cut])).is_err());
    }

    #[test]
    fn manifests(
        identity in any::<u64>(), incarnation in any::<u32>(), segments in 1..1000u64,
        pages in 1..1000u32, stripes in 1..=64u32, keep in any::<u64>(),
        changes in changes(), noise in vec(any::<u8>(), 0..300),
    ) {
        let manifest = Manifest {
            segment_bytes: segments * PAGE_SIZE as u64,
            block_bytes: pages * PAGE_SIZE as u32,
            stripes,
            incarnation,
            journal: match keep % 3 {
                0 => Retention::All,
                1 => Retention::Nothing,
                _ => Retention::KeepBytes(keep),
            },
            ..Manifest::new(identity)
        };
        // Values that no database can have are refused when written and when read.
        let mut text = manifest.encode().into_bytes();
        match (manifest.check(), Manifest::decode("MANIFEST", &text)) {
            (Ok(()), read) => prop_assert_eq!(read.expect("whole"), manifest),
            (Err(_), read) => prop_assert!(read.is_err()),
        }
        if change(&mut text, &changes) {
            let refused = Manifest::decode("MANIFEST", &text);
            let typed = matches!(refused, Err(ManifestError::Damaged { .. }));
            prop_assert!(typed, "{:?}", refused);
        }
        prop_assert!(Manifest::decode("MANIFEST", &noise).is_err());
    }
}

//! The log: redo records, commit groups, a scan of whole segments; entries of a log in a store, and its boundary.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sardonyx_storage::disk::Disk;
use sardonyx_storage::log::group::{GROUP_HEADER_BYTES, GroupHeader};
use sardonyx_storage::log::reader::LogReader;
use sardonyx_storage::log::record::{Body, Records};
use sardonyx_storage::log::segment::segment_file;
use sardonyx_storage::log::{LogLayout, LogPosition};
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_storage::remote_log::boundary::{BOUNDARY_BYTES, Boundary};
use sardonyx_storage::remote_log::entry::{Entry, EntryBuilder, decode_head};
use sardonyx_storage::remote_log::position::{EntryPosition, Epoch};
use sardonyx_storage::remote_log::primary::{ANY_OTHER, Candidate, Primary};
use sardonyx_storage::remote_log::store::{RegisterVersion, StoredRegister};

use crate::{Target, reseal, seeds};

pub(super) const RECORD: Target = Target {
    name: "record",
    what: "the redo records of a group",
    seeds: || {
        let groups = groups().into_iter();
        groups
            .filter_map(|group| group.get(GROUP_HEADER_BYTES..).map(<[u8]>::to_vec))
            .collect()
    },
    run: records,
    runs: 20_000,
};

pub(super) const GROUP: Target = Target {
    name: "group",
    what: "a commit group's header",
    seeds: groups,
    run: |input| {
        group(input);
        let mut bytes = input.to_vec();
        reseal::group(&mut bytes);
        group(&bytes);
    },
    runs: 20_000,
};

pub(super) const SEGMENT: Target = Target {
    name: "segment",
    what: "the scan of the log's segments to its end",
    seeds: || {
        let whole: Vec<u8> = seeds::TABLES
            .iter()
            .filter(|(name, _)| name.starts_with("log/"))
            .flat_map(|(_, bytes)| bytes.clone())
            .collect();
        let half = whole[..whole.len().min(3 << 14)].to_vec();
        vec![whole, half]
    },
    run: |input| {
        segments(input);
        let mut bytes = input.to_vec();
        reseal::file(&mut bytes);
        segments(&bytes);
    },
    runs: 1_000,
};

pub(super) const ENTRY: Target = Target {
    name: "entry",
    what: "an entry of a log in a store",
    seeds: || {
        let at = EntryPosition::START;
        let fence = Entry::fence(seeds::IDENTITY, at, Epoch(1), 7, 11);
        let mut entry = EntryBuilder::new();
        groups().iter().take(2).for_each(|group| entry.push(group));
        let entry = entry.seal(seeds::IDENTITY, fence.head().position_after(), 12);
        let all = [Some(fence), entry].into_iter().flatten();
        all.map(|entry| entry.bytes().to_vec()).collect()
    },
    run: |input| {
        entry(input);
        let mut bytes = input.to_vec();
        reseal::entry(&mut bytes);
        entry(&bytes);
    },
    runs: 20_000,
};

pub(super) const PRIMARY: Target = Target {
    name: "primary",
    what: "the record of the host that serves a database in a store",
    seeds: || {
        let record = |host: &str, wanted: Option<&str>| Primary {
            identity: seeds::IDENTITY,
            host: host.into(),
            process: 5,
            count: 7,
            wait: Duration::from_secs(2),
            released: wanted.is_some(),
            wanted: wanted.map(Into::into),
        };
        let records = [
            record("a", None),
            record("b", Some("a")),
            record("c", Some(ANY_OTHER)),
        ];
        records.map(|record| record.encode().into_bytes()).to_vec()
    },
    run: |input| {
        primary(input);
        primary(&reseal::manifest(input));
    },
    runs: 20_000,
};

pub(super) const BOUNDARY: Target = Target {
    name: "boundary",
    what: "the boundary of a log in a store",
    seeds: || {
        let position = EntryPosition {
            next: 12,
            epoch: Epoch(3),
            writer: 7,
            checksum: 9,
            time: 13,
        };
        let boundary = Boundary {
            counter: 2,
            position,
            by: 5,
            ..Boundary::none(seeds::IDENTITY)
        };
        vec![boundary.encode().to_vec()]
    },
    run: |input| {
        boundary(input);
        let mut bytes = input.to_vec();
        reseal::head(&mut bytes, BOUNDARY_BYTES);
        boundary(&bytes);
    },
    runs: 20_000,
};

fn groups() -> Vec<Vec<u8>> {
    seeds::units(&seeds::in_folder("log/"), *b"SdxG")
}

/// Reads all records: a returned record stays within a page, and an error is the end.
fn records(payload: &[u8]) {
    let mut records = Records::new(payload);
    while let Some(record) = records.next() {
        assert!(records.offset() <= payload.len());
        match record {
            Ok(record) => {
                if let Body::Write { address, bytes } = record.body {
                    assert!(!bytes.is_empty());
                    assert!(address.offset_in_page() + bytes.len() <= PAGE_SIZE);
                }
            }
            Err(error) => {
                assert!(error.offset <= payload.len());
                assert!(records.next().is_none(), "an error is the end");
            }
        }
    }
}

/// A header that is read is written the same.
fn group(bytes: &[u8]) {
    let Some(header) = GroupHeader::decode(bytes) else {
        return;
    };
    let mut again = [0; GROUP_HEADER_BYTES];
    header.encode(&mut again);
    assert_eq!(again, bytes[..GROUP_HEADER_BYTES]);
    if let Some(payload) = bytes.get(GROUP_HEADER_BYTES..)
        && header.payload_is_valid(payload)
    {
        records(payload);
    }
}

/// An entry that is read is written the same, and follows only at its stated place.
fn entry(bytes: &[u8]) {
    let Ok(entry) = Entry::decode(bytes.to_vec()) else {
        return;
    };
    assert!(entry.is(bytes));
    let head = *entry.head();
    assert_eq!(decode_head(bytes), Ok(head));
    let before = EntryPosition {
        next: head.number,
        epoch: head.epoch,
        writer: head.writer,
        checksum: head.checksum_before,
        time: head.time,
    };
    let groups = entry.groups().map_while(Result::ok);
    let bytes: usize = groups.map(|(_, bytes)| bytes.len()).sum();
    assert!(bytes <= entry.payload().len());
    let again = match head.is_fence() {
        true => Some(Entry::fence(
            head.identity,
            before,
            head.epoch,
            head.writer,
            head.time,
        )),
        false => {
            let mut builder = EntryBuilder::new();
            builder.push(entry.payload());
            builder.seal(head.identity, before, head.time)
        }
    };
    assert_eq!(again.as_ref(), Some(&entry));
    let follows = before.after(head.identity, &entry).is_ok();
    assert_eq!(follows, !head.is_fence(), "a fence begins a later epoch");
}

/// The record of the serving host, if it is read, is written the same; the next step of a host is decided without a
/// panic.
fn primary(bytes: &[u8]) {
    let stored = StoredRegister {
        bytes: bytes.to_vec(),
        version: RegisterVersion("1".into()),
    };
    if let Ok(Some(found)) = Primary::decode(seeds::IDENTITY, Some(&stored)) {
        assert_eq!(found.encode().as_bytes(), bytes);
    }
    let mut candidate = Candidate::new(seeds::IDENTITY, "a", 1, Duration::from_secs(2));
    let now = Instant::now();
    // Damage is an error, which is not the subject here.
    let _ = candidate.look(Some(&stored), [now, now]);
}

/// A boundary that is read is written the same.
fn boundary(bytes: &[u8]) {
    if let Ok(boundary) = Boundary::decode(bytes) {
        assert_eq!(boundary.encode(), bytes);
    }
}

/// Reads the log in these bytes, cut into segments.
fn segments(bytes: &[u8]) {
    let pieces = bytes.chunks(seeds::SEGMENT_BYTES as usize).zip(0..8);
    let files: Vec<_> = pieces
        .map(|(piece, number)| (segment_file(number), piece.to_vec()))
        .collect();
    let disk: Arc<dyn Disk> = Arc::new(seeds::disk(&files));
    let layout = LogLayout::new(seeds::IDENTITY, seeds::SEGMENT_BYTES);
    let Ok(mut reader) = LogReader::open(&disk, layout, LogPosition::START) else {
        return;
    };
    while let Ok(Some((header, payload))) = reader.next_group() {
        assert_eq!(payload.len(), header.payload_bytes as usize);
        records(payload);
    }
}

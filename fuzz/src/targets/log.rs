//! The log: redo records, commit groups, and a scan of whole segments.

use std::sync::Arc;

use sardonyx_storage::disk::Disk;
use sardonyx_storage::log::group::{GROUP_HEADER_BYTES, GroupHeader};
use sardonyx_storage::log::reader::LogReader;
use sardonyx_storage::log::record::{Body, Records};
use sardonyx_storage::log::segment::segment_file;
use sardonyx_storage::log::{LogLayout, LogPosition};
use sardonyx_storage::page::PAGE_SIZE;

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

fn groups() -> Vec<Vec<u8>> {
    seeds::units(&seeds::in_folder("log/"), *b"SdxG")
}

/// Reads all records: what is given stays within a page, and an error is the end.
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

/// Reads the log that these bytes are, cut into segments.
fn segments(bytes: &[u8]) {
    let pieces = bytes.chunks(seeds::SEGMENT_BYTES as usize).zip(0..8);
    let files: Vec<_> = pieces
        .map(|(piece, number)| (segment_file(number), piece.to_vec()))
        .collect();
    let disk: Arc<dyn Disk> = Arc::new(seeds::disk(&files));
    let layout = LogLayout {
        identity: seeds::IDENTITY,
        segment_bytes: seeds::SEGMENT_BYTES,
    };
    let Ok(mut reader) = LogReader::open(&disk, layout, LogPosition::START) else {
        return;
    };
    while let Ok(Some((header, payload))) = reader.next_group() {
        assert_eq!(payload.len(), header.payload_bytes as usize);
        records(payload);
    }
}

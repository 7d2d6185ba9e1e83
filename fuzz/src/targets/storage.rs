//! The manifest, the backup's slots, and the journals' archive.

use std::sync::Arc;

use sardonyx_storage::checkpoint::StripeLayout;
use sardonyx_storage::checkpoint::slot::{SLOT_HEADER_BYTES, SlotState};
use sardonyx_storage::disk::Disk;
use sardonyx_storage::journal::chunk::{CHUNK_HEADER_BYTES, ChunkHeader};
use sardonyx_storage::journal::{JournalReader, journal_file};
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::{inspect, log::LogPosition};

use crate::{Target, reseal, seeds};

pub(super) const MANIFEST: Target = Target {
    name: "manifest",
    what: "the manifest",
    seeds: || seeds::in_folder("MANIFEST"),
    run: |input| {
        manifest(input);
        manifest(&reseal::manifest(input));
    },
    runs: 20_000,
};

pub(super) const SLOT: Target = Target {
    name: "slot",
    what: "a slot of the backup",
    seeds: || seeds::units(&seeds::in_folder("backup/"), *b"SdxB"),
    run: |input| {
        let mut bytes = input.to_vec();
        bytes.resize(bytes.len().max(SLOT_HEADER_BYTES), 0);
        slot(&bytes);
        reseal::slot(&mut bytes);
        slot(&bytes);
    },
    runs: 5_000,
};

pub(super) const CHUNK: Target = Target {
    name: "chunk",
    what: "a file of the journals' archive, and its rows",
    seeds: || seeds::in_folder("journal/"),
    run: |input| {
        chunks(input);
        let mut bytes = input.to_vec();
        reseal::file(&mut bytes);
        chunks(&bytes);
    },
    runs: 3_000,
};

/// A manifest that is read is written the same, and its numbers are possible.
fn manifest(bytes: &[u8]) {
    if let Ok(manifest) = Manifest::decode("MANIFEST", bytes) {
        manifest.check().expect("possible numbers");
        let (version, written) = (manifest.format_version, manifest.encode());
        if written.starts_with(&format!("format_version = {version}\n")) {
            assert_eq!(written.as_bytes(), bytes);
        }
    }
}

/// A header that is read is written and reads back as the same (reserved bytes are not kept).
fn slot(bytes: &[u8]) {
    let layout = StripeLayout {
        identity: seeds::IDENTITY,
        stripe: 0,
        stripes: 1,
        block_bytes: seeds::BLOCK_BYTES,
        compaction: 0,
    };
    let head = bytes.first_chunk().expect("as long as a header");
    if let SlotState::Valid(header) = SlotState::of(head, &layout) {
        assert!(header.used_bytes <= layout.block_bytes);
        let mut again = [0; SLOT_HEADER_BYTES];
        header.encode(&mut again);
        assert_eq!(SlotState::of(&again, &layout), SlotState::Valid(header));
        let used = bytes[SLOT_HEADER_BYTES..].get(..header.used_bytes as usize);
        _ = used.is_some_and(|used| header.data_is_valid(used));
    }
}

/// Lists a file's chunks, and reads its rows as a journal's reader does.
fn chunks(bytes: &[u8]) {
    if let Some(header) = ChunkHeader::decode(bytes) {
        let mut again = [0; CHUNK_HEADER_BYTES];
        header.encode(&mut again);
        assert_eq!(ChunkHeader::decode(&again), Some(header));
    }
    let files = [(journal_file(0), bytes.to_vec())];
    let disk: Arc<dyn Disk> = Arc::new(seeds::disk(&files));
    _ = inspect::chunks(&*disk, seeds::IDENTITY);
    let manifest = Manifest {
        segment_bytes: seeds::SEGMENT_BYTES,
        log_end: LogPosition::START,
        ..Manifest::new(seeds::IDENTITY)
    };
    let Ok(mut reader) = JournalReader::open(&disk, &manifest, None, None) else {
        return;
    };
    while let Ok(Some(row)) = reader.next_row() {
        assert!(!row.bytes.is_empty());
    }
}

//! Payloads and files in Redis' own format.

use sardonyx_resp::rdb::file::RdbFile;
use sardonyx_resp::rdb::{self, GroupValue, PendingValue, StreamValue, Value};

use crate::Target;

pub(super) const PAYLOADS: Target = Target {
    name: "payloads",
    what: "values as Redis clients restore them, under a right checksum",
    seeds: payloads,
    run: |input| {
        let body = input.len().saturating_sub(size_of::<u64>());
        let mut sealed = input[..body].to_vec();
        sealed.extend(rdb::checksum(0, &sealed).to_le_bytes());
        for payload in [input, &sealed] {
            if let Ok(value) = rdb::decode(payload) {
                assert_eq!(rdb::decode(&rdb::encode(&value)), Ok(value));
            }
            drop(rdb::decode_libraries(payload));
        }
    },
    runs: 20_000,
};

pub(super) const FILE: Target = Target {
    name: "redis-file",
    what: "files that a Redis saves, as they are imported, also under a right checksum",
    seeds: files,
    run: |input| {
        let body = input.len().saturating_sub(size_of::<u64>());
        let mut sealed = input[..body].to_vec();
        sealed.extend(rdb::checksum(0, &sealed).to_le_bytes());
        for bytes in [input, &sealed] {
            let Ok(mut file) = RdbFile::new(bytes) else {
                continue;
            };
            while let Ok(Some(_)) = file.next_item() {}
            assert!(file.position() <= bytes.len() as u64);
        }
    },
    runs: 20_000,
};

/// A file of each payload's value, and one of them all.
fn files() -> Vec<Vec<u8>> {
    // A payload ends with a version and a checksum.
    const FOOTER_BYTES: usize = 10;
    let key = |payload: Vec<u8>| {
        let (kind, rest) = payload.split_first().expect("a payload");
        let body = &rest[..rest.len() - FOOTER_BYTES];
        [&[*kind, 1, b'k'][..], body].concat()
    };
    let keys: Vec<_> = payloads().into_iter().map(key).collect();
    let marks =
        b"\xfa\x01a\x01b\xfe\x03\xfb\x02\x01\xfc\x01\x02\x03\x04\x05\0\0\0\xf8\x05".to_vec();
    let library = b"\xf5\x05#!lua".to_vec();
    let of = |keys: &[Vec<u8>]| {
        let (head, marks, library) = (b"REDIS0010".to_vec(), marks.clone(), library.clone());
        let mut file = [head, library, marks, keys.concat(), vec![255]].concat();
        file.extend(rdb::checksum(0, &file).to_le_bytes());
        file
    };
    let mut files: Vec<_> = keys.chunks(1).map(of).collect();
    files.push(of(&keys));
    files
}

fn payloads() -> Vec<Vec<u8>> {
    let text = |text: &str| text.as_bytes().to_vec();
    let pending = PendingValue {
        id: (1, 1),
        consumer: 0,
        delivered: 5,
        deliveries: 1,
    };
    let group = GroupValue {
        name: text("g"),
        last: (1, 1),
        read: Some(1),
        consumers: vec![(text("ann"), 5)],
        pending: vec![pending],
    };
    let stream = StreamValue {
        entries: vec![
            ((1, 1), vec![text("a"), text("1")]),
            ((2, 0), vec![text("b"), text("2")]),
        ],
        last: (2, 0),
        deleted: (0, 0),
        added: 2,
        groups: vec![group],
    };
    let values = [
        Value::String(text("hello")),
        Value::List(vec![text("a"), text("b")]),
        Value::Set(vec![text("a"), text("1")]),
        Value::SortedSet(vec![(text("a"), 1.5)]),
        Value::Hash(vec![(text("f"), text("v"))]),
        Value::Stream(stream),
    ];
    let mut seeds: Vec<_> = values.iter().map(rdb::encode).collect();
    // Packed forms, which are read and not written: a quicklist of a listpack and of a ziplist, a set of integers.
    seeds.push(
        b"\x12\x01\x02\x0c\x0c\0\0\0\x02\0\x01\x01\x81b\x02\xff\x0a\0\0\0\0\0\0\0\0\0".to_vec(),
    );
    seeds.push(b"\x0e\x01\x0d\x0d\0\0\0\x0a\0\0\0\x01\0\0\xf2\xff\x0a\0\0\0\0\0\0\0\0\0".to_vec());
    seeds.push(b"\x0b\x0a\x02\0\0\0\x01\0\0\0\x05\0\x0a\0\0\0\0\0\0\0\0\0".to_vec());
    seeds
}

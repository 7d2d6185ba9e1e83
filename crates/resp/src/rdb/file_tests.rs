//! Files of each version and with each mark; damaged and foreign ones are refused with the place.

use super::*;
use crate::rdb::tests::{bytes, of_redis};
use crate::rdb::{FOOTER_BYTES, checksum, encode};

/// A text in the form of a file.
fn text(text: &str) -> Vec<u8> {
    let mut written = vec![0x80];
    written.extend((text.len() as u32).to_be_bytes());
    written.extend(text.bytes());
    written
}

/// A key and its value, as a payload has it.
fn key(name: &str, payload: &[u8]) -> Vec<u8> {
    let body = &payload[1..payload.len() - FOOTER_BYTES];
    [&payload[..1], &text(name), body].concat()
}

fn string(name: &str, value: &str) -> Vec<u8> {
    key(name, &encode(&Value::String(value.into())))
}

/// A file with these items.
fn file(version: u16, items: &[Vec<u8>]) -> Vec<u8> {
    let mut written = format!("REDIS{version:04}").into_bytes();
    written.extend(items.concat());
    written.push(mark::END);
    if version >= SUMMED_SINCE {
        let sum = checksum(0, &written);
        written.extend(sum.to_le_bytes());
    }
    written
}

fn read(file: &[u8]) -> Result<Vec<Item>, FileError> {
    let mut file = RdbFile::new(file)?;
    let mut items = Vec::new();
    while let Some(item) = file.next_item()? {
        items.push(item);
    }
    Ok(items)
}

/// The names, databases and times of keys, and the lengths of libraries.
fn outline(items: &[Item]) -> Vec<String> {
    let told = |item: &Item| match item {
        Item::Key(key) => format!("{} {} {:?}", key.database, shown(&key.name), key.expires),
        Item::Library(library) => {
            format!("library of {:?}", library.code.as_deref().map(<[u8]>::len))
        }
    };
    items.iter().map(told).collect()
}

/// Items with each mark.
fn marked() -> Vec<Vec<u8>> {
    let seconds = [&[mark::EXPIRES_SECONDS][..], &7_i32.to_le_bytes()].concat();
    let millis = [&[mark::EXPIRES_MILLIS][..], &1_234_567_i64.to_le_bytes()].concat();
    vec![
        [vec![mark::FACT], text("redis-ver"), text("7.0.15")].concat(),
        vec![mark::SIZES, 3, 2],
        vec![mark::SLOT, 1, 2, 3],
        [vec![LIBRARY], text("#!lua name=a\n")].concat(),
        string("first", "1"),
        vec![mark::DATABASE, 5],
        millis,
        vec![mark::IDLE, 9],
        string("second", "2"),
        seconds,
        vec![mark::FREQUENCY, 255],
        string("third", "3"),
        string("fourth", "4"),
    ]
}

#[test]
fn keys_have_their_databases_and_times() {
    let wanted = [
        "library of Ok(13)",
        "0 first None",
        "5 second Some(1234567)",
        "5 third Some(7000)",
        "5 fourth None",
    ];
    for version in [1, 4, 5, 9, 10, 12] {
        let items = read(&file(version, &marked())).expect("a file");
        assert_eq!(outline(&items), wanted, "version {version}");
    }
}

#[test]
fn values_of_each_form_end_where_they_end() {
    for (payload, value) in of_redis() {
        let items = [key("k", &bytes(payload)), string("behind", "it")];
        let items = read(&file(10, &items)).unwrap_or_else(|error| panic!("{payload}: {error}"));
        let [Item::Key(first), Item::Key(behind)] = &items[..] else {
            panic!("{payload}: {items:?}");
        };
        assert_eq!(first.value, Ok(value), "{payload}");
        assert_eq!(behind.name, b"behind", "{payload}");
    }
    // Forms of earlier versions: a list of ziplists, and scores as texts.
    let quicklist = b"\x0e\x01q\x01\x0d\x0d\0\0\0\x0a\0\0\0\x01\0\0\xf2\xff".to_vec();
    let scores = b"\x03\x01z\x03\x01a\x031.5\x01b\xfe\x01c\xff".to_vec();
    let items = read(&file(9, &[quicklist, scores, string("behind", "it")])).expect("a file");
    let value = |at: usize| match &items[at] {
        Item::Key(key) => key.value.clone().expect("a value"),
        other => panic!("{other:?}"),
    };
    assert_eq!(value(0), Value::List(vec![b"1".to_vec()]));
    let (least, most) = (f64::NEG_INFINITY, f64::INFINITY);
    let scored = [("a", 1.5), ("b", most), ("c", least)];
    let scored = scored.map(|(name, score)| (name.as_bytes().to_vec(), score));
    assert_eq!(value(1), Value::SortedSet(scored.to_vec()));
    assert_eq!(items.len(), 3);
}

#[test]
fn damage_is_found_with_a_place_in_the_file() {
    let mut items = marked();
    items.extend(
        of_redis()
            .iter()
            .map(|(payload, _)| key("k", &bytes(payload))),
    );
    let whole = file(10, &items);
    read(&whole).expect("a file");
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x11;
        let error = read(&damaged).expect_err("damaged");
        assert!(place(&error) <= whole.len() as u64, "{at}: {error}");
        let error = read(&whole[..at]).expect_err("cut");
        assert!(place(&error) <= at as u64, "{at}: {error}");
    }
    let more = [&whole[..], b"*1\r\n"].concat();
    let error = read(&more).expect_err("longer");
    assert_eq!(
        error.to_string(),
        format!(
            "bytes behind the end, at byte {}: the file is damaged",
            whole.len()
        )
    );
    // Without a checksum only the structure is checked: no byte makes a reader panic.
    let bare = whole.len() - size_of::<u64>();
    for at in 0..bare {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x11;
        damaged[bare..].fill(0);
        if let Err(error) = read(&damaged) {
            assert!(place(&error) <= whole.len() as u64, "{at}: {error}");
        }
    }
}

/// The place that an error names.
fn place(error: &FileError) -> u64 {
    match error {
        FileError::Read { at, .. }
        | FileError::Short { at }
        | FileError::Malformed { at, .. }
        | FileError::Kind { at, .. }
        | FileError::Refused { at, .. }
        | FileError::Checksum { at, .. } => *at,
        FileError::OfKey { error, .. } => place(error),
        FileError::Magic | FileError::Version { .. } => 0,
    }
}

#[test]
fn an_item_of_too_many_bytes_is_passed_over() {
    let long = "x".repeat(200);
    let items = [string("long", &long), string("behind", "it")];
    let whole = file(10, &items);
    let mut file = RdbFile::bounded(&whole[..], 64).expect("a file");
    let mut next = || match file.next_item() {
        Ok(Some(Item::Key(key))) => (key.name, key.value),
        other => panic!("{other:?}"),
    };
    assert_eq!(next(), (b"long".to_vec(), Err(RdbError::TooLarge)));
    let value = Ok(Value::String(b"it".to_vec()));
    assert_eq!(next(), (b"behind".to_vec(), value));
    // The checksum covers the bytes that were not kept.
    assert_eq!(file.next_item().expect("an end"), None);
}

#[test]
fn what_is_not_supported_is_refused_by_its_name() {
    let refused = |version, item: Vec<u8>| {
        let error = read(&file(version, &[string("a", "1"), item])).expect_err("refused");
        error.to_string()
    };
    assert_eq!(
        refused(10, key("m", &[7, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
        "key \"m\" of database 0: a value of type 7, at byte 18, is not supported"
    );
    assert_eq!(
        refused(12, vec![mark::MODULE, 1, 2]),
        "data of a module of Redis, at byte 18, is not supported"
    );
    assert_eq!(
        refused(10, vec![mark::EARLY_LIBRARY]),
        "a function of a release candidate of Redis 7.0, at byte 18, is not supported"
    );
    assert_eq!(
        refused(
            10,
            vec![mark::EXPIRES_SECONDS, 1, 0, 0, 0, mark::DATABASE, 1]
        ),
        "a time of a key without the key, at byte 23: the file is damaged"
    );
    for (head, told) in [
        (
            "REDIS0013",
            "RDB version 13 is not supported: versions 1 to 12 are",
        ),
        (
            "REDIS0000",
            "RDB version 0 is not supported: versions 1 to 12 are",
        ),
        (
            "REDISabcd",
            "no RDB file: it does not begin with REDIS and a version of four digits",
        ),
        (
            "id,value\n1",
            "no RDB file: it does not begin with REDIS and a version of four digits",
        ),
    ] {
        assert_eq!(read(head.as_bytes()).expect_err(head).to_string(), told);
    }
}

//! Payloads that a Redis 7.0.15 made, in each of its forms; written values are read back; damaged ones are refused.

use super::*;

pub(super) fn bytes(hex: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
    (0..hex.len()).step_by(2).map(digit).collect()
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// Payloads of a Redis, with their values.
pub(super) fn of_redis() -> Vec<(&'static str, Value)> {
    let string = |text: &str| Value::String(text.into());
    let hash = |fields: &[&str]| Value::Hash(pairs(texts(fields)));
    let sorted = |members: &[(&str, f64)]| {
        let own = |(name, score): &(&str, f64)| (name.as_bytes().to_vec(), *score);
        Value::SortedSet(members.iter().map(own).collect())
    };
    let (b70, x100, z5000) = ("b".repeat(70), "x".repeat(100), "z".repeat(5000));
    vec![
        ("00c139300a009d94ea2793fc08b9", string("12345")),
        ("00c0f90a005e26d130d7a242ab", string("-7")),
        (
            "00c30940c8016161e0bb000161610a001f99f72e01b20de3",
            string(&"a".repeat(200)),
        ),
        ("000568656c6c6f0a006372df766534200a", string("hello")),
        (
            "120102c31d405d155d00000005008161020101ded402f270110104e04662e03c000148ff0a00430302b35dcd91fa",
            Value::List(texts(&["a", "1", "-300", "70000", &b70])),
        ),
        (
            "120102c315413c083c0100000300e06478e05a000066e0c4660166ff0a00dfe21ea271349b4a",
            Value::List(texts(&[&x100, &x100, &x100])),
        ),
        (
            "1202020a0a0000000100817102ff020a0a0000000100817202ff0a001f1034d06129d344",
            Value::List(texts(&["q", "r"])),
        ),
        (
            "120102c3404a539607961300000100f0882006007ae0ff00e0ff00e0ff00e0ff00e0ff00e0ff00e0ff00e0ff00e0ff00e0ff00e0ff00e0ff00e0ff00e0ff00e0ff00e0ff00e0ff00e0ff00e0ee0002278dff0a007c77ef19733e4525",
            Value::List(texts(&[&z5000])),
        ),
        (
            "0b140400000003000000feffffff01000000701101000a0030527df8cc311f3b",
            Value::Set(texts(&["-2", "1", "70000"])),
        ),
        (
            "0202016201610a0075d99d835ef85f65",
            Value::Set(texts(&["b", "a"])),
        ),
        (
            "101414000000040081660201018167028374776f04ff0a00e318742b61db6fdf",
            hash(&["f", "1", "g", "two"]),
        ),
        (
            "111d1d0000000600816202842d696e660581610283312e35048163020301ff0a002970c58fcde6fc31",
            sorted(&[("b", f64::NEG_INFINITY), ("a", 1.5), ("c", 3.0)]),
        ),
        ("04010166c0010a001a826a5279bf95ce", hash(&["f", "1"])),
        (
            "05020162000000000000f07f0161000000000000f83f0a001343ce1a14f007a4",
            sorted(&[("b", f64::INFINITY), ("a", 1.5)]),
        ),
        (STREAM, Value::Stream(stream())),
    ]
}

/// A stream with a deleted entry, a group with a pending entry, and one with a consumer without any.
const STREAM: &str = "130110000000000000000100000000000000013e3e0000001900020101010201816102816202000102010001000101010201050103010001010103010401050100010401dfff0201018163028164020601ff0205000101010203020167010181ffffffffffffffff01000000000000000100000000000000018191c422a2010000010103616e6e8191c422a201000001000000000000000100000000000000010168050081ffffffffffffffff000103626f628a91c422a2010000000a00f980c9a405051e19";

fn stream() -> StreamValue {
    let seen = 0x01a2_22c4_9181;
    StreamValue {
        entries: vec![
            ((1, 1), texts(&["a", "1", "b", "2"])),
            ((5, 0), texts(&["c", "d"])),
        ],
        last: (5, 0),
        deleted: (1, 2),
        added: 3,
        groups: vec![
            GroupValue {
                name: b"g".to_vec(),
                last: (1, 1),
                read: None,
                consumers: vec![(b"ann".to_vec(), seen)],
                pending: vec![PendingValue {
                    id: (1, 1),
                    consumer: 0,
                    delivered: seen,
                    deliveries: 1,
                }],
            },
            GroupValue {
                name: b"h".to_vec(),
                last: (5, 0),
                read: None,
                consumers: vec![(b"bob".to_vec(), seen + 9)],
                pending: Vec::new(),
            },
        ],
    }
}

#[test]
fn what_a_redis_dumps_is_read_and_what_is_written_is_read_back() {
    for (payload, value) in of_redis() {
        let read = decode(&bytes(payload)).unwrap_or_else(|error| panic!("{payload}: {error}"));
        assert_eq!(read, value, "{payload}");
        assert_eq!(decode(&encode(&value)).as_ref(), Ok(&value), "{payload}");
    }
}

#[test]
fn a_payload_with_another_byte_or_end_is_refused() {
    for (payload, _) in of_redis() {
        let payload = bytes(payload);
        for at in 0..payload.len() {
            let mut damaged = payload.clone();
            damaged[at] ^= 0x10;
            assert!(
                matches!(decode(&damaged), Err(RdbError::Footer { .. })),
                "{at}"
            );
            assert!(decode(&payload[..at]).is_err(), "{at}");
        }
    }
}

/// A payload of a body, with a footer that is right.
fn sealed(body: &[u8]) -> Vec<u8> {
    let mut output = Output::default();
    output.bytes(body);
    output.sealed()
}

#[test]
fn a_damaged_value_under_a_right_checksum_is_refused_or_another_value() {
    for (payload, _) in of_redis() {
        let payload = bytes(payload);
        let body = &payload[..payload.len() - FOOTER_BYTES];
        for at in 0..body.len() {
            for bit in 0..8 {
                let mut damaged = body.to_vec();
                damaged[at] ^= 1 << bit;
                if let Ok(value) = decode(&sealed(&damaged)) {
                    assert_eq!(decode(&encode(&value)), Ok(value), "{at} {bit}");
                }
            }
            assert!(decode(&sealed(&body[..at])).is_err(), "{at}");
        }
    }
}

#[test]
fn older_forms_are_read() {
    let read = |hex: &str| decode(&sealed(&bytes(hex)));
    // A ziplist with an immediate number, an integer of a byte, one of three bytes, and a text.
    let ziplist = "181800000012000000040000f202fef903f070110105016aff".to_string();
    assert_eq!(
        read(&format!("0a{ziplist}")),
        Ok(Value::List(texts(&["1", "-7", "70000", "j"])))
    );
    assert_eq!(
        read(&format!("0d{ziplist}")),
        Ok(Value::Hash(pairs(texts(&["1", "-7", "70000", "j"]))))
    );
    assert_eq!(
        read(&format!("0e01{ziplist}")),
        Ok(Value::List(texts(&["1", "-7", "70000", "j"])))
    );
    // A zipmap whose value has a free byte behind it.
    assert_eq!(
        read("09090101610201787900ff"),
        Ok(Value::Hash(pairs(texts(&["a", "xy"]))))
    );
    // Scores as texts.
    assert_eq!(
        read("0302016103312e350162fe"),
        Ok(Value::SortedSet(vec![
            (b"a".to_vec(), 1.5),
            (b"b".to_vec(), f64::INFINITY)
        ]))
    );
    assert!(read("03010161fd").is_err());
    // A set in a listpack, as of Redis 7.2.
    assert_eq!(
        read("140c0c00000002000101816202ff"),
        Ok(Value::Set(texts(&["1", "b"])))
    );
    // A member twice, no member, another type, bytes behind the value.
    assert!(read("020201610161").is_err());
    assert!(read("0200").is_err());
    assert_eq!(read("0700"), Err(RdbError::Kind(7)));
    assert!(read("00016100").is_err());
}

#[test]
fn a_value_takes_no_more_than_its_bounds() {
    // Many elements of no byte each.
    let mut body = vec![kind::LIST, 0x80];
    body.extend((ELEMENTS_MAX as u32 + 1).to_be_bytes());
    body.extend(vec![0; ELEMENTS_MAX + 1]);
    assert_eq!(decode(&sealed(&body)), Err(RdbError::TooLarge));
    // Compressed, three bytes are 264.
    let compressed = |output: &mut Output, length: usize| {
        let mut packed = vec![0x00, b'a'];
        packed.extend([0xe0, 0xff, 0x00].repeat(length / 264));
        output.byte(0xc3);
        output.length(packed.len() as u64);
        output.length(length as u64);
        output.bytes(&packed);
    };
    let of_length = |length| {
        let mut output = Output::default();
        output.byte(kind::STRING);
        compressed(&mut output, length);
        decode(&output.sealed())
    };
    let most = TEXT_BYTES_MAX / 264 * 264 + 1;
    assert_eq!(of_length(most), Ok(Value::String(vec![b'a'; most])));
    // It is refused by the length that it promises, which the compressed bytes do not have: none was decompressed.
    assert_eq!(of_length(TEXT_BYTES_MAX + 2), Err(RdbError::TooLarge));
    // Each text is short enough, and all together are too many bytes.
    let mut output = Output::default();
    output.byte(kind::LIST);
    output.length(9);
    (0..9).for_each(|_| compressed(&mut output, 31_776 * 264 + 1));
    assert_eq!(decode(&output.sealed()), Err(RdbError::TooLarge));
}

/// Each with each, they would be 20,000,000,000 comparisons, while all clients wait.
#[test]
fn many_consumers_are_read_at_once() {
    let consumers = (0..200_000).map(|number| (format!("c{number}").into_bytes(), 5));
    let group = GroupValue {
        name: b"g".to_vec(),
        consumers: consumers.collect(),
        ..GroupValue::default()
    };
    let mut stream = StreamValue {
        groups: vec![group],
        ..StreamValue::default()
    };
    let payload = encode(&Value::Stream(stream.clone()));
    assert_eq!(decode(&payload), Ok(Value::Stream(stream.clone())));
    stream.groups[0].consumers.push((b"c7".to_vec(), 6));
    let refused = decode(&encode(&Value::Stream(stream)));
    assert!(matches!(
        refused,
        Err(RdbError::Malformed {
            what: "a consumer that is there twice",
            ..
        })
    ));
}

#[test]
fn libraries_are_written_as_redis_writes_them() {
    let code = b"#!lua name=l\nredis.register_function('f', function() return 1 end)";
    let payload = bytes(
        "f5404223216c7561206e616d653d6c0a72656469732e72656769737465725f66756e6374696f6e282766272c2066756e6374696f6e28292072657475726e203120656e64290a00629568e65f412be2",
    );
    assert_eq!(encode_libraries([&code[..]].into_iter()), payload);
    assert_eq!(decode_libraries(&payload), Ok(vec![code.to_vec()]));
    let value = encode(&Value::String(b"a".to_vec()));
    assert_eq!(decode_libraries(&value), Err(RdbError::Kind(0)));
    assert!(decode(&payload).is_err());
}

//! Long strings, which are read and changed in part, are those of a list of bytes, at all lengths near the ends of cells; and
//! events of bits that change nothing.

use crate::common::{World, encode, send};
use bytes::BytesMut;
use sardonyx_base::random::Random;
use sardonyx_resp::Session;

fn ask(session: &mut Session, parts: &[&[u8]]) -> String {
    let (output, _) = send(session, &encode(parts));
    String::from_utf8_lossy(&output).into_owned()
}

fn below(random: &mut Random, bound: usize) -> usize {
    (random.next() % bound as u64) as usize
}

fn bit(value: &[u8], at: usize) -> u8 {
    value.get(at / 8).map_or(0, |byte| byte >> (7 - at % 8) & 1)
}

#[test]
fn long_strings_are_changed_and_read_in_part() {
    let world = World::new(1);
    let mut session = world.session();
    let mut random = Random::new(7);
    for round in 0..40 {
        // Cells of whole pages have 4,072 bytes; the last ones are others.
        let cells = below(&mut random, 6);
        let mut value = vec![b'v'; 4_090 + cells * 4_072 + below(&mut random, 50)];
        ask(&mut session, &[b"SET", b"k", &value]);
        for step in 0..30 {
            let count = [1, 8, 100, 4_000, 9_000][below(&mut random, 5)];
            let part: Vec<u8> = (0..count).map(|at| (at as u8) ^ step).collect();
            let place = match step % 3 {
                0 => below(&mut random, value.len()),
                1 => value.len() - below(&mut random, 20).min(value.len()),
                _ => value.len() + below(&mut random, 5_000),
            };
            let answer = match below(&mut random, 3) {
                0 => {
                    value.extend_from_slice(&part);
                    ask(&mut session, &[b"APPEND", b"k", &part])
                }
                1 => {
                    value.resize(value.len().max(place + count), 0);
                    value[place..place + count].copy_from_slice(&part);
                    let place = place.to_string();
                    ask(&mut session, &[b"SETRANGE", b"k", place.as_bytes(), &part])
                }
                _ => {
                    let at = (place * 8 + usize::from(step) % 8).to_string();
                    let was = bit(&value, place * 8 + usize::from(step) % 8);
                    value.resize(value.len().max(place + 1), 0);
                    value[place] |= 0x80 >> (step % 8);
                    let answer = ask(&mut session, &[b"SETBIT", b"k", at.as_bytes(), b"1"]);
                    assert_eq!(answer, format!(":{was}\r\n"));
                    ask(&mut session, &[b"STRLEN", b"k"])
                }
            };
            assert_eq!(answer, format!(":{}\r\n", value.len()), "{round}.{step}");
            let from = below(&mut random, value.len());
            let to = (from + count).min(value.len() - 1);
            let (first, last) = (from.to_string(), to.to_string());
            let line = [&b"GETRANGE"[..], b"k", first.as_bytes(), last.as_bytes()];
            let (output, _) = send(&mut session, &encode(&line));
            let there = &value[from..=to];
            assert!(
                output.ends_with(&[there, b"\r\n"].concat()),
                "{round}.{step}"
            );
            let at = from * 8 + 5;
            let answer = ask(&mut session, &[b"GETBIT", b"k", at.to_string().as_bytes()]);
            assert_eq!(answer, format!(":{}\r\n", bit(&value, at)));
            let at = at.to_string();
            let line = [
                &b"BITFIELD"[..],
                b"k",
                b"INCRBY",
                b"u8",
                at.as_bytes(),
                b"0",
            ];
            let one = ask(&mut session, &line);
            let line = [&b"BITFIELD_RO"[..], b"k", b"GET", b"u8", at.as_bytes()];
            assert_eq!(ask(&mut session, &line), one);
        }
        let (output, _) = send(&mut session, &encode(&["GET", "k"]));
        assert!(output.ends_with(&[&value[..], b"\r\n"].concat()), "{round}");
    }
    // The longest, and one byte more.
    let end = (16 << 20) - 1;
    let place = end.to_string();
    let answer = ask(&mut session, &[b"SETRANGE", b"k", place.as_bytes(), b"x"]);
    assert_eq!(answer, format!(":{}\r\n", end + 1));
    let answer = ask(&mut session, &[b"APPEND", b"k", b"y"]);
    assert!(answer.starts_with("-ERR string exceeds"), "{answer}");
}

#[test]
fn bits_that_stay_are_no_change() {
    let world = World::new(1);
    let (mut one, mut other) = (world.session(), world.session());
    ask(
        &mut one,
        &[b"CONFIG", b"SET", b"notify-keyspace-events", b"KEA"],
    );
    ask(&mut other, &[b"SUBSCRIBE", b"__keyevent@0__:setbit"]);
    let mut events = |line: &str| {
        let parts: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        let answer = ask(&mut one, &parts);
        assert!(!answer.starts_with('-'), "{line}: {answer}");
        let mut output = BytesMut::new();
        other.tell(&mut output);
        output.windows(6).filter(|part| *part == b"setbit").count()
    };
    for (line, expected) in [
        ("SETBIT k 7 0", 1),
        ("SETBIT k 7 0", 0),
        ("SETBIT k 7 1", 1),
        ("SETBIT k 7 1", 0),
        ("SETBIT k 15 0", 1),
        ("BITFIELD k SET u8 0 1", 0),
        ("BITFIELD k SET u8 0 2", 1),
        ("BITFIELD k INCRBY u8 0 0", 0),
        ("BITFIELD k GET u8 100", 0),
        ("BITFIELD k SET u8 16 0", 1),
        ("BITFIELD k OVERFLOW FAIL INCRBY u8 24 300", 0),
        ("BITFIELD k SET u8 24 0", 0),
        ("BITFIELD k OVERFLOW FAIL INCRBY u8 0 300 SET u8 8 1", 1),
    ] {
        assert_eq!(events(line), expected, "{line}");
    }
    assert_eq!(ask(&mut one, &[b"STRLEN", b"k"]), ":4\r\n");
}

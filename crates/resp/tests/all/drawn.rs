//! Elements drawn by chance from keys with many: each may come, none twice where they are to differ, and none of another key.

use crate::common::text::answers;
use crate::common::{World, encode, send};
use sardonyx_resp::Session;
use std::collections::BTreeSet;

/// Elements of the large keys; the smaller ones beside them are in the same index.
const MANY: usize = 2_000;

fn ask(session: &mut Session, line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    answers(&send(session, &encode(&words)).0).remove(0)
}

/// The texts in an answer.
fn texts(answer: &str) -> Vec<String> {
    let words = answer.split(['[', ']', '{', '}', ' ', '"']);
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_string).collect()
}

/// A database with a set, a hash and a sorted set of many elements, whose names begin alike, between smaller ones.
fn filled() -> (World, Session) {
    let world = World::new(5);
    let mut session = world.session();
    for (suffix, many) in [("before", 40), ("", MANY), ("behind", 40)] {
        for number in 0..many {
            let name = format!("{suffix}element:{number:06}");
            for line in [
                format!("SADD s{suffix} {name}"),
                format!("HSET h{suffix} {name} {number}"),
                format!("ZADD z{suffix} {} {name}", number % 10),
            ] {
                assert_eq!(ask(&mut session, &line), ":1");
            }
        }
    }
    (world, session)
}

fn is_element(name: &str) -> bool {
    let number = name.strip_prefix("element:").map(str::parse::<usize>);
    matches!(number, Some(Ok(number)) if number < MANY)
}

#[test]
fn chosen_elements_are_the_keys_own_and_differ() {
    let (_world, mut session) = filled();
    for count in [1, 7, 125, 126, 1_000, MANY, MANY + 5] {
        for command in ["SRANDMEMBER s", "HRANDFIELD h", "ZRANDMEMBER z"] {
            let chosen = texts(&ask(&mut session, &format!("{command} {count}")));
            assert_eq!(chosen.len(), count.min(MANY), "{command} {count}");
            assert!(chosen.iter().all(|name| is_element(name)), "{command}");
            let different: BTreeSet<_> = chosen.iter().collect();
            assert_eq!(different.len(), chosen.len(), "{command} {count}");
            let repeated = texts(&ask(&mut session, &format!("{command} -{count}")));
            assert_eq!(repeated.len(), count, "{command} -{count}");
            assert!(repeated.iter().all(|name| is_element(name)), "{command}");
        }
    }
    for (command, divisor) in [
        ("HRANDFIELD h 50 WITHVALUES", MANY),
        ("ZRANDMEMBER z 50 WITHSCORES", 10),
    ] {
        let chosen = texts(&ask(&mut session, command));
        assert_eq!(chosen.len(), 100, "{command}");
        for pair in chosen.chunks(2) {
            let number = pair[0].strip_prefix("element:").unwrap();
            let number: usize = number.parse().unwrap();
            assert_eq!(pair[1], (number % divisor).to_string(), "{command}");
        }
    }
}

#[test]
fn each_element_is_drawn_some_time() {
    let (_world, mut session) = filled();
    for command in ["SRANDMEMBER s", "HRANDFIELD h", "ZRANDMEMBER z"] {
        let mut drawn = BTreeSet::new();
        // An element is not among so many with a probability of 2000 / e^10.
        for _ in 0..10 * MANY {
            drawn.extend(texts(&ask(&mut session, command)));
        }
        assert!(drawn.iter().all(|name| is_element(name)), "{command}");
        assert!(drawn.len() >= MANY - 3, "{command}: {}", drawn.len());
    }
}

#[test]
fn a_set_is_taken_by_chance_to_its_end() {
    let (_world, mut session) = filled();
    let mut left = MANY;
    let mut taken = BTreeSet::new();
    while left > 0 {
        // One, few, and many.
        let line = match left % 3 {
            0 => "SPOP s".to_string(),
            1 => "SPOP s 5".to_string(),
            _ => format!("SPOP s {}", left / 12 + 1),
        };
        let popped = texts(&ask(&mut session, &line));
        left -= popped.len();
        for name in popped {
            assert!(is_element(&name) && taken.insert(name), "{line}");
        }
        assert_eq!(ask(&mut session, "SCARD s"), format!(":{left}"));
    }
    assert_eq!(ask(&mut session, "EXISTS s"), ":0");
    assert_eq!(ask(&mut session, "SCARD sbefore"), ":40");
    assert_eq!(ask(&mut session, "SCARD sbehind"), ":40");
}

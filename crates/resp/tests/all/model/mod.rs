//! Random commands on few keys beside ordinary collections, by seed, with the machine failing in between. Every answer
//! is the model's. After a failure, all answered commands have their effect; of an unanswered flight, whole commands
//! from its beginning have, or none.

mod naive;
mod streams;

use crate::common::text::answers;
use crate::common::{World, encode, send};
use naive::{Naive, dump};
use sardonyx::disk::Faults;
use sardonyx_base::random::Random;
use sardonyx_resp::{Clock, Continue, Session};

const NAMES: u64 = 12;

/// Some command.
fn command(random: &mut Random) -> Vec<String> {
    let mut below = |bound: u64| random.next() % bound;
    let choice = below(60);
    // Mostly keys of the command's own kind: others are refused, or overwritten.
    let own = match choice {
        15..=19 => 1,
        20..=24 => 2,
        25..=32 => 3,
        33..=40 => 4,
        44..=57 => 5,
        _ => below(6),
    };
    let mut key = || match below(6) {
        0 => format!("k{}{}", below(5), below(2)),
        _ => format!("k{own}{}", below(2)),
    };
    let (key, other, third) = (key(), key(), key());
    // Names share their beginnings, so that entries of indexes do not tell them apart; some are long.
    let long = "x".repeat(if below(8) == 0 { 300 } else { 0 });
    let name = format!("a name that begins alike {}{long}", below(NAMES)).replace(' ', "_");
    let number = (below(200) as i64 - 100).to_string();
    let item = format!("v{}", below(4));
    let small = below(5).to_string();
    let millis = (1 + below(2000)).to_string();
    // Times of entries are few, and of each there are some entries.
    let new_id = match below(16) {
        0 => "*".to_string(),
        _ => format!("{}-*", 1 + below(3)),
    };
    let entry = format!("{}-{}", 1 + below(3), below(8));
    let (group, consumer) = (format!("g{}", below(2)), format!("c{}", below(3)));
    let words: Vec<&str> = match choice {
        0 | 1 => vec!["SET", &key, &name],
        2 => vec!["SET", &key, &number],
        3 => vec!["SET", &key, &name, "PX", &millis],
        4 => vec!["GET", &key],
        5 => vec!["APPEND", &key, &name],
        6 | 7 => vec!["INCRBY", &key, &number],
        8 => vec!["DEL", &key],
        9 => vec!["DEL", &other, &key, &third, &key],
        10 => vec!["RENAME", &key, &other],
        11 => vec!["PEXPIRE", &key, &millis],
        12 => vec!["PERSIST", &key],
        13 => vec!["PTTL", &key],
        14 => vec!["KEYS", "*"],
        15..=17 => vec!["HSET", &key, &name, &number],
        18 => vec!["HDEL", &key, &name],
        19 => vec!["HGET", &key, &name],
        20..=22 => vec!["SADD", &key, &name],
        23 => vec!["SREM", &key, &name],
        24 => vec!["SUNIONSTORE", &key, &other, &third],
        25..=28 => vec!["ZADD", &key, &number, &name],
        29 => vec!["ZREM", &key, &name],
        30 => vec!["ZRANK", &key, &name],
        31 => vec!["ZCOUNT", &key, "-50", &number],
        32 => vec!["ZPOPMIN", &key],
        33 | 34 => vec!["RPUSH", &key, &item],
        35 => vec!["LPUSH", &key, &item],
        36 => vec!["LPOP", &key],
        37 => vec!["RPOP", &key],
        38 => vec!["LREM", &key, "0", &item],
        39 => vec!["LINSERT", &key, "BEFORE", &item, &number],
        40 => vec!["LTRIM", &key, &small, "16"],
        41 => vec!["RPUSH", &key, &item],
        // A key may be there several times.
        42 => vec!["MSET", &key, &name, &other, &number, &third, &item],
        43 if below(2) == 0 => vec!["MGET", &key, &other, &third],
        43 => vec!["MSETNX", &third, &number, &key, &name],
        44..=47 => vec!["XADD", &key, &new_id, "f", &item],
        48 => vec!["XADD", &key, "MAXLEN", &small, &new_id, "f", &item],
        49 => vec!["XTRIM", &key, "MINID", &entry],
        50 => vec!["XDEL", &key, &entry],
        51 => vec!["XGROUP", "CREATE", &key, &group, "0", "MKSTREAM"],
        52 if below(4) == 0 => vec!["XGROUP", "DESTROY", &key, &group],
        52 => vec!["XGROUP", "DELCONSUMER", &key, &group, &consumer],
        53 | 54 => {
            let from = if below(3) == 0 { "0" } else { ">" };
            let read = ["XREADGROUP", "GROUP", &group, &consumer, "COUNT", "3"];
            let mut words = read.to_vec();
            words.extend(["STREAMS", &key, from]);
            words
        }
        55 => vec!["XACK", &key, &group, &entry],
        56 => {
            let claim = ["XAUTOCLAIM", &key, &group, &consumer, &millis, "0"];
            let mut words = claim.to_vec();
            words.extend(["COUNT", "2"]);
            words
        }
        57 => vec!["COPY", &key, &other],
        _ if below(20) == 0 => vec!["FLUSHALL"],
        _ => vec!["TYPE", &key],
    };
    words.into_iter().map(str::to_string).collect()
}

fn words(command: &[String]) -> Vec<&str> {
    command.iter().map(String::as_str).collect()
}

fn dump_of(session: &mut Session) -> Vec<String> {
    dump(|words| {
        let mut answers = answers(&send(session, &encode(words)).0);
        assert_eq!(answers.len(), 1);
        answers.remove(0)
    })
}

/// One life of the machine: flights until it fails. Returns the states that may be there afterwards.
fn live(world: &World, model: &mut Naive, random: &mut Random, flights: u64) -> Vec<Naive> {
    let mut session = world.session();
    for _ in 0..flights {
        if random.next().is_multiple_of(4) {
            world.advance((random.next() % 700) as i64);
        }
        let now = world.clock.now();
        let commands: Vec<_> = (0..1 + random.next() % 6)
            .map(|_| command(random))
            .collect();
        let sent: Vec<u8> = commands
            .iter()
            .flat_map(|command| encode(command))
            .collect();
        let mut states = vec![model.clone()];
        let mut expected = Vec::new();
        for command in &commands {
            expected.push(model.run(&words(command), now));
            states.push(model.clone());
        }
        let (output, next) = send(&mut session, &sent);
        if next == Continue::Close {
            return states;
        }
        let got = answers(&output);
        for (number, command) in commands.iter().enumerate() {
            if world.disk.has_crashed()
                && got[number].starts_with("-ERR")
                && expected[number] != got[number]
            {
                // It was undone; those before it were answered.
                return vec![states.swap_remove(number)];
            }
            assert_eq!(got[number], expected[number], "{command:?}");
        }
        if random.next().is_multiple_of(8) && !world.disk.has_crashed() {
            assert_eq!(dump_of(&mut session), model.dump(now));
        }
        if random.next().is_multiple_of(16) {
            let most = 1 + (random.next() % 4) as usize;
            let swept = world.keyspace.sweep(now, most);
            assert!(swept.is_ok_and(|swept| swept <= most) || world.disk.has_crashed());
        }
    }
    vec![model.clone()]
}

fn explore(seed: u64, lives: u64, flights: u64) {
    let mut random = Random::new(seed);
    let mut world = World::new(seed);
    let mut model = Naive::default();
    for life in 0..lives {
        let states = live(&world, &mut model, &mut random, flights);
        // In half of the lives it fails while it works.
        let crash_at_step = (random.next().is_multiple_of(2)).then(|| 1 + random.next() % 400);
        world = world.restart(Faults {
            crash_at_step,
            ..Faults::default()
        });
        let now = world.clock.now();
        let there = dump_of(&mut world.session());
        let found = states
            .into_iter()
            .rev()
            .find_map(|mut state| (state.dump(now) == there).then_some(state));
        model = found.unwrap_or_else(|| {
            panic!("seed {seed}, life {life}: not what was answered: {there:#?}")
        });
    }
}

#[test]
fn i1_answers_are_the_models_and_outlive_failures() {
    for seed in 1..=12 {
        explore(seed, 6, 60);
    }
}

#[test]
#[ignore = "a long run: SARDONYX_SEEDS=from..to"]
fn i1_answers_are_the_models_and_outlive_failures_at_length() {
    let seeds = std::env::var("SARDONYX_SEEDS").unwrap_or("100..300".into());
    let (from, to) = seeds.split_once("..").expect("from..to");
    for seed in from.parse().expect("a number")..to.parse().expect("a number") {
        explore(seed, 10, 100);
    }
}

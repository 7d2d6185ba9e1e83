//! Commands and their answers in `golden/*.txt`: compared with the answers of this crate, and of Redis.
//!
//! In a transcript a line `> words` is a command of the first client, and `2> words` one of the second. `2<` is before
//! the messages that the second receives besides the first answer to each of its commands. `2? words` is a command
//! that is not answered at once. `@ millis` lets time pass (here only: such a transcript is not for Redis). `! words`
//! is a command that Redis answers otherwise, and `~ words` one that it answers in an order that it does not promise.
//! The lines behind a command are the answers, as `common::text` writes them.
//!
//! `SARDONYX_REDIS=127.0.0.1:6379 cargo test -p sardonyx-resp --test all golden -- --ignored` compares with a Redis 7 that has
//! nothing in it. `SARDONYX_BLESS=1` writes what was answered here into the transcripts.

use crate::common::{World, encode, send, text::answers};
use bytes::BytesMut;
use sardonyx_resp::Session;
use std::collections::{HashMap, VecDeque};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn transcripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let files = std::fs::read_dir(folder).expect("a folder");
    let files = files.map(|file| file.expect("a file").path());
    // Without it scripts are refused.
    let mut files: Vec<_> = files
        .filter(|file| cfg!(feature = "lua") || !file.ends_with("scripts.txt"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

/// The words of a line, with quotes and `\x` escapes.
fn words(line: &str) -> Vec<Vec<u8>> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    let mut chars = line.bytes().peekable();
    while let Some(first) = chars.next() {
        let mut word = Vec::new();
        match first {
            b' ' => continue,
            b'"' => loop {
                match chars.next().expect("an end quote") {
                    b'"' => break,
                    b'\\' => {
                        let two: Vec<u8> = chars.by_ref().take(2).collect();
                        let two = std::str::from_utf8(&two).expect("digits");
                        word.push(u8::from_str_radix(two, 16).expect("digits"));
                    }
                    other => word.push(other),
                }
            },
            other => {
                word.push(other);
                while let Some(next) = chars.next_if(|next| *next != b' ') {
                    word.push(next);
                }
            }
        }
        words.push(word);
    }
    words
}

/// Runs a transcript; returns it with the answers of `ask`. With a command, that is the answer, if it is given at
/// once; without one, it is the next message that a client receives.
fn run(
    transcript: &str,
    mut ask: impl FnMut(u32, Option<&[Vec<u8>]>, bool) -> Option<String>,
    mut advance: impl FnMut(i64),
) -> String {
    let mut result = String::new();
    for line in transcript.lines() {
        let command = line.split_once("> ").filter(|(who, _)| who.len() <= 1);
        let marked = line.strip_prefix("! ").or_else(|| line.strip_prefix("~ "));
        let command = command.or_else(|| marked.map(|words| ("", words)));
        match (command, line) {
            (Some((who, sent)), _) => {
                result.push_str(line);
                result.push('\n');
                if let Some(answer) = ask(who.parse().unwrap_or(1), Some(&words(sent)), true) {
                    result.push_str(&answer);
                    result.push('\n');
                }
            }
            (None, line) if line.get(1..3) == Some("? ") => {
                result.push_str(line);
                result.push('\n');
                let who = line[..1].parse().expect("a number");
                let answer = ask(who, Some(&words(&line[3..])), false);
                assert_eq!(answer, None, "{line}");
            }
            (None, line) if line.len() == 2 && line.ends_with('<') => {
                result.push_str(line);
                result.push('\n');
                let who = line[..1].parse().expect("a number");
                result.push_str(&ask(who, None, true).expect("it is told something"));
                result.push('\n');
            }
            (None, line) if line.is_empty() || line.starts_with('#') => {
                result.push_str(line);
                result.push('\n');
            }
            (None, line) => {
                if let Some(millis) = line.strip_prefix("@ ") {
                    advance(millis.parse().expect("milliseconds"));
                    result.push_str(line);
                    result.push('\n');
                }
            }
        }
    }
    result
}

/// The items of an answer, sorted.
fn items(answer: &str) -> Vec<&str> {
    let mut items: Vec<_> = answer.trim_matches(['[', ']']).split(' ').collect();
    items.sort_unstable();
    items
}

#[test]
fn answers_are_those_of_the_transcripts() {
    for file in transcripts() {
        let transcript = std::fs::read_to_string(&file).expect("a transcript");
        let world = World::new(1);
        let mut sessions: HashMap<u32, (Session, VecDeque<String>)> = HashMap::new();
        let ask = |who, words: Option<&[Vec<u8>]>, _: bool| {
            let new = || (world.session(), VecDeque::new());
            let (session, told) = sessions.entry(who).or_insert_with(new);
            let mut output = match words {
                Some(words) => send(session, &encode(words)).0,
                None => BytesMut::new(),
            };
            session.tell(&mut output);
            told.extend(answers(&output));
            told.pop_front()
        };
        let result = run(&transcript, ask, |millis| world.advance(millis));
        if std::env::var_os("SARDONYX_BLESS").is_some() {
            std::fs::write(&file, &result).expect("written");
            continue;
        }
        let pairs = transcript.lines().zip(result.lines());
        let differs = pairs
            .enumerate()
            .find(|(_, (expected, got))| expected != got);
        assert_eq!(differs, None, "in {}", file.display());
        assert_eq!(
            transcript.lines().count(),
            result.lines().count(),
            "in {}",
            file.display()
        );
    }
}

#[test]
#[ignore = "needs a Redis 7, by its address in SARDONYX_REDIS"]
fn redis_answers_the_same() {
    let address =
        std::env::var("SARDONYX_REDIS").expect("the address of a Redis in SARDONYX_REDIS");
    let mut differences = Vec::new();
    for file in transcripts() {
        let transcript = std::fs::read_to_string(&file).expect("a transcript");
        if transcript.lines().any(|line| line.starts_with("@ ")) {
            continue;
        }
        let mut clients: HashMap<u32, (TcpStream, Vec<u8>)> = HashMap::new();
        let mut ask = |who: u32, words: Option<&[Vec<u8>]>, is_answered: bool| {
            let (client, answer) = clients.entry(who).or_insert_with(|| {
                let client = TcpStream::connect(&address).expect("Redis listens");
                let patience = Some(Duration::from_secs(5));
                client.set_read_timeout(patience).expect("a time");
                (client, Vec::new())
            });
            if let Some(words) = words {
                client.write_all(&encode(words)).expect("sent");
            }
            if !is_answered {
                // No answer says that it waits.
                std::thread::sleep(Duration::from_millis(50));
                return None;
            }
            let mut buffer = [0; 65536];
            loop {
                let whole = redis_protocol::resp2::decode::decode_bytes(&answer.clone().into());
                if let Ok(Some((_, length))) = whole {
                    let first: Vec<u8> = answer.drain(..length).collect();
                    return answers(&first).pop();
                }
                let length = client.read(&mut buffer).expect("an answer");
                answer.extend_from_slice(&buffer[..length]);
            }
        };
        ask(1, Some(&[b"FLUSHALL".to_vec()]), true);
        // As it is unless its configuration says otherwise.
        let unlimited = ["CONFIG", "SET", "maxmemory", "0"];
        let unlimited = unlimited.map(|word| word.as_bytes().to_vec());
        ask(1, Some(&unlimited), true);
        let result = run(&transcript, &mut ask, |_| {});
        let mut command = "";
        for (expected, got) in transcript.lines().zip(result.lines()) {
            let marked = expected.starts_with("! ") || expected.starts_with("~ ");
            if marked
                || expected.starts_with("> ")
                || expected.get(1..3) == Some("> ")
                || expected.get(1..) == Some("<")
            {
                command = expected;
            }
            let same = match command.as_bytes().first() {
                Some(b'!') => true,
                Some(b'~') => items(expected) == items(got),
                _ => expected == got,
            };
            if !same {
                differences.push(format!("{command}\n  here:  {expected}\n  Redis: {got}"));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

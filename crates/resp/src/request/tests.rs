//! Commands that are short, and those beside which others read.

use super::running::{SHORT_BYTES, SHORT_LINE_BYTES};
use super::*;
use crate::command;
use crate::data::Numbers;

fn call(line: &str) -> Call {
    let words: Vec<_> = line.split(' ').map(str::as_bytes).collect();
    Call {
        command: command::find(words[0]).expect("a command"),
        line: Line::of(&words),
        caller: None,
    }
}

fn is_short(line: &str) -> bool {
    What::One(call(line)).is_short()
}

fn are_short(lines: &[&str]) -> bool {
    let steps = lines.iter().map(|line| Step::Call(call(line)));
    What::All(steps.collect(), None, None).is_short()
}

#[test]
fn commands_that_take_many_elements_let_others_read_meanwhile() {
    let shared = Shared::new(Numbers::default(), std::sync::Weak::new());
    let may_take_long = |line: &str| What::One(call(line)).may_take_long(&shared);
    for name in ["LPOP k", "RPOP k", "SPOP k", "ZPOPMIN k", "ZPOPMAX k"] {
        assert!(!may_take_long(name) && is_short(name), "{name}");
        let [few, many] = [256, 257].map(|count| format!("{name} {count}"));
        assert!(!may_take_long(&few) && is_short(&few), "{few}");
        assert!(may_take_long(&many) && !is_short(&many), "{many}");
    }
    for [name, end] in [["LMPOP", "LEFT"], ["ZMPOP", "MIN"]] {
        assert!(!may_take_long(&format!("{name} 1 k {end}")));
        assert!(!may_take_long(&format!("{name} 1 k {end} COUNT 256")));
        assert!(may_take_long(&format!("{name} 1 k {end} count 257")));
    }
    let claim = "XAUTOCLAIM k group consumer 1000 0-0";
    assert!(!may_take_long(claim) && is_short(&format!("{claim} JUSTID")));
    assert!(is_short(&format!("{claim} COUNT 256 JUSTID")));
    assert!(may_take_long(&format!("{claim} COUNT 257")));
    assert!(!is_short(&format!("{claim} COUNT 100000 justid")));
    assert!(is_short("LPOP justid") && is_short("SPOP justid justid"));
    // Not a number: refused when it runs.
    assert!(is_short("LPOP k many") && is_short("SADD 300 300"));
    let steps = vec![Step::Call(call("GET k")), Step::Call(call("LPOP k 257"))];
    assert!(What::All(steps, None, None).may_take_long(&shared));
}

#[test]
fn commands_whose_time_grows_with_the_data_or_with_their_bytes_are_not_short() {
    let short = [
        "GET k",
        "SET k v",
        "SETEX k 1 v",
        "PSETEX k 1 v",
        "MSET k v l w",
        "MSETNX k v l w",
        "DEL k l",
        "INCR k",
        "SADD k m",
        "HSET k f v",
    ];
    let long = [
        "KEYS *",
        "HGETALL k",
        "SMEMBERS k",
        "LRANGE k 0 -1",
        "SORT k",
        "SUNIONSTORE k l m",
        "ZUNIONSTORE k 2 l m",
        "COPY k l",
        "FLUSHALL",
        "FCALL f 0",
        "FCALL_RO f 0",
    ];
    for line in short {
        assert!(is_short(line) && are_short(&[line]), "{line}");
    }
    for line in long {
        assert!(!is_short(line) && !are_short(&["GET k", line]), "{line}");
    }
    let many = " member".repeat(SHORT_BYTES / 7 + 1);
    assert!(!is_short(&format!("SADD k{many}")));
    // Several keys that are given values, or deleted, are short up to fewer bytes.
    let pairs = " k v".repeat(SHORT_LINE_BYTES / 2);
    assert!(!is_short(&format!("MSET{pairs}")) && !is_short(&format!("DEL{pairs}")));
    assert!(are_short(&["GET k"; SHORT_STEPS_MAX]));
    assert!(!are_short(&["GET k"; SHORT_STEPS_MAX + 1]));
}

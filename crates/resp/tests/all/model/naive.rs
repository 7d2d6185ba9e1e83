//! The same commands on ordinary collections: the expected answers, in the words of `common::text`.

use super::streams::Stream;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const WRONG_KIND: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
const NO_STREAM: &str = "-ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use \
                         the MKSTREAM option to create an empty stream automatically.";
const NO_INTEGER: &str = "-ERR value is not an integer or out of range";

/// A key's value.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    Text(String),
    Hash(BTreeMap<String, String>),
    Set(BTreeSet<String>),
    Scores(BTreeMap<String, i64>),
    List(VecDeque<String>),
    Stream(Stream),
}

/// All keys, with their times in milliseconds since 1970.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Naive {
    keys: BTreeMap<String, (Value, Option<i64>)>,
}

pub fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

pub fn list(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(" "))
}

fn optional(text: Option<&String>) -> String {
    text.map_or("nil".to_string(), |text| quoted(text))
}

macro_rules! kind {
    ($($name:ident $open:ident $variant:ident $type:ty;)*) => {
        impl Naive {
            $(
                /// The value of a kind; `Err` if the key has another.
                fn $name(&self, key: &str) -> Result<Option<&$type>, String> {
                    match self.keys.get(key) {
                        None => Ok(None),
                        Some((Value::$variant(value), _)) => Ok(Some(value)),
                        Some(_) => Err(WRONG_KIND.to_string()),
                    }
                }

                /// The same to change, made if it is not there.
                fn $open(&mut self, key: &str) -> Result<&mut $type, String> {
                    let new = || (Value::$variant(<$type>::default()), None);
                    match self.keys.entry(key.to_string()).or_insert_with(new) {
                        (Value::$variant(value), _) => Ok(value),
                        _ => Err(WRONG_KIND.to_string()),
                    }
                }
            )*
        }
    };
}

kind! {
    text open_text Text String;
    hash open_hash Hash BTreeMap<String, String>;
    set open_set Set BTreeSet<String>;
    scores open_scores Scores BTreeMap<String, i64>;
    list open_list List VecDeque<String>;
    stream open_stream Stream Stream;
}

impl Naive {
    /// Forgets expired keys, and empty values.
    fn tidy(&mut self, now: i64) {
        self.keys.retain(|_, (value, expires)| {
            let empty = match value {
                Value::Text(_) => false,
                Value::Hash(hash) => hash.is_empty(),
                Value::Set(set) => set.is_empty(),
                Value::Scores(scores) => scores.is_empty(),
                Value::List(list) => list.is_empty(),
                Value::Stream(_) => false,
            };
            !empty && expires.is_none_or(|at| at > now)
        });
    }

    /// Runs a command; returns the answer.
    pub fn run(&mut self, words: &[&str], now: i64) -> String {
        self.tidy(now);
        let before = self.clone();
        let answer = self.command(words, now).unwrap_or_else(|error| {
            *self = before;
            error
        });
        self.tidy(now);
        answer
    }

    fn set_pairs(&mut self, pairs: &[&str]) {
        for pair in pairs.chunks(2) {
            let value = Value::Text(pair[1].into());
            self.keys.insert(pair[0].into(), (value, None));
        }
    }

    fn command(&mut self, words: &[&str], now: i64) -> Result<String, String> {
        let ok = || Ok("+OK".to_string());
        let count = |count: usize| Ok(format!(":{count}"));
        match *words {
            ["SET", key, value] => {
                self.keys
                    .insert(key.into(), (Value::Text(value.into()), None));
                ok()
            }
            ["SET", key, value, "PX", millis] => {
                let at = now + millis.parse::<i64>().expect("a number");
                self.keys
                    .insert(key.into(), (Value::Text(value.into()), Some(at)));
                ok()
            }
            ["MSET", ref pairs @ ..] => {
                self.set_pairs(pairs);
                ok()
            }
            ["MSETNX", ref pairs @ ..] => {
                let mut keys = pairs.iter().step_by(2);
                let is_free = keys.all(|key| !self.keys.contains_key(*key));
                if is_free {
                    self.set_pairs(pairs);
                }
                count(usize::from(is_free))
            }
            ["MGET", ref keys @ ..] => {
                let text = |key: &&str| optional(self.text(key).unwrap_or(None));
                Ok(list(keys.iter().map(text)))
            }
            ["GET", key] => Ok(optional(self.text(key)?)),
            ["APPEND", key, more] => {
                self.open_text(key)?.push_str(more);
                count(self.text(key)?.map_or(0, String::len))
            }
            ["INCRBY", key, amount] => {
                let text = self.open_text(key)?;
                let number = if text.is_empty() { "0" } else { text.as_str() };
                let number: i64 = number.parse().map_err(|_| NO_INTEGER.to_string())?;
                *text = (number + amount.parse::<i64>().expect("a number")).to_string();
                Ok(format!(":{text}"))
            }
            ["DEL", ref keys @ ..] => {
                let deleted = keys.iter().map(|key| self.keys.remove(*key));
                count(deleted.flatten().count())
            }
            ["RENAME", key, to] => {
                let value = self.keys.remove(key).ok_or("-ERR no such key")?;
                self.keys.insert(to.into(), value);
                ok()
            }
            ["PEXPIRE", key, millis] => {
                let millis: i64 = millis.parse().expect("a number");
                let found = self
                    .keys
                    .get_mut(key)
                    .map(|(_, at)| *at = Some(now + millis));
                count(usize::from(found.is_some()))
            }
            ["PERSIST", key] => {
                let found = self.keys.get_mut(key).and_then(|(_, at)| at.take());
                count(usize::from(found.is_some()))
            }
            ["PTTL", key] => Ok(match self.keys.get(key) {
                None => ":-2".to_string(),
                Some((_, None)) => ":-1".to_string(),
                Some((_, Some(at))) => format!(":{}", at - now),
            }),
            ["KEYS", "*"] => Ok(list(self.keys.keys().map(|key| quoted(key)))),
            ["TYPE", key] => Ok(match self.keys.get(key).map(|(value, _)| value) {
                None => "+none",
                Some(Value::Text(_)) => "+string",
                Some(Value::Hash(_)) => "+hash",
                Some(Value::Set(_)) => "+set",
                Some(Value::Scores(_)) => "+zset",
                Some(Value::List(_)) => "+list",
                Some(Value::Stream(_)) => "+stream",
            }
            .to_string()),
            ["HSET", key, field, value] => {
                let before = self.open_hash(key)?.insert(field.into(), value.into());
                count(usize::from(before.is_none()))
            }
            ["HDEL", key, field] => {
                let gone = self.open_hash(key)?.remove(field);
                count(usize::from(gone.is_some()))
            }
            ["HGET", key, field] => Ok(optional(self.hash(key)?.and_then(|hash| hash.get(field)))),
            ["HGETALL", key] => {
                let fields = self.hash(key)?.into_iter().flatten();
                Ok(list(
                    fields.flat_map(|(field, value)| [quoted(field), quoted(value)]),
                ))
            }
            ["SADD", key, member] => count(usize::from(self.open_set(key)?.insert(member.into()))),
            ["SREM", key, member] => count(usize::from(self.open_set(key)?.remove(member))),
            ["SMEMBERS", key] => {
                let members = self.set(key)?.into_iter().flatten();
                Ok(list(members.map(|member| quoted(member))))
            }
            ["SUNIONSTORE", to, one, other] => {
                let mut all = self.set(one)?.cloned().unwrap_or_default();
                all.extend(self.set(other)?.into_iter().flatten().cloned());
                let length = all.len();
                self.keys.insert(to.into(), (Value::Set(all), None));
                count(length)
            }
            ["ZADD", key, score, member] => {
                let score = score.parse().expect("a number");
                let before = self.open_scores(key)?.insert(member.into(), score);
                count(usize::from(before.is_none()))
            }
            ["ZREM", key, member] => {
                let gone = self.open_scores(key)?.remove(member);
                count(usize::from(gone.is_some()))
            }
            ["ZRANGE", key, "0", "-1", "WITHSCORES"] => Ok(list(self.ordered(key)?)),
            ["ZRANK", key, member] => {
                let names = self.ordered(key)?.into_iter().step_by(2);
                let mut names = names
                    .enumerate()
                    .filter(|(_, name)| *name == quoted(member));
                Ok(names
                    .next()
                    .map_or("nil".to_string(), |(rank, _)| format!(":{rank}")))
            }
            ["ZCOUNT", key, from, to] => {
                let (from, to): (i64, i64) =
                    (from.parse().expect("low"), to.parse().expect("high"));
                let scores = self.scores(key)?.into_iter().flatten();
                count(
                    scores
                        .filter(|(_, score)| (from..=to).contains(*score))
                        .count(),
                )
            }
            ["ZPOPMIN", key] => {
                let mut first = self.ordered(key)?;
                first.truncate(2);
                if let Some(name) = first.first() {
                    let name = name.trim_matches('"').to_string();
                    self.open_scores(key)?.remove(&name);
                }
                Ok(list(first))
            }
            ["RPUSH", key, value] => {
                self.open_list(key)?.push_back(value.into());
                count(self.open_list(key)?.len())
            }
            ["LPUSH", key, value] => {
                self.open_list(key)?.push_front(value.into());
                count(self.open_list(key)?.len())
            }
            ["LPOP", key] => Ok(optional(self.open_list(key)?.pop_front().as_ref())),
            ["RPOP", key] => Ok(optional(self.open_list(key)?.pop_back().as_ref())),
            ["LREM", key, "0", value] => {
                let list = self.open_list(key)?;
                let before = list.len();
                list.retain(|item| item != value);
                count(before - list.len())
            }
            ["LINSERT", key, "BEFORE", pivot, value] => {
                let list = self.open_list(key)?;
                if list.is_empty() {
                    return Ok(":0".to_string());
                }
                let Some(at) = list.iter().position(|item| item == pivot) else {
                    return Ok(":-1".to_string());
                };
                list.insert(at, value.into());
                count(list.len())
            }
            ["LTRIM", key, from, to] => {
                let (from, to): (usize, usize) =
                    (from.parse().expect("low"), to.parse().expect("high"));
                let list = self.open_list(key)?;
                list.truncate(to + 1);
                list.drain(..from.min(list.len()));
                ok()
            }
            ["LRANGE", key, "0", "-1"] => {
                let values = self.list(key)?.into_iter().flatten();
                Ok(list(values.map(|value| quoted(value))))
            }
            ["XADD", key, id, "f", value] => self.open_stream(key)?.add(id, value, now),
            ["XADD", key, "MAXLEN", length, id, "f", value] => {
                let stream = self.open_stream(key)?;
                let added = stream.add(id, value, now)?;
                stream.keep(length.parse().expect("a length"));
                Ok(added)
            }
            ["XTRIM", key, "MINID", id] => match self.stream(key)? {
                Some(_) => count(self.open_stream(key)?.keep_from(id)),
                None => count(0),
            },
            ["XDEL", key, id] => match self.stream(key)? {
                Some(_) => count(self.open_stream(key)?.delete(id)),
                None => count(0),
            },
            ["XGROUP", "CREATE", key, group, from, "MKSTREAM"] => {
                self.open_stream(key)?.create(group, from)
            }
            ["XGROUP", subcommand, key, group, ref rest @ ..] => {
                if self.stream(key)?.is_none() {
                    return Err(NO_STREAM.to_string());
                }
                let stream = self.open_stream(key)?;
                match (subcommand, rest) {
                    ("DESTROY", []) => count(stream.destroy(group)),
                    (_, [consumer]) => count(stream.delete_consumer(key, group, consumer)?),
                    _ => panic!("the model does not know {words:?}"),
                }
            }
            ["XREADGROUP", _, group, consumer, _, most, _, key, from] => {
                let most = most.parse().expect("a count");
                let mut none = Stream::default();
                let stream = match self.stream(key)? {
                    Some(_) => self.open_stream(key)?,
                    None => &mut none,
                };
                stream.read(key, [group, consumer], most, from, now)
            }
            ["XACK", key, group, id] => match self.stream(key)? {
                Some(_) => count(self.open_stream(key)?.acknowledge(group, id)),
                None => count(0),
            },
            ["XAUTOCLAIM", key, group, consumer, idle, "0", "COUNT", most] => {
                let (idle, most) = (idle.parse().expect("idle"), most.parse().expect("most"));
                let mut none = Stream::default();
                let stream = match self.stream(key)? {
                    Some(_) => self.open_stream(key)?,
                    None => &mut none,
                };
                stream.claim(key, [group, consumer], idle, most, now)
            }
            ["XRANGE", key, "-", "+"] => Ok(self.stream(key)?.map_or(list([]), Stream::all)),
            ["XPENDING", key, group, "-", "+", "1000"] => {
                let stream = self.stream(key)?.cloned().unwrap_or_default();
                stream.pending(key, group, now)
            }
            ["XINFO", "CONSUMERS", key, group] => {
                let stream = self.stream(key)?.cloned().unwrap_or_default();
                stream.consumers(key, group, now)
            }
            ["COPY", key, to] => {
                if key == to {
                    let same = "-ERR source and destination objects are the same";
                    return Err(same.to_string());
                }
                match self.keys.get(key) {
                    Some(value) if !self.keys.contains_key(to) => {
                        self.keys.insert(to.into(), value.clone());
                        count(1)
                    }
                    _ => count(0),
                }
            }
            ["FLUSHALL"] => {
                self.keys.clear();
                ok()
            }
            _ => panic!("the model does not know {words:?}"),
        }
    }

    /// Members and scores in the order of scores.
    fn ordered(&self, key: &str) -> Result<Vec<String>, String> {
        let scores = self.scores(key)?.into_iter().flatten();
        let mut scores: Vec<_> = scores.map(|(member, score)| (*score, member)).collect();
        scores.sort();
        let texts = scores.into_iter();
        Ok(texts
            .flat_map(|(score, member)| [quoted(member), quoted(&score.to_string())])
            .collect())
    }

    /// All keys with their values, as commands and answers.
    pub fn dump(&mut self, now: i64) -> Vec<String> {
        dump(|words| self.run(words, now))
    }
}

/// All keys with their values, as commands and answers.
pub fn dump(mut ask: impl FnMut(&[&str]) -> String) -> Vec<String> {
    let keys = ask(&["KEYS", "*"]);
    let mut lines = vec![keys.clone()];
    for key in keys
        .trim_matches(['[', ']'])
        .split(' ')
        .filter(|key| !key.is_empty())
    {
        let key = key.trim_matches('"');
        let kind = ask(&["TYPE", key]);
        let value = match &kind[1..] {
            "string" => ask(&["GET", key]),
            "hash" => ask(&["HGETALL", key]),
            "set" => ask(&["SMEMBERS", key]),
            "zset" => ask(&["ZRANGE", key, "0", "-1", "WITHSCORES"]),
            "list" => ask(&["LRANGE", key, "0", "-1"]),
            "stream" => {
                let mut parts = ask(&["XRANGE", key, "-", "+"]);
                for group in ["g0", "g1"] {
                    parts += &ask(&["XPENDING", key, group, "-", "+", "1000"]);
                    parts += &ask(&["XINFO", "CONSUMERS", key, group]);
                }
                parts
            }
            other => panic!("{other}"),
        };
        let time = ask(&["PTTL", key]);
        lines.push(format!("{key} {kind} {value} {time}"));
    }
    lines
}

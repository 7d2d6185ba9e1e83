//! Streams as ordinary collections.

use super::naive::{list, quoted};
use std::collections::BTreeMap;

type Id = (u64, u64);

const TOO_SMALL: &str =
    "-ERR The ID specified in XADD is equal or smaller than the target stream top item";

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Stream {
    entries: BTreeMap<Id, String>,
    last: Id,
    groups: BTreeMap<String, Group>,
}

#[derive(Clone, PartialEq, Debug, Default)]
struct Group {
    last: Id,
    /// With the times at which they were seen.
    consumers: BTreeMap<String, i64>,
    /// With their consumers, when they were delivered, and how often.
    pending: BTreeMap<Id, (String, i64, u64)>,
}

fn text((ms, seq): Id) -> String {
    quoted(&format!("{ms}-{seq}"))
}

fn id(text: &str) -> Id {
    let (ms, seq) = text.split_once('-').unwrap_or((text, "0"));
    (ms.parse().expect("a time"), seq.parse().expect("a number"))
}

fn missing(key: &str, group: &str, behind: &str) -> String {
    format!("-NOGROUP No such key '{key}' or consumer group '{group}'{behind}")
}

impl Stream {
    fn entry(&self, id: Id) -> String {
        let value = self.entries.get(&id).map(|value| quoted(value));
        let fields = value.map(|value| list([quoted("f"), value]));
        list([text(id), fields.unwrap_or("nil".into())])
    }

    pub fn add(&mut self, wanted: &str, value: &str, now: i64) -> Result<String, String> {
        let (ms, seq) = self.last;
        let given = match wanted.strip_suffix("-*") {
            Some(given) => given.parse().expect("a time"),
            None => (now as u64).max(ms),
        };
        let next = if given == ms {
            (ms, seq + 1)
        } else {
            (given, 0)
        };
        if next <= self.last {
            return Err(TOO_SMALL.to_string());
        }
        self.last = next;
        self.entries.insert(next, value.to_string());
        Ok(text(next))
    }

    pub fn keep(&mut self, length: usize) {
        while self.entries.len() > length {
            self.entries.pop_first();
        }
    }

    pub fn keep_from(&mut self, first: &str) -> usize {
        let kept = self.entries.split_off(&id(first));
        std::mem::replace(&mut self.entries, kept).len()
    }

    pub fn delete(&mut self, entry: &str) -> usize {
        usize::from(self.entries.remove(&id(entry)).is_some())
    }

    pub fn create(&mut self, name: &str, from: &str) -> Result<String, String> {
        let last = if from == "$" { self.last } else { (0, 0) };
        if self.groups.contains_key(name) {
            return Err("-BUSYGROUP Consumer Group name already exists".to_string());
        }
        let group = Group {
            last,
            ..Group::default()
        };
        self.groups.insert(name.into(), group);
        Ok("+OK".to_string())
    }

    pub fn destroy(&mut self, name: &str) -> usize {
        usize::from(self.groups.remove(name).is_some())
    }

    pub fn delete_consumer(
        &mut self,
        key: &str,
        name: &str,
        consumer: &str,
    ) -> Result<usize, String> {
        let no_group = || format!("-NOGROUP No such consumer group '{name}' for key name '{key}'");
        let group = self.groups.get_mut(name).ok_or_else(no_group)?;
        let before = group.pending.len();
        if group.consumers.remove(consumer).is_some() {
            group.pending.retain(|_, (of, ..)| of != consumer);
        }
        Ok(before - group.pending.len())
    }

    pub fn read(
        &mut self,
        key: &str,
        [name, consumer]: [&str; 2],
        count: usize,
        from: &str,
        now: i64,
    ) -> Result<String, String> {
        let no_group = || missing(key, name, " in XREADGROUP with GROUP option");
        let group = self.groups.get_mut(name).ok_or_else(no_group)?;
        let mut found = Vec::new();
        if from == ">" {
            let new = self.entries.range((group.last.0, group.last.1 + 1)..);
            for (id, _) in new.take(count) {
                group.last = *id;
                group.pending.insert(*id, (consumer.into(), now, 1));
                found.push(*id);
            }
            if found.is_empty() {
                return Ok("nil".to_string());
            }
        } else {
            let own = group
                .pending
                .iter_mut()
                .filter(|(_, (of, ..))| of == consumer);
            for (id, (_, delivered, times)) in own.take(count) {
                if self.entries.contains_key(id) {
                    (*delivered, *times) = (now, *times + 1);
                }
                found.push(*id);
            }
        }
        group.consumers.insert(consumer.into(), now);
        let entries = list(found.into_iter().map(|id| self.entry(id)));
        Ok(list([list([quoted(key), entries])]))
    }

    pub fn acknowledge(&mut self, name: &str, entry: &str) -> usize {
        let group = self.groups.get_mut(name);
        let gone = group.and_then(|group| group.pending.remove(&id(entry)));
        usize::from(gone.is_some())
    }

    /// Claims the first pending entries that were delivered so long ago.
    pub fn claim(
        &mut self,
        key: &str,
        [name, consumer]: [&str; 2],
        idle: i64,
        count: usize,
        now: i64,
    ) -> Result<String, String> {
        let group = self
            .groups
            .get_mut(name)
            .ok_or_else(|| missing(key, name, ""))?;
        let (mut claimed, mut deleted, mut next) = (Vec::new(), Vec::new(), (0, 0));
        for id in group.pending.keys().copied().collect::<Vec<_>>() {
            if claimed.len() + deleted.len() == count {
                next = id;
                break;
            }
            if !self.entries.contains_key(&id) {
                group.pending.remove(&id);
                deleted.push(text(id));
                continue;
            }
            let (of, delivered, times) = group.pending.get_mut(&id).expect("it is pending");
            if now - *delivered >= idle {
                (*of, *delivered, *times) = (consumer.into(), now, *times + 1);
                group.consumers.insert(consumer.into(), now);
                claimed.push(id);
            }
        }
        let claimed = list(claimed.into_iter().map(|id| self.entry(id)));
        Ok(list([text(next), claimed, list(deleted)]))
    }

    pub fn all(&self) -> String {
        list(self.entries.keys().map(|id| self.entry(*id)))
    }

    pub fn pending(&self, key: &str, name: &str, now: i64) -> Result<String, String> {
        let group = self
            .groups
            .get(name)
            .ok_or_else(|| missing(key, name, ""))?;
        let pending = group.pending.iter();
        Ok(list(pending.map(|(id, (of, delivered, times))| {
            list([
                text(*id),
                quoted(of),
                format!(":{}", now - delivered),
                format!(":{times}"),
            ])
        })))
    }

    pub fn consumers(&self, key: &str, name: &str, now: i64) -> Result<String, String> {
        let no_group = || format!("-NOGROUP No such consumer group '{name}' for key name '{key}'");
        let group = self.groups.get(name).ok_or_else(no_group)?;
        Ok(list(group.consumers.iter().map(|(consumer, seen)| {
            let of = group.pending.values().filter(|(of, ..)| of == consumer);
            list([
                quoted("name"),
                quoted(consumer),
                quoted("pending"),
                format!(":{}", of.count()),
                quoted("idle"),
                format!(":{}", now - seen),
            ])
        })))
    }
}

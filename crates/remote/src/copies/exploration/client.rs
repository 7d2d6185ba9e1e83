//! A process of the exploration: follows the log, claims it, appends, lets copies in; killed, it begins again.

use super::checker::{Applied, transaction_of};
use super::handle::Asker;
use super::world::{KEEPER, World};
use crate::copies::Copies;
use crate::copies::changing::{Changing, PlacesChange};
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::entry::{Entry, EntryBuilder};
use sardonyx_storage::remote_log::position::EntryPosition;
use sardonyx_storage::remote_log::shell::{Follower, Patience, RemoteWriter};
use sardonyx_storage::remote_log::store::RemoteStore;
use std::sync::Arc;
use std::time::Duration;

/// The database of all.
const IDENTITY: u64 = 77;

/// Asks again as often as it takes, without a pause: each request is a turn.
const AGAIN: Patience = Patience {
    time_limit: Duration::from_secs(86_400),
    pause: Duration::ZERO,
    pause_most: Duration::ZERO,
};

/// A process: its copy of the log.
struct Client {
    asker: Asker,
    copies: Arc<Copies>,
    at: EntryPosition,
    applied: Applied,
}

/// Runs a process until the world is over.
pub(super) fn run(world: &Arc<World>, index: usize) {
    while !world.is_over() {
        let asker = world.asker(index);
        match world.open_copies(&asker) {
            Ok(copies) => Client::new(asker, copies).live(),
            Err(_) => world.turn(index),
        }
    }
}

impl Client {
    fn new(asker: Asker, copies: Copies) -> Self {
        Client {
            asker,
            copies: Arc::new(copies),
            at: EntryPosition::START,
            applied: Applied::new(),
        }
    }

    fn world(&self) -> &World {
        &self.asker.world
    }

    fn live(mut self) {
        while !self.world().is_over() && self.world().lives(&self.asker) {
            match self.world().draw(24) {
                0..6 => self.own(),
                6..17 => self.follow(),
                17 => self.change_places(),
                _ => {
                    let _ = self.copies.maintain();
                    self.world().turn(self.asker.client);
                }
            }
        }
    }

    /// A person adds a place, removes one, or replaces one, beside everything else.
    fn change_places(&self) {
        let Ok(view) = self.copies.look() else {
            return;
        };
        let is_copy = |place: &String| view.record.places().contains(place);
        let (mut removed, mut added): (Vec<_>, Vec<_>) =
            self.world().places().into_iter().partition(is_copy);
        let drawn = self.world().draw(removed.len() as u64) as usize;
        removed = vec![removed.swap_remove(drawn)];
        match self.world().draw(3) {
            0 => added.clear(),
            1 => removed.clear(),
            _ => added.truncate(1),
        }
        let changing = Changing {
            keeper: &self.copies.keeper,
            keeper_place: KEEPER,
            members: &self.copies.members,
            new_places: &self.asker,
        };
        // It may be refused, fail, or be done later.
        let _ = changing.change(&PlacesChange { added, removed });
    }

    fn store(&self) -> Arc<dyn RemoteStore> {
        self.copies.clone()
    }

    fn take(&mut self, entry: &Entry) {
        self.asker.world.check(|checker| checker.read(entry));
        self.at = entry.head().position_after();
        self.applied
            .insert(entry.head().number, transaction_of(entry));
    }

    fn follow(&mut self) {
        let mut follower = Follower::new(self.store(), IDENTITY, self.at, AGAIN);
        for _ in 0..self.world().draw(12) {
            match follower.next_entry() {
                Ok(Some(entry)) => self.take(&entry),
                Ok(None) => return,
                Err(error) => return self.failed(&error),
            }
        }
    }

    /// A log may end for this process, and is never wrong.
    fn failed(&self, error: &RemoteLogError) {
        match error {
            RemoteLogError::Store(_) | RemoteLogError::Unknown { .. } => {}
            RemoteLogError::Fenced { .. } => {
                self.world().check(|checker| checker.seen.fenced += 1);
            }
            error => panic!("{error}"),
        }
    }

    /// Claims the log and appends to it for a while.
    fn own(&mut self) {
        let (store, at) = (self.store(), self.at);
        let claimed = RemoteWriter::claim(store, IDENTITY, at, AGAIN, |entry| {
            self.take(entry);
            Ok::<_, RemoteLogError>(())
        });
        let mut writer = match claimed {
            Ok(writer) => writer,
            Err(error) => return self.failed(&error),
        };
        self.at = writer.position();
        self.applied.insert(self.at.next - 1, None);
        let (at, applied) = (self.at, self.applied.clone());
        self.world().check(|checker| checker.claim(at, applied));
        for _ in 0..8 + self.world().draw(30) {
            if self.world().is_over() {
                return;
            }
            match self.world().draw(2) {
                0 => {
                    let _ = self.copies.maintain();
                }
                _ => match self.append(&mut writer) {
                    Ok(()) => {}
                    Err(error) => return self.failed(&error),
                },
            }
            self.world().turn(self.asker.client);
        }
    }

    fn append(&mut self, writer: &mut RemoteWriter) -> Result<(), RemoteLogError> {
        let transaction = self.world().transaction();
        let mut entry = EntryBuilder::new();
        entry.push(&transaction.to_le_bytes());
        writer.begin(entry)?;
        loop {
            match writer.try_to_finish() {
                Ok(at) => {
                    self.at = at;
                    self.applied.insert(at.next - 1, Some(transaction));
                    self.world()
                        .check(|checker| checker.acknowledge(at, transaction));
                    return Ok(());
                }
                Err(error) if writer.ended().is_some() => return Err(error),
                Err(error) if !self.world().lives(&self.asker) => return Err(error),
                Err(error) if self.world().draw(20) == 0 => {
                    self.world().check(|checker| checker.seen.gave_up += 1);
                    return Err(writer.give_up(error));
                }
                Err(_) => {
                    if self.world().draw(4) == 0 {
                        let _ = self.copies.maintain();
                    }
                }
            }
        }
    }

    /// At the end, when nothing goes wrong any more: claims the log, appends, and lets all copies in.
    fn finish(&mut self) {
        let (store, at) = (self.store(), self.at);
        let claimed = RemoteWriter::claim(store, IDENTITY, at, AGAIN, |entry| {
            self.take(entry);
            Ok::<_, RemoteLogError>(())
        });
        let mut writer = claimed.expect("the log can be claimed");
        self.at = writer.position();
        self.applied.insert(self.at.next - 1, None);
        let (at, applied) = (self.at, self.applied.clone());
        self.world().check(|checker| checker.claim(at, applied));
        for _ in 0..3 {
            self.append(&mut writer).expect("it can be appended to");
        }
        for _ in 0..400 {
            let _ = self.copies.maintain();
            self.world()
                .pause(self.asker.client, Duration::from_millis(100));
        }
        self.append(&mut writer).expect("it can be appended to");
    }
}

/// Ends a run: one process writes and lets copies in; another one, and each copy alone, has all that was acknowledged.
pub(super) fn end(world: &Arc<World>) {
    let asker = world.asker(0);
    let copies = world.open_copies(&asker).expect("all is well");
    Client::new(asker, copies).finish();
    let asker = world.asker(1);
    let copies = world.open_copies(&asker).expect("all is well");
    let mut client = Client::new(asker, copies);
    let mut follower = Follower::new(client.store(), IDENTITY, client.at, AGAIN);
    while let Some(entry) = follower.next_entry().expect("all is well") {
        client.take(&entry);
    }
    world.check(|checker| checker.has_all("a reader", &client.applied));
    for (place, life) in world.every_copy_in_sync() {
        let mut applied = Applied::new();
        for number in 1..client.at.next {
            let bytes = life.read(number).expect("it is in memory");
            let bytes = bytes.unwrap_or_else(|| panic!("{place} has not entry {number}"));
            let entry = Entry::decode(bytes).expect("an entry");
            world.check(|checker| checker.read(&entry));
            applied.insert(number, transaction_of(&entry));
        }
        world.check(|checker| checker.has_all(&place, &applied));
    }
}

//! The copies as stores: opened when they are first asked, each in its life, and for how long each has been silent.
//!
//! A copy is used only if it has the mark of its life. An emptied one has none, and is no copy until it has been
//! filled in another life. A client knows a store over TCP by the number that it began with, so a connection never
//! continues with another one ([`TcpLog`](crate::TcpLog)). A copy that fails is opened anew only in another life.

use super::life::{Life, mark_of};
use super::planted::{self, Planted};
use super::record::{CopyRecord, SetRecord};
use super::time::Time;
use sardonyx_base::sync::Mutex;
use sardonyx_storage::remote_log::objects::RemotePlace;
use sardonyx_storage::remote_log::store::{RemoteStore, StoreError};
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

/// For how long one answer of a copy is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Wait {
    /// At most the time for which a copy may be silent: small entries.
    Short,
    /// The time for any store.
    Long,
}

/// Opens the copies' places.
pub(super) trait Open: Send + Sync + Debug {
    fn open(&self, place: &str, wait: Wait) -> Result<Arc<dyn RemotePlace>, StoreError>;
}

/// A copy that was opened, in the life with this number.
type Opened = (u64, Arc<Life>);

/// The copies that were opened.
#[derive(Debug)]
pub(super) struct Members {
    open: Box<dyn Open>,
    lives: Mutex<HashMap<(String, Wait), Opened>>,
    /// Since when each gives no answer.
    silent: Mutex<HashMap<String, Duration>>,
}

impl Members {
    pub fn new(open: Box<dyn Open>) -> Self {
        Members {
            open,
            lives: Mutex::default(),
            silent: Mutex::default(),
        }
    }

    /// The place of a copy, with any content.
    pub fn place(&self, place: &str) -> Result<Arc<dyn RemotePlace>, StoreError> {
        self.open(place, Wait::Long)
    }

    /// The same, with this limit of each answer.
    pub fn open(&self, place: &str, wait: Wait) -> Result<Arc<dyn RemotePlace>, StoreError> {
        self.open.open(place, wait)
    }

    /// A copy in its life.
    ///
    /// # Errors
    /// The store's; it is not the copy that the register means.
    pub fn get(
        &self,
        record: &SetRecord,
        copy: &CopyRecord,
        wait: Wait,
    ) -> Result<Arc<Life>, StoreError> {
        let key = (copy.place.clone(), wait);
        let known = self.lives.lock().get(&key).cloned();
        if let Some((_, store)) = known.filter(|(life, _)| *life == copy.life) {
            return self.answers(record, copy, wait, store);
        }
        let store = self.open.open(&copy.place, wait)?;
        let mark = store.read_object(&mark_of(record.identity, copy.life))?;
        if mark.is_none() && !planted::is(Planted::EmptyTrusted) {
            return Err(StoreError::NotNow {
                what: "be used as a copy".into(),
                place: store.place(),
                reason:
                    "this is not the copy of before: it was emptied, or the place has another store"
                        .into(),
            });
        }
        let life = Arc::new(Life::new(store, copy.life));
        self.lives.lock().insert(key, (copy.life, life.clone()));
        self.answers(record, copy, wait, life)
    }

    /// A copy whose answer may take long is first asked for a sign, so that one that is away is not waited for.
    fn answers(
        &self,
        record: &SetRecord,
        copy: &CopyRecord,
        wait: Wait,
        life: Arc<Life>,
    ) -> Result<Arc<Life>, StoreError> {
        if wait == Wait::Long {
            self.get(record, copy, Wait::Short)?.read(1)?;
        }
        Ok(life)
    }

    /// A copy has answered.
    pub fn heard(&self, place: &str) {
        self.silent.lock().remove(place);
    }

    /// A copy has not answered. Returns for how long it has not.
    pub fn unheard(&self, place: &str, time: &dyn Time) -> Duration {
        let now = time.elapsed();
        let mut silent = self.silent.lock();
        let since = *silent.entry(place.into()).or_insert(now);
        now.saturating_sub(since)
    }
}

//! The register at its keeper: read, and replaced by comparison.
//!
//! A replacement without an answer is decided by a look: the register has it, or another state. If it still has the
//! old state, nothing is known, since the request may arrive later; then the caller must not go on as if it had
//! failed. Any later change that succeeds makes it fail for good.

use super::ancestry::Author;
use super::doubts::read_whole;
use super::record::SetRecord;
use super::remembered::Remembered;
use sardonyx_base::sync::Mutex;
use sardonyx_storage::remote_log::objects::RemotePlace;
use sardonyx_storage::remote_log::store::{
    Register, RegisterVersion, StoreError, StoredRegister, Swapped,
};
use std::sync::Arc;

/// The way out of a register that is damaged or lost.
pub(super) const PUT_BACK: &str =
    "end all hosts, and put the newest register back: sardonyx store copies PLACE --put-back";

/// A state of the register.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct View {
    pub record: SetRecord,
    pub version: RegisterVersion,
}

/// The outcome of a replacement.
#[derive(Debug)]
pub(super) enum Replaced {
    /// The replacement succeeded.
    Done(Arc<View>),
    /// The register has another state.
    Other(Arc<View>),
}

/// The place that keeps the register.
#[derive(Debug)]
pub(super) struct Keeper {
    /// The store with the register.
    pub place: Arc<dyn RemotePlace>,
    /// The newest states that this host saw, if it is one.
    remembered: Option<Remembered>,
    /// The number under which this process writes the register ([`SetRecord::signed`]).
    author: Mutex<Author>,
}

impl Keeper {
    /// The register at this place.
    pub fn new(place: Arc<dyn RemotePlace>) -> Self {
        Keeper {
            place,
            remembered: None,
            author: Mutex::new(Author::new()),
        }
    }

    /// The same for a host: it refuses older states than it remembers.
    pub fn remembered(mut self, remembered: Remembered) -> Self {
        self.remembered = Some(remembered);
        self
    }

    /// The register, if it was ever written.
    ///
    /// # Errors
    /// The keeper's; it is damaged; it is older than this host remembers.
    pub fn look(&self) -> Result<Option<Arc<View>>, StoreError> {
        let before = self.remembered.as_ref().map(Remembered::before);
        let view = read_whole(
            || self.place.read_register(Register::Copies),
            |stored| self.view(stored),
        )?;
        if let (Some(remembered), Some(before)) = (&self.remembered, &before) {
            let found = view.as_ref().map(|view| &view.record);
            remembered.found(before, found, &self.place.place())?;
        }
        Ok(view)
    }

    fn view(&self, stored: StoredRegister) -> Result<Arc<View>, StoreError> {
        let record = SetRecord::decode(&stored.bytes).map_err(|misread| StoreError::Setup {
            place: self.place.place(),
            reason: format!("{misread}; {PUT_BACK}"),
        })?;
        let version = stored.version;
        Ok(Arc::new(View { record, version }))
    }

    /// The register, which was there before.
    ///
    /// # Errors
    /// As [`Keeper::look`]; it is not there.
    pub fn read(&self) -> Result<Arc<View>, StoreError> {
        self.look()?.ok_or_else(|| StoreError::NotNow {
            what: "read the register of the copies".into(),
            place: self.place.place(),
            reason: format!("it is not there any more; {PUT_BACK}"),
        })
    }

    /// Replaces this state, or writes the first one. It is signed if the register has an ancestry, or is the first one:
    /// earlier programs, which may serve, cannot read one with an ancestry ([`Keeper::replace_signed`]).
    ///
    /// # Errors
    /// The keeper's: the replacement may still come.
    pub fn replace(
        &self,
        expected: Option<&RegisterVersion>,
        record: &SetRecord,
    ) -> Result<Replaced, StoreError> {
        match expected.is_some() && record.runs.is_empty() {
            true => self.write(expected, record),
            false => self.replace_signed(expected, record),
        }
    }

    /// The same, with an ancestry.
    ///
    /// # Errors
    /// As [`Keeper::replace`].
    pub fn replace_signed(
        &self,
        expected: Option<&RegisterVersion>,
        record: &SetRecord,
    ) -> Result<Replaced, StoreError> {
        let author = self.author_of(record);
        self.write(expected, &record.signed(author))
    }

    /// The number under which this process writes this state.
    pub fn author_of(&self, record: &SetRecord) -> u64 {
        self.author.lock().number_for(record)
    }

    /// The same with a state as it was once written.
    ///
    /// # Errors
    /// As [`Keeper::replace`].
    pub fn write(
        &self,
        expected: Option<&RegisterVersion>,
        record: &SetRecord,
    ) -> Result<Replaced, StoreError> {
        let text = record.encode();
        // No program could read another one.
        if SetRecord::decode(text.as_bytes()).as_ref() != Ok(record) {
            return Err(StoreError::Setup {
                place: self.place.place(),
                reason: "the register of the copies would be too long, or a place has characters that it cannot keep: it is \
                         left as it was. Name shorter places, without spaces"
                    .into(),
            });
        }
        let swapped = self
            .place
            .swap_register(Register::Copies, expected, text.as_bytes());
        if let Err(error) = &swapped
            && !error.is_unclear()
        {
            return Err(error.clone());
        }
        if swapped.is_err() {
            // The request may come later, when this process has written another state of that generation.
            *self.author.lock() = Author::new();
        }
        let there = match self.look() {
            Ok(there) => there,
            Err(error) => return Err(swapped.err().unwrap_or(error)),
        };
        match (there, swapped) {
            // Also after a conflict: the request may have been done twice.
            (Some(there), _) if there.record == *record => Ok(Replaced::Done(there)),
            (Some(there), Ok(Swapped::Ok | Swapped::Conflict)) => Ok(Replaced::Other(there)),
            (Some(there), Err(_)) if Some(&there.version) != expected => Ok(Replaced::Other(there)),
            (_, Err(error)) => Err(error),
            (None, Ok(_)) => Err(StoreError::Unclear {
                what: "replace the register of the copies".into(),
                place: self.place.place(),
                reason: "it is not there".into(),
            }),
        }
    }
}

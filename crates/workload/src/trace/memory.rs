//! A whole trace in memory: for generators, for heuristics that read it many times, and for a model
//! that replays it over and over.
//!
//! All references lie in one array, 12 bytes each, so a transaction is a slice and replaying
//! allocates nothing.

use super::{Fault, Form, Header, Place, TraceError, TraceReader, TraceWriter};
use crate::reference::{PageReference, Transaction};
use std::io::{Read, Write};

/// A transaction of a trace in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct View<'a> {
    /// The transaction type.
    pub kind: u16,
    /// Its references, in order.
    pub references: &'a [PageReference],
}

impl View<'_> {
    /// True if it changes any page.
    pub fn is_update(&self) -> bool {
        self.references.iter().any(|one| one.access.is_write())
    }
}

/// A trace in memory. Always valid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    header: Header,
    kinds: Vec<u16>,
    /// The end of each transaction's references.
    ends: Vec<usize>,
    references: Vec<PageReference>,
}

impl Trace {
    /// The most references that a trace in memory may have: 1.5 GiB of them.
    pub const MAX_REFERENCES: usize = 1 << 27;

    /// The most transactions that a trace in memory may have.
    pub const MAX_TRANSACTIONS: usize = 1 << 26;

    /// A trace without transactions yet.
    pub fn new(header: Header) -> Self {
        Trace {
            header,
            kinds: Vec::new(),
            ends: Vec::new(),
            references: Vec::new(),
        }
    }

    /// Reads a whole trace of either form; wants a buffered reader. `file` is the name for errors.
    ///
    /// # Errors
    /// As [`TraceReader`]; and [`TraceError::TooLarge`] above [`Trace::MAX_REFERENCES`] or
    /// [`Trace::MAX_TRANSACTIONS`].
    pub fn read<R: Read>(reader: R, file: impl Into<String>) -> Result<Self, TraceError> {
        let file = file.into();
        let mut reader = TraceReader::new(reader, file.clone())?;
        let mut trace = Trace::new(reader.header().clone());
        let mut transaction = Transaction::default();
        while reader.read_into(&mut transaction)? {
            let references = trace.references.len() + transaction.references.len();
            if references > Self::MAX_REFERENCES || trace.len() >= Self::MAX_TRANSACTIONS {
                let most = Self::MAX_REFERENCES;
                return Err(TraceError::TooLarge { file, most });
            }
            trace.append(&transaction);
        }
        Ok(trace)
    }

    /// Writes the whole trace and gives the writer back, flushed; wants a buffered writer. `file`
    /// is the name for errors.
    ///
    /// # Errors
    /// [`TraceError::Io`] if the writer refuses.
    pub fn write<W: Write>(
        &self,
        form: Form,
        writer: W,
        file: impl Into<String>,
    ) -> Result<W, TraceError> {
        let mut writer = TraceWriter::new(form, writer, file, self.header.clone())?;
        let mut transaction = Transaction::default();
        for view in self.iter() {
            transaction.clear(view.kind);
            transaction.references.extend_from_slice(view.references);
            writer.write(&transaction)?;
        }
        writer.finish()
    }

    /// Appends a transaction.
    ///
    /// # Errors
    /// [`TraceError::Wrong`] if the trace cannot hold it: its type or a page does not exist, it has
    /// too many references or one that appends.
    pub fn push(&mut self, transaction: &Transaction) -> Result<(), TraceError> {
        let wrong = |fault: Fault| TraceError::Wrong {
            file: "a trace in memory".into(),
            place: Place::Transaction(self.kinds.len() as u64),
            fault,
        };
        self.header.check(transaction).map_err(wrong)?;
        self.append(transaction);
        Ok(())
    }

    /// Appends one that was checked.
    fn append(&mut self, transaction: &Transaction) {
        self.kinds.push(transaction.kind);
        self.references.extend_from_slice(&transaction.references);
        self.ends.push(self.references.len());
    }

    /// The names and sizes.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The number of transactions.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// True without transactions.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Counts those of all transactions.
    pub fn reference_count(&self) -> usize {
        self.references.len()
    }

    /// The transaction at a place, from 0; none behind the end.
    #[inline]
    pub fn get(&self, place: usize) -> Option<View<'_>> {
        let kind = *self.kinds.get(place)?;
        let start = if place == 0 { 0 } else { self.ends[place - 1] };
        Some(View {
            kind,
            references: &self.references[start..self.ends[place]],
        })
    }

    /// All transactions, in order.
    pub fn iter(&self) -> impl Iterator<Item = View<'_>> {
        (0..self.len()).filter_map(|place| self.get(place))
    }
}

//! A trace's description before its first transaction.

use super::{Fault, MAX_NAME_BYTES, MAX_PAGES, MAX_PARTITIONS, MAX_TYPES};
use crate::reference::{Access, PageReference, Transaction};

/// A partition (a file) of the database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    /// Unique in the trace.
    pub name: String,
    /// Its size: page numbers are below it.
    pub pages: u64,
}

/// The names of types and partitions, and the sizes. Always valid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    page_bytes: u32,
    types: Vec<String>,
    partitions: Vec<Partition>,
}

/// The least and the most bytes of a page.
pub(super) const PAGE_BYTES: (u64, u64) = (1, 1 << 30);

impl Header {
    /// A header of these transaction types and partitions; their places are their numbers.
    ///
    /// # Errors
    /// A [`Fault`] if there are none or too many ([`MAX_TYPES`], [`MAX_PARTITIONS`]). A [`Fault`] if a name is not
    /// allowed or exists twice, or a size is not possible.
    pub fn new(
        page_bytes: u32,
        types: Vec<String>,
        partitions: Vec<Partition>,
    ) -> Result<Self, Fault> {
        let (least, most) = PAGE_BYTES;
        in_range("the page size in bytes", page_bytes.into(), least, most)?;
        in_range(
            "the number of types",
            types.len() as u64,
            1,
            MAX_TYPES as u64,
        )?;
        let count = partitions.len() as u64;
        in_range("the number of partitions", count, 1, MAX_PARTITIONS as u64)?;
        for partition in &partitions {
            in_range("the partition's pages", partition.pages, 1, MAX_PAGES)?;
        }
        check_names("type", types.iter())?;
        check_names("partition", partitions.iter().map(|one| &one.name))?;
        Ok(Header {
            page_bytes,
            types,
            partitions,
        })
    }

    /// The size of a page in bytes.
    pub fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    /// The names of the transaction types, by number.
    pub fn types(&self) -> &[String] {
        &self.types
    }

    /// References name a partition by its place here.
    pub fn partitions(&self) -> &[Partition] {
        &self.partitions
    }

    /// The size of the database in pages.
    pub fn pages(&self) -> u64 {
        self.partitions.iter().map(|one| one.pages).sum()
    }

    /// Checks that a transaction's type and pages exist, and that a trace can hold it.
    pub(super) fn check(&self, transaction: &Transaction) -> Result<(), Fault> {
        let kind = u64::from(transaction.kind);
        in_range("the type", kind, 0, self.types.len() as u64 - 1)?;
        let references = transaction.references.len() as u64;
        let most = super::MAX_REFERENCES as u64;
        in_range("the number of references", references, 0, most)?;
        transaction
            .references
            .iter()
            .try_for_each(|reference| self.check_reference(reference))
    }

    pub(super) fn check_reference(&self, reference: &PageReference) -> Result<(), Fault> {
        if reference.access == Access::Append {
            return Err(Fault::Append);
        }
        let number = reference.page.partition;
        let Some(partition) = self.partitions.get(usize::from(number)) else {
            let most = self.partitions.len() as u64 - 1;
            return in_range("the partition", number.into(), 0, most);
        };
        let page = u64::from(reference.page.page);
        if page >= partition.pages {
            return Err(Fault::Page {
                partition: partition.name.clone(),
                page,
                pages: partition.pages,
            });
        }
        Ok(())
    }
}

/// Checks a number against its limits.
pub(super) fn in_range(what: &'static str, found: u64, least: u64, most: u64) -> Result<(), Fault> {
    if (least..=most).contains(&found) {
        Ok(())
    } else {
        Err(Fault::Range {
            what,
            found,
            least,
            most,
        })
    }
}

fn check_names<'a>(
    what: &'static str,
    names: impl Iterator<Item = &'a String>,
) -> Result<(), Fault> {
    let mut seen = std::collections::HashSet::new();
    for name in names {
        check_name(name)?;
        if !seen.insert(name) {
            let name = name.clone();
            return Err(Fault::Twice { what, name });
        }
    }
    Ok(())
}

/// Checks that this may be the name of a type or a partition.
pub(super) fn check_name(name: &str) -> Result<(), Fault> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
    if (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(allowed) {
        Ok(())
    } else {
        let found = name.chars().take(MAX_NAME_BYTES + 1).collect();
        Err(Fault::Name { found })
    }
}

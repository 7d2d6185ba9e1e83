//! Libraries of functions: rows of their own, which no key has and no `FLUSHALL` deletes.
//!
//! A library is its code; its functions are rows by their names in lower case. So a call finds its function by one
//! look-up, ignoring case, as in Redis. The interpreters' compiled code is found by the code's digest: it follows from
//! the rows, in any state in which they are read.
//!
//! Invariants, which SQL cannot break, and a program that writes these tables itself can: each row of `kv_function` names a
//! library that has a row; the functions of a library are those that its code registers. A load or a deletion of a library
//! repairs the first.

use super::tables::{ABSENT, BY_LIBRARY, PRIMARY};
use super::{Data, Live, State, bytes, check_key, engine, whole};
use crate::failure::Failure;
use sardonyx::rows::{ReadRow, RowWriter};
use sardonyx::schema::{Value, ValueRef};

/// Numbers of the columns of `kv_library`.
mod library {
    pub const NAME: usize = 0;
    pub const CODE: usize = 1;
    pub const DIGEST: usize = 2;
}

/// Numbers of the columns of `kv_function`.
mod function {
    pub const LOWER: usize = 0;
    pub const NAME: usize = 1;
    pub const LIBRARY: usize = 2;
    pub const FLAGS: usize = 3;
    pub const DESCRIPTION: usize = 4;
}

/// A bit of [`LibraryFunction::flags`], the flags of a registered function: it writes nothing.
pub(crate) const NO_WRITES: u64 = 1;
/// It may add data beyond `maxmemory`.
#[cfg(feature = "lua")]
pub(crate) const ALLOW_OOM: u64 = 1 << 1;
/// The names of all flags, by their bits.
pub(crate) const FLAGS: [&str; 5] = [
    "no-writes",
    "allow-oom",
    "allow-stale",
    "no-cluster",
    "allow-cross-slot-keys",
];

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Library {
    pub name: Vec<u8>,
    pub code: Vec<u8>,
    /// The digest of the code.
    pub digest: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LibraryFunction {
    pub name: Vec<u8>,
    pub flags: u64,
    pub description: Option<Vec<u8>>,
}

impl Library {
    fn of(row: &impl ReadRow) -> Result<Library, Failure> {
        let digest = match engine(row.value_at(library::DIGEST))? {
            ValueRef::Text(digest) => digest.to_string(),
            _ => String::new(),
        };
        Ok(Library {
            name: bytes(engine(row.value_at(library::NAME))?).to_vec(),
            code: bytes(engine(row.value_at(library::CODE))?).to_vec(),
            digest,
        })
    }
}

impl LibraryFunction {
    fn of(row: &impl ReadRow) -> Result<LibraryFunction, Failure> {
        let description = match engine(row.value_at(function::DESCRIPTION))? {
            ValueRef::Bytes(text) => Some(text.to_vec()),
            _ => None,
        };
        Ok(LibraryFunction {
            name: bytes(engine(row.value_at(function::NAME))?).to_vec(),
            flags: whole(engine(row.value_at(function::FLAGS))?) as u64,
            description,
        })
    }
}

impl<S: State> Data<'_, S> {
    /// True if a library has any function: otherwise a call of another function looks no further.
    pub fn has_library_functions(&self) -> Result<bool, Failure> {
        let table = self.shared.numbers.function;
        Ok(table != ABSENT && self.state.count_rows(table)? > 0)
    }

    fn has_libraries(&self) -> Result<bool, Failure> {
        let table = self.shared.numbers.library;
        Ok(table != ABSENT && self.state.count_rows(table)? > 0)
    }

    /// A function, with the name of its library.
    pub fn library_function(
        &self,
        name: &[u8],
    ) -> Result<Option<(LibraryFunction, Vec<u8>)>, Failure> {
        if !self.has_library_functions()? || check_key(name).is_err() {
            return Ok(None);
        }
        let index = self
            .state
            .row_index(self.shared.numbers.function, PRIMARY)?;
        let Some(row) = index.get_by(&name.to_ascii_lowercase()[..])? else {
            return Ok(None);
        };
        let library = bytes(engine(row.value_at(function::LIBRARY))?).to_vec();
        Ok(Some((LibraryFunction::of(&row)?, library)))
    }

    pub fn library(&self, name: &[u8]) -> Result<Option<Library>, Failure> {
        if !self.has_libraries()? || check_key(name).is_err() {
            return Ok(None);
        }
        let index = self.state.row_index(self.shared.numbers.library, PRIMARY)?;
        let row = index.get_by(name)?;
        row.map(|row| Library::of(&row)).transpose()
    }

    /// The digest of a library's code.
    #[cfg(feature = "lua")]
    pub fn library_digest(&self, name: &[u8]) -> Result<Option<String>, Failure> {
        let index = self.state.row_index(self.shared.numbers.library, PRIMARY)?;
        let Some(row) = index.get_by(name)? else {
            return Ok(None);
        };
        Ok(match engine(row.value_at(library::DIGEST))? {
            ValueRef::Text(digest) => Some(digest.to_string()),
            _ => None,
        })
    }

    /// All libraries, in the order of their names.
    pub fn libraries(&self) -> Result<Vec<Library>, Failure> {
        let mut libraries = Vec::new();
        if !self.has_libraries()? {
            return Ok(libraries);
        }
        let index = self.state.row_index(self.shared.numbers.library, PRIMARY)?;
        for row in index.range(&b""[..]..)? {
            let library = Library::of(&row?)?;
            let bytes = library.code.len();
            libraries.push(library);
            if !self.room.take(bytes) {
                break;
            }
        }
        self.room.check()?;
        Ok(libraries)
    }

    /// The functions of a library, in the order of their names.
    pub fn functions_of(&self, library: &[u8]) -> Result<Vec<LibraryFunction>, Failure> {
        let mut functions = Vec::new();
        let index = self
            .state
            .row_index(self.shared.numbers.function, BY_LIBRARY)?;
        for row in index.prefix(library)? {
            let function = LibraryFunction::of(&row?)?;
            let bytes = function.description.as_ref().map_or(0, Vec::len);
            functions.push(function);
            if !self.room.take(bytes) {
                break;
            }
        }
        self.room.check()?;
        Ok(functions)
    }

    /// The numbers of libraries and of functions.
    pub fn count_libraries(&self) -> Result<[u64; 2], Failure> {
        let numbers = self.shared.numbers;
        match numbers.library {
            ABSENT => Ok([0; 2]),
            _ => Ok([
                self.state.count_rows(numbers.library)?,
                self.state.count_rows(numbers.function)?,
            ]),
        }
    }
}

impl Live<'_, '_> {
    /// Adds a library, whose name and whose functions' names are free.
    pub fn put_library(
        &mut self,
        library: &Library,
        functions: &[LibraryFunction],
    ) -> Result<(), Failure> {
        check_key(&library.name)?;
        let numbers = self.shared.numbers;
        let mut row = RowWriter::new(library::DIGEST + 1);
        row.set(library::NAME, ValueRef::Bytes(&library.name));
        row.set(library::CODE, ValueRef::Bytes(&library.code));
        row.set(library::DIGEST, ValueRef::Text(&library.digest));
        self.state.rows_of(numbers.library)?.insert_row(&row)?;
        for function in functions {
            check_key(&function.name)?;
            let mut row = RowWriter::new(function::DESCRIPTION + 1);
            let lower = function.name.to_ascii_lowercase();
            row.set(function::LOWER, ValueRef::Bytes(&lower));
            row.set(function::NAME, ValueRef::Bytes(&function.name));
            row.set(function::LIBRARY, ValueRef::Bytes(&library.name));
            row.set(function::FLAGS, ValueRef::Int(function.flags.into()));
            let description = function.description.as_deref();
            row.set(
                function::DESCRIPTION,
                description.map_or(ValueRef::Null, ValueRef::Bytes),
            );
            self.state.rows_of(numbers.function)?.insert_row(&row)?;
        }
        Ok(())
    }

    /// Deletes a library with its functions, each of which may be there without the other. Returns whether anything was.
    pub fn delete_library(&mut self, name: &[u8]) -> Result<bool, Failure> {
        check_key(name)?;
        let numbers = self.shared.numbers;
        let functions = self.functions_of(name)?;
        for function in &functions {
            let mut rows = self.state.rows_of(numbers.function)?;
            rows.delete(&[Value::Bytes(function.name.to_ascii_lowercase())])?;
        }
        let mut rows = self.state.rows_of(numbers.library)?;
        Ok(rows.delete(&[Value::Bytes(name.to_vec())])? || !functions.is_empty())
    }

    /// Deletes all libraries.
    pub fn clear_libraries(&mut self) -> Result<(), Failure> {
        for name in super::table_names::LIBRARIES {
            if self.state.rows(name)?.count()? > 0 {
                self.state.truncate(name)?;
            }
        }
        Ok(())
    }
}

//! The tables of a database that is only read: recovered in memory, even while a program has it open. They are tables,
//! or those of nodes; a database that another way created is refused by that way's name.
//!
//! With `--follow` the tables are those of the last commit of the program that has the database open, found in its log,
//! as by `sql --follow`.

use crate::nodes::{FrozenTables, other_way};
use crate::target::{Files, Target};
use sardonyx::rows::SpaceSnapshot;
use sardonyx::{Options, Snapshot};
use sardonyx_command::output::Output;
use sardonyx_rows::schema::{Schema, ValueRef};
use sardonyx_rows::{RowRef, TableError};
use sardonyx_storage::catalogue::Way;
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::recovery::recover;
use sardonyx_storage::store::PageRead;
use sardonyx_table::TableSpace;
use std::sync::Arc;

/// The database whose tables a verb reads, as arguments.
#[derive(Debug, clap::Args)]
pub struct Readable {
    #[command(flatten)]
    target: Target,
    /// Read the last commit of the program that has the database open, from its log
    #[arg(long, conflicts_with = "wait")]
    follow: bool,
}

/// A source of tables.
pub enum Source {
    Files(Files),
    /// A commit of the program that has the database open.
    Followed(Snapshot),
}

impl Readable {
    /// Finds the source.
    ///
    /// # Errors
    /// There is no database; it cannot be followed.
    pub fn source(&self, output: &mut Output) -> anyhow::Result<Source> {
        if !self.follow {
            return Ok(Source::Files(self.target.files(output)?));
        }
        self.target.disk()?;
        let follower = Options::new().follow_tables(&self.target.path)?;
        let snapshot = follower.snapshot()?;
        // Without the follower no page is copied for the snapshot.
        follower.close();
        Ok(Source::Followed(snapshot))
    }
}

/// The tables of a database.
pub enum Found<'a> {
    /// Tables, or operations.
    Tables(&'a TableSpace),
    /// The tables as of a commit.
    Committed(&'a SpaceSnapshot),
    OfNodes(&'a mut FrozenTables),
}

/// A row that was found.
pub trait Cells {
    fn cell(&self, column: usize) -> anyhow::Result<ValueRef<'_>>;
}

impl<P> Cells for RowRef<'_, P>
where
    P: PageRead + ?Sized,
    TableError: From<P::Error>,
{
    fn cell(&self, column: usize) -> anyhow::Result<ValueRef<'_>> {
        Ok(self.get_at(column)?)
    }
}

/// Called with each row; returns true if it wants more.
type Each<'e> = dyn FnMut(&dyn Cells) -> anyhow::Result<bool> + 'e;

impl Found<'_> {
    /// The columns of a table.
    pub fn schema(&mut self, table: &str) -> anyhow::Result<Arc<Schema>> {
        Ok(match self {
            Found::Tables(space) => space.view().rows(table)?.schema().clone(),
            Found::Committed(snapshot) => snapshot.rows(table)?.schema().clone(),
            Found::OfNodes(tables) => tables.schema(table)?,
        })
    }

    /// The number of rows of a table; 0 if it is not known without reading them.
    pub fn count(&self, table: &str) -> anyhow::Result<u64> {
        Ok(match self {
            Found::Tables(space) => space.view().rows(table)?.count()?,
            Found::Committed(snapshot) => snapshot.rows(table)?.count()?,
            Found::OfNodes(_) => 0,
        })
    }

    /// Calls `each` with every row of a table until that returns false.
    pub fn each_row(&mut self, table: &str, each: &mut Each<'_>) -> anyhow::Result<()> {
        match self {
            Found::Tables(space) => {
                let view = space.view();
                for row in view.rows(table)?.scan() {
                    if !each(&row?)? {
                        break;
                    }
                }
                Ok(())
            }
            Found::Committed(snapshot) => {
                for row in snapshot.rows(table)?.scan() {
                    if !each(&row?)? {
                        break;
                    }
                }
                Ok(())
            }
            Found::OfNodes(tables) => tables.each_row(table, |row| each(&row.row()?)),
        }
    }
}

/// Recovers the tables in memory, if they are not followed, and calls `look` with them; `None` if the database is
/// empty.
///
/// # Errors
/// [`CatalogueError::OtherWay`]: another way created the database; it cannot be recovered; those of `look`.
pub fn look_at<T>(
    source: &Source,
    look: impl Fn(Found<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<Option<T>> {
    let files = match source {
        Source::Files(files) => files,
        Source::Followed(snapshot) => return look(Found::Committed(snapshot.space())).map(Some),
    };
    let read = || {
        let manifest = Manifest::read(&*files.disk)?;
        let recovered = recover(&files.disk, &manifest, files.dry_run())?;
        let store = match FrozenTables::of(recovered.store) {
            Ok(mut tables) => return look(Found::OfNodes(&mut tables)).map(Some),
            Err(store) => store,
        };
        match Way::of(store.bytes()) {
            Way::Empty => return Ok(None),
            Way::Tables => {}
            way => return Err(other_way(way)),
        }
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let (space, _) = TableSpace::open(store, workers)?;
        look(Found::Tables(&space)).map(Some)
    };
    files.read(read, |_| None)
}

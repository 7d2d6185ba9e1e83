//! The state of a set of copies for people: each copy, and what is wrong with them. It changes nothing.

use super::ancestry::After;
use super::bases::{LackingBase, lacking_bases};
use super::keeper::{Keeper, PUT_BACK};
use super::members::{Members, Wait};
use super::record::{SetRecord, Standing};
use super::remembered::remembered_at;
use super::witness::seen_at;
use super::{OpenPlaces, WITHOUT_ANCESTRY, spelling_of};
use crate::options::RemoteOptions;
use crate::place::open_keeper;
use sardonyx_storage::remote_log::store::{RemoteStore, StoreError};
use std::path::Path;

/// A set of copies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CopiesHealth {
    /// Its register.
    pub record: SetRecord,
    /// The error of each copy that gives no answer, by its place.
    pub silent: Vec<(String, String)>,
    /// The register is older than the state that one of these knows, or of another line: a copy, or the directory.
    pub older_than: Option<String>,
    /// Bases that copies in sync lack.
    pub lacking: Vec<LackingBase>,
}

impl CopiesHealth {
    /// Sentences on states that need a person, for a log that ends with this entry.
    pub fn warnings(&self, last_entry: u64) -> Vec<String> {
        let mut warnings = Vec::new();
        let record = &self.record;
        if let Some(known) = &self.older_than {
            warnings.push(format!(
                "the register of the copies, of generation {}, does not continue the one that {known}: it was restored from a \
                 backup, and hosts refuse it. Copies that it names may lack acknowledged transactions; {PUT_BACK}",
                record.generation
            ));
        }
        if !record.has_ancestry() {
            warnings.push(WITHOUT_ANCESTRY.into());
        }
        for (place, error) in &self.silent {
            let standing = record.copies.iter().find(|copy| copy.place == *place);
            let standing = standing.map_or(Standing::Out, |copy| copy.standing);
            let then = match standing {
                Standing::InSync => "writes wait until it answers, or the serving host excludes it",
                Standing::Joining | Standing::Out => {
                    "it is filled when it answers; if its disk is lost, replace it with `sardonyx store copies`"
                }
            };
            warnings.push(format!(
                "the copy {place} gives no answer ({error}): {then}"
            ));
        }
        warnings.extend(self.lacking.iter().map(LackingBase::to_string));
        for copy in &record.copies {
            let lag = last_entry.saturating_sub(copy.complete);
            if copy.standing != Standing::InSync {
                warnings.push(format!(
                    "the copy {} is {}, and may lack the last {lag} entries",
                    copy.place,
                    copy.standing.word()
                ));
            }
        }
        let answering = record.in_sync().filter(|copy| {
            let mut silent = self.silent.iter();
            !silent.any(|(place, _)| *place == copy.place)
        });
        match answering.count() {
            0 => warnings.push("no copy that is in sync answers: hosts wait for one".into()),
            1 => warnings.push(
                "one copy alone is in sync and answers: if its disk is lost, so are acknowledged transactions".into(),
            ),
            _ => {}
        }
        warnings
    }
}

/// The state of the set at this place, as its copies and a host's directory show it. `None`: the place is of another kind,
/// or no set was made there yet.
///
/// # Errors
/// The place cannot be understood; the keeper's; its register is damaged.
pub fn copies_health(
    place: &str,
    directory: Option<&Path>,
    options: &RemoteOptions,
) -> Result<Option<CopiesHealth>, StoreError> {
    if !place.starts_with("copies:") {
        return Ok(None);
    }
    let spelling = spelling_of(place)?;
    let keeper = Keeper::new(open_keeper(&spelling.keeper, options)?);
    let Some(mut view) = keeper.look()? else {
        return Ok(None);
    };
    let members = Members::new(Box::new(OpenPlaces::new(options, false)));
    let mut health = CopiesHealth {
        record: view.record.clone(),
        silent: Vec::new(),
        older_than: None,
        lacking: lacking_bases(&members, &view.record),
    };
    for copy in &view.record.clone().copies {
        let member = members.get(&view.record, copy, Wait::Short);
        let seen = member.and_then(|member| {
            member.read(1)?;
            seen_at(member.place_itself())
        });
        let seen = match seen {
            Ok(seen) => seen,
            Err(error) => {
                health.silent.push((copy.place.clone(), error.to_string()));
                continue;
            }
        };
        for seen in seen {
            if seen.identity != view.record.identity
                || seen.before(&view.record) == After::Continues
            {
                continue;
            }
            // The register may have changed since it was read.
            view = keeper.read()?;
            if seen.before(&view.record) != After::Continues {
                let known = format!(
                    "the copy {} knows, of generation {}",
                    copy.place, seen.generation
                );
                health.older_than.get_or_insert(known);
            }
        }
    }
    // A directory of a host that never used the set knows nothing of it.
    let known =
        directory.map(|directory| remembered_at(directory, &[], Some(view.record.identity)));
    if let (Some(directory), Some(Ok(known))) = (directory, known) {
        view = keeper.read()?;
        if view.record.after_state(&known) != After::Continues {
            let known = format!(
                "{} knows, of generation {}",
                directory.display(),
                known.generation
            );
            health.older_than.get_or_insert(known);
        }
    }
    health.record = view.record.clone();
    Ok(Some(health))
}

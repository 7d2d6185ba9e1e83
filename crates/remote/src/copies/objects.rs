//! Objects on several places: by any process, so each creation looks afterwards whether it was on the set that is there.
//!
//! A copy that joins the set receives objects, too: what was created before it began to join is copied to it then, and who
//! creates one later sees that it joins.

use super::Copies;
use super::chain::{Along, Item};
use super::entries::ATTEMPTS;
use super::keeper::Replaced;
use super::life::Life;
use super::members::Wait;
use super::record::Standing;
use sardonyx_storage::remote_log::objects::{
    ListedObject, RemoteObjects, check_object_name, is_object_name,
};
use sardonyx_storage::remote_log::shell::now;
use sardonyx_storage::remote_log::store::{Appended, RemoteStore, StoreError};

impl Copies {
    /// Does something at each copy that is in the set or joins it, until that was the set all the while.
    pub(super) fn on_all(
        &self,
        act: impl Fn(&Life) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut view = self.view()?;
        for _ in 0..ATTEMPTS {
            let acted = {
                let joining = view.record.standing(Standing::Joining);
                let mut copies = view.record.in_sync().chain(joining);
                copies.try_for_each(|copy| {
                    let member = self.members.get(&view.record, copy, Wait::Long)?;
                    act(&member)
                })
            };
            let now = self.look()?;
            if now.version == view.version {
                return acted.map_err(|error| self.as_of_the_set(error));
            }
            view = now;
        }
        Err(self.changes("delete"))
    }

    fn create(&self, name: &str, bytes: &[u8]) -> Result<Appended, StoreError> {
        let mut view = self.view()?;
        for _ in 0..ATTEMPTS {
            let along = self.along(&view, Item::Object(name), bytes, true);
            let there = self.look()?;
            if there.version != view.version {
                view = there;
                continue;
            }
            let broken = match along {
                Ok(Along::Own) => return Ok(Appended::Ok),
                Ok(Along::Others) => return Ok(Appended::Conflict),
                Err(broken) => broken,
            };
            let joining = view
                .record
                .standing(Standing::Joining)
                .find(|copy| copy.place == broken.place)
                .map(|copy| copy.life);
            let replaced = match joining {
                Some(life) => {
                    let record = &view.record;
                    let out = record.with(&broken.place, Standing::Out, life, now());
                    self.replace(&view, &out)?
                }
                None => self.leave_out(&view, &broken, 0)?,
            };
            let (Replaced::Done(there) | Replaced::Other(there)) = replaced;
            view = there;
        }
        Err(self.changes("create an object"))
    }
}

impl RemoteObjects for Copies {
    fn create_object(&self, name: &str, bytes: &[u8]) -> Result<Appended, StoreError> {
        check_object_name(&self.place(), name)?;
        self.create(name, bytes)
    }

    fn read_object(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        check_object_name(&self.place(), name)?;
        self.ask_tail(|tail| tail.read_object(name), Wait::Long)
    }

    fn list_objects(&self, folder: &str) -> Result<Vec<ListedObject>, StoreError> {
        check_object_name(&self.place(), folder)?;
        self.ask_tail(|tail| tail.list_objects(folder), Wait::Long)
    }

    fn remove_objects(&self, names: &[String]) -> Result<(), StoreError> {
        for name in names {
            check_object_name(&self.place(), name)?;
        }
        debug_assert!(names.iter().all(|name| is_object_name(name)));
        self.on_all(|member| member.remove_objects(names))
    }
}

//! Objects on several places: by any process, so each creation checks afterwards if it was on the present set.
//!
//! A copy that joins the set receives objects, too. Earlier objects are copied to it then, and the creator of a later
//! one sees that it joins.

use super::Copies;
use super::chain::{Along, Broken, Item};
use super::entries::ATTEMPTS;
use super::keeper::{Replaced, View};
use super::life::Life;
use super::members::Wait;
use super::record::Standing;
use sardonyx_storage::remote_log::objects::{
    ListedObject, RemoteObjects, check_object_name, is_object_name,
};
use sardonyx_storage::remote_log::shell::now;
use sardonyx_storage::remote_log::store::{Appended, RemoteStore, StoreError};
use std::sync::Arc;

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
                    let member = self.members.get(&view.record, copy, Wait::Long);
                    let acted = member.and_then(|member| act(&member));
                    let place = copy.place.clone();
                    acted
                        .map(|()| self.members.heard(&place))
                        .map_err(|error| Broken {
                            place,
                            error,
                            differs: false,
                        })
                })
            };
            let now = self.look()?;
            if now.version != view.version {
                view = now;
                continue;
            }
            let Err(broken) = acted else { return Ok(()) };
            let silent = self.members.unheard(&broken.place, &*self.time);
            if silent < self.limits.read || !self.may_leave_out(&broken.error) {
                return Err(self.as_of_the_set(broken.error));
            }
            view = self.leave_behind(&view, &broken)?;
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
            view = self.leave_behind(&view, &broken)?;
        }
        Err(self.changes("create an object"))
    }

    /// Leaves out a copy that is in the set or joins it, and returns the state then.
    fn leave_behind(&self, view: &Arc<View>, broken: &Broken) -> Result<Arc<View>, StoreError> {
        let record = &view.record;
        let mut joining = record.standing(Standing::Joining);
        let joining = joining.find(|copy| copy.place == broken.place);
        let replaced = match joining.map(|copy| copy.life) {
            Some(life) => {
                let out = record.with(&broken.place, Standing::Out, life, now());
                self.replace(view, &out)?
            }
            None => self.leave_out(view, &self.without(view, broken, 0)?, broken)?,
        };
        let (Replaced::Done(there) | Replaced::Other(there)) = replaced;
        Ok(there)
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

    fn read_object_elsewhere(
        &self,
        name: &str,
        attempt: u32,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        check_object_name(&self.place(), name)?;
        self.object_elsewhere(name, attempt)
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

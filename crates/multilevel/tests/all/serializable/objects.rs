//! Lists and registers, four to a page, and the operation on them. On request it leaves out its locks, which no real
//! operation may: then there must be anomalies to be found.

use sardonyx_multilevel::{
    Area, Inverse, LockRequests, LockSpace, Mode, Operation, PAGE_SIZE, PageId, Pages, Recorded,
    Stop,
};

const READ: Mode = Mode(0);
const CHANGE: Mode = Mode(1);
static OBJECTS: LockSpace = LockSpace::new("objects", &[&[true, false], &[false, false]]);

pub const OBJECTS_PER_PAGE: u64 = 4;
const ROOM: usize = PAGE_SIZE / OBJECTS_PER_PAGE as usize;
/// Elements that a list can have.
pub const ELEMENTS_MAX: u64 = ROOM as u64 / 8 - 1;

/// An action on an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Reads a list, or a register as a list of at most one element.
    Read,
    /// Appends to a list.
    Append(u64),
    /// Overwrites a register.
    Write(u64),
}

/// The time when it asks for its locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Locking {
    /// Before it begins.
    Before,
    /// While it runs.
    Within,
    /// Never: no real operation may do that.
    LeftOut,
}

/// Does one thing to several objects, one after another. As one operation it is a subtransaction on
/// several pages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    pub area: Area,
    pub keys: Vec<u64>,
    pub act: Act,
    pub locking: Locking,
    /// True if it fails when it has done everything.
    pub fails: bool,
}

impl Step {
    fn mode(&self) -> Mode {
        match self.act {
            Act::Read => READ,
            Act::Append(_) | Act::Write(_) => CHANGE,
        }
    }
}

fn place(pages: &dyn Pages, area: Area, key: u64) -> Result<(PageId, usize), Stop> {
    let page = pages.page(area, key / OBJECTS_PER_PAGE)?;
    Ok((page, (key % OBJECTS_PER_PAGE) as usize * ROOM))
}

fn elements(pages: &dyn Pages, area: Area, key: u64) -> Result<Vec<u64>, Stop> {
    let (page, at) = place(pages, area, key)?;
    let bytes = &pages.read(page)?[at..at + ROOM];
    let word = |n: usize| u64::from_le_bytes(bytes[n * 8..n * 8 + 8].try_into().expect("8"));
    Ok((1..=word(0) as usize).map(word).collect())
}

/// Sets the content of an object; only the differing bytes are written.
fn set(pages: &mut dyn Pages, area: Area, key: u64, to: &[u64]) -> Result<(), Stop> {
    let (page, at) = place(pages, area, key)?;
    if let Some(last) = to.last() {
        pages.write_bytes(page, at + 8 * to.len(), &last.to_le_bytes())?;
    }
    std::thread::yield_now();
    pages.write_bytes(page, at, &(to.len() as u64).to_le_bytes())
}

impl Operation for Step {
    /// The former content of each object.
    type Output = Vec<Vec<u64>>;
    type Error = Stop;

    fn locks(&self, locks: &mut LockRequests) {
        if self.locking == Locking::Before {
            for key in &self.keys {
                locks.request(&OBJECTS, *key, self.mode());
            }
        }
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<Vec<Vec<u64>>, Stop> {
        let mut found = Vec::new();
        for &key in &self.keys {
            if self.locking == Locking::Within {
                pages.lock(&OBJECTS, key, self.mode())?;
            }
            let before = elements(pages, self.area, key)?;
            // Others are to come in between.
            std::thread::yield_now();
            match self.act {
                Act::Read => {}
                Act::Append(value) => {
                    let mut to = before.clone();
                    to.push(value);
                    assert!(to.len() as u64 <= ELEMENTS_MAX);
                    set(pages, self.area, key, &to)?;
                }
                Act::Write(value) => set(pages, self.area, key, &[value])?,
            }
            found.push(before);
        }
        if self.fails {
            pages.page(self.area, u64::MAX)?;
        }
        Ok(found)
    }

    fn inverse(&self, found: &Vec<Vec<u64>>) -> Option<Inverse> {
        if self.act == Act::Read {
            return None;
        }
        let objects = self.keys.iter().copied().zip(found.iter().cloned()).rev();
        Some(Inverse::of(&Restore {
            area: self.area,
            objects: objects.collect(),
        }))
    }
}

/// Restores the content of objects.
pub struct Restore {
    area: Area,
    objects: Vec<(u64, Vec<u64>)>,
}

impl Operation for Restore {
    type Output = ();
    type Error = Stop;

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        for (key, elements) in &self.objects {
            set(pages, self.area, *key, elements)?;
        }
        Ok(())
    }
}

impl Recorded for Restore {
    const NAME: &str = "restore objects";

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend(u64::from(self.area.0).to_le_bytes());
        for (key, elements) in &self.objects {
            into.extend(key.to_le_bytes());
            into.extend((elements.len() as u64).to_le_bytes());
            for element in elements {
                into.extend(element.to_le_bytes());
            }
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let words = bytes
            .chunks(8)
            .map(|c| c.try_into().map(u64::from_le_bytes));
        let words: Vec<u64> = words.collect::<Result<_, _>>().ok()?;
        let (area, mut rest) = words.split_first()?;
        let mut objects = Vec::new();
        while let [key, length, more @ ..] = rest {
            let (elements, after) = more.split_at_checked(usize::try_from(*length).ok()?)?;
            objects.push((*key, elements.to_vec()));
            rest = after;
        }
        let area = Area(u16::try_from(*area).ok()?);
        rest.is_empty().then_some(Restore { area, objects })
    }
}

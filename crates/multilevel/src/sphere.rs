//! Persistence spheres: the pages that must be written together, if writing is deferred to the end of the transaction
//! (DASDBS paper, section 2).
//!
//! A subtransaction releases its page locks when it ends. So before it is written another one may have changed its
//! pages again, or read them and changed others. To write one of the two without the other would break it in half. Its
//! *persistence sphere* is therefore the pages it modified and other spheres: of all subtransactions that it shares a
//! page with, and of those that read one of its pages after its end. At the end of a transaction the spheres of its
//! subtransactions are written as one atomic unit; they may carry subtransactions of transactions that still run, with
//! their undo entries.
//!
//! [`Spheres`] is the bookkeeping and nothing else: no threads, no clock, no I/O. The engine calls it
//! under one mutex. It is a union-find over the completed subtransactions that are not yet written. The
//! members of each sphere are in a ring, so that joining two spheres is a few loads and stores at any
//! sizes.
//!
//! # Invariants
//!
//! - Every subtransaction is in exactly one sphere, from its end until it is taken. A sphere is taken
//!   whole, so nothing that remains refers to a taken one.
//! - A page is *dirty* while an unwritten subtransaction has modified it. All unwritten
//!   subtransactions that modified one page are in one sphere: pages of different spheres are
//!   disjoint. Hence each page has one entry, made by the first that modified it since it was last
//!   written.
//! - A subtransaction is in the sphere of every dirty page that it read. The pages are given at its end,
//!   and that is exact. It kept them locked from its first read, so a modifying one that is complete now
//!   was complete before that read. If that one has been written meanwhile, it is before this one in the
//!   log anyway.
//! - Memory is bounded by the unwritten subtransactions; a taken one costs nothing more.
//!
//! # Frozen while being written
//!
//! The DASDBS paper must keep a sphere from growing while it is being written. Here [`Spheres::take`] ends
//! the sphere: its pages are clean from then on, and a later change of one begins another. That is right
//! if, and only if, units are appended to *one ordered log in the order in which they were taken*. The
//! taking thread ensures that by appending before it releases the mutex, or in any other way. Then the
//! later one is never in the log without the earlier one.
//!
//! # Subtransactions without a sphere
//!
//! A subtransaction that modified nothing. Nothing of it is written. Its own transaction cannot depend on its view of
//! an unwritten subtransaction of another running transaction: its L1 locks admit only operations that commute with
//! it. (The reads of an *update* subtransaction do matter: they may have shown it, for instance after a split, where
//! to write.)
//!
//! # Compensations
//!
//! A compensation joins the sphere of the subtransaction that it undoes, since it cancels an undo
//! entry that is written with it. It must also join that of the *previous compensation of the same
//! transaction*, which the page rule does not ask for. Let `A` change page p, and `B` read p and
//! change q, both written. An abort runs `B⁻¹`, which reads p and changes q, then `A⁻¹`, which
//! changes p. Nothing that `A⁻¹` read was changed by `B⁻¹`: by pages alone it could be written
//! alone. After a crash then, `B` is left to be undone *after* `A` was, and finds p changed. If each compensation is
//! joined to the one before, the written part of an abort is always its beginning.

use sardonyx_base::hash::IntegerMap;
use sardonyx_storage::page::PageId;
use smallvec::SmallVec;

/// A completed subtransaction: the order in which they ended is the order of these.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SubtransactionNumber {
    /// Counts from 1 and never again the same: so a number outlives its slot without harm.
    sequence: u64,
    slot: u32,
}

impl SubtransactionNumber {
    /// Its place in the order of ends, from 1.
    pub fn sequence(self) -> u64 {
        self.sequence
    }
}

/// The result of the end of a subtransaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completed {
    /// Given in the order in which subtransactions end.
    pub number: SubtransactionNumber,
    /// The present number of its sphere's pages. One that grows too large is better written at once
    /// ([`Spheres::take`]): unbounded, spheres percolate into a single one.
    pub pages_in_sphere: usize,
}

/// Spheres taken out to be written, as one atomic unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Taken<S> {
    /// The pages, each once, ascending. For a page on which a subtransaction is at work now, the log gets the
    /// before-image of that one.
    pub pages: Vec<PageId>,
    /// The subtransactions in the order of their ends, with the data kept of each.
    pub subtransactions: Vec<(SubtransactionNumber, S)>,
}

impl<S> Taken<S> {
    /// True if nothing is to be written.
    pub fn is_empty(&self) -> bool {
        self.subtransactions.is_empty()
    }
}

/// A sphere, as [`Spheres::spheres`] shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sphere {
    /// One of its subtransactions, to take it by.
    pub member: SubtransactionNumber,
    /// Each counted once.
    pub pages: usize,
    /// Subtransactions that must reach the log together.
    pub subtransactions: usize,
}

/// Counts since the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Completed subtransactions.
    pub subtransactions: u64,
    /// The number of times that two spheres became one.
    pub merges: u64,
    /// Takings that were not empty.
    pub taken: u64,
    /// Takings that were: all had been written with others.
    pub taken_empty: u64,
    /// Pages in all takings together.
    pub taken_pages: u64,
    /// Subtransactions in all takings together.
    pub taken_subtransactions: u64,
    /// The most pages in one taking.
    pub taken_pages_max: u64,
}

/// A completed, unwritten subtransaction: a node of the union-find.
#[derive(Clone, Debug)]
struct Node<S> {
    sequence: u64,
    /// The way to the root, which is its own parent.
    parent: u32,
    /// The next member of the sphere; around in a ring.
    next: u32,
    /// At the root: the members of the sphere.
    members: u32,
    /// At the root: the pages of the sphere.
    pages: usize,
    /// The pages that were clean when this one modified them.
    first_modified: SmallVec<[PageId; 4]>,
    /// The engine's payload; `None` where the node is free.
    payload: Option<S>,
}

/// The persistence spheres of all completed subtransactions that are not yet written. See the
/// [module](self).
///
/// ```
/// use sardonyx_multilevel::PageId;
/// use sardonyx_multilevel::sphere::Spheres;
///
/// // The DASDBS paper's example: T11 changes p and q, T21 p and r, T12 r and s.
/// let [p, q, r, s] = [PageId(0), PageId(1), PageId(2), PageId(3)];
/// let mut spheres = Spheres::new();
/// let t11 = spheres.complete(&[p, q], &[], &[], "T11").number;
/// let t21 = spheres.complete(&[p, r], &[], &[], "T21").number;
/// let t12 = spheres.complete(&[r, s], &[], &[], "T12").number;
///
/// // T2 ends.
/// let taken = spheres.take([t21]);
/// assert_eq!(taken.pages, [p, q, r, s]);
/// assert_eq!(taken.subtransactions, [(t11, "T11"), (t21, "T21"), (t12, "T12")]);
///
/// // T1 ends: all of it was written.
/// assert!(spheres.take([t11, t12]).is_empty());
/// ```
#[derive(Clone, Debug)]
pub struct Spheres<S> {
    nodes: Vec<Node<S>>,
    free: Vec<u32>,
    /// The slot of the subtransaction that has the dirty page in `first_modified`.
    dirty: IntegerMap<u64, u32>,
    spheres: usize,
    statistics: Statistics,
}

impl<S> Default for Spheres<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Spheres<S> {
    /// Spheres without a subtransaction.
    pub fn new() -> Self {
        Spheres {
            nodes: Vec::new(),
            free: Vec::new(),
            dirty: IntegerMap::default(),
            spheres: 0,
            statistics: Statistics::default(),
        }
    }

    /// The end of a subtransaction that modified pages, while it still has them locked. `read` are
    /// the pages that it only read; it does no harm if they contain `modified` too, or if a page is
    /// named twice. `joined` are further subtransactions whose spheres it joins, if they are
    /// unwritten: those that a compensation must not be written without (see the
    /// [module](self#compensations)).
    ///
    /// # Panics
    /// If more than 4,294,967,295 subtransactions are unwritten.
    pub fn complete(
        &mut self,
        modified: &[PageId],
        read: &[PageId],
        joined: &[SubtransactionNumber],
        payload: S,
    ) -> Completed {
        let number = self.add(payload);
        let mut root = number.slot;
        for &page in modified {
            if let Some(&slot) = self.dirty.get(&page.0) {
                root = self.union(root, slot);
            } else {
                self.dirty.insert(page.0, number.slot);
                self.node(number.slot).first_modified.push(page);
                self.node(root).pages += 1;
            }
        }
        for page in read {
            if let Some(&slot) = self.dirty.get(&page.0) {
                root = self.union(root, slot);
            }
        }
        for other in joined {
            if self.is_unwritten(*other) {
                root = self.union(root, other.slot);
            }
        }
        let pages_in_sphere = self.node(root).pages;
        Completed {
            number,
            pages_in_sphere,
        }
    }

    /// True if it has not been taken yet.
    pub fn is_unwritten(&self, number: SubtransactionNumber) -> bool {
        let node = self.nodes.get(number.slot as usize);
        node.is_some_and(|node| node.sequence == number.sequence && node.payload.is_some())
    }

    /// True if an unwritten subtransaction has modified the page.
    pub fn is_dirty(&self, page: PageId) -> bool {
        self.dirty.contains_key(&page.0)
    }

    /// The end of a transaction: takes out the spheres of its subtransactions, to be written as one.
    /// Empty if all of them were taken with others.
    pub fn take(&mut self, of: impl IntoIterator<Item = SubtransactionNumber>) -> Taken<S> {
        let mut taken = Taken {
            pages: Vec::new(),
            subtransactions: Vec::new(),
        };
        for number in of {
            if self.is_unwritten(number) {
                self.take_sphere(number.slot, &mut taken);
            }
        }
        self.finish(taken)
    }

    /// Takes out the sphere of a page, to force it to the log. Empty if the page is clean.
    pub fn take_page(&mut self, page: PageId) -> Taken<S> {
        let slot = self.dirty.get(&page.0).copied();
        let number = slot.map(|slot| self.number(slot));
        self.take(number)
    }

    /// Takes everything out, as when the database is closed.
    pub fn take_all(&mut self) -> Taken<S> {
        let all: Vec<_> = self.spheres().map(|sphere| sphere.member).collect();
        self.take(all)
    }

    /// The payloads of all unwritten subtransactions, in no particular order. Takes time in their number.
    pub fn payloads(&self) -> impl Iterator<Item = &S> {
        self.nodes.iter().filter_map(|node| node.payload.as_ref())
    }

    /// All spheres, in no particular but a repeatable order. Takes time in the number of unwritten
    /// subtransactions: for a background writer and for people.
    pub fn spheres(&self) -> impl Iterator<Item = Sphere> {
        let roots = self
            .nodes
            .iter()
            .enumerate()
            .filter(|(slot, node)| node.payload.is_some() && node.parent as usize == *slot);
        roots.map(|(slot, node)| Sphere {
            member: self.number(slot as u32),
            pages: node.pages,
            subtransactions: node.members as usize,
        })
    }

    /// The spheres of more than so many pages. As [`Spheres::spheres`].
    pub fn over(&self, pages: usize) -> impl Iterator<Item = Sphere> {
        self.spheres().filter(move |sphere| sphere.pages > pages)
    }

    /// The sphere with the most pages. As [`Spheres::spheres`].
    pub fn largest(&self) -> Option<Sphere> {
        self.spheres().max_by_key(|sphere| sphere.pages)
    }

    /// Counts spheres that are not written.
    pub fn len(&self) -> usize {
        self.spheres
    }

    /// True if everything is written.
    pub fn is_empty(&self) -> bool {
        self.spheres == 0
    }

    /// The number of unwritten subtransactions.
    pub fn unwritten(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    /// Counts pages that subtransactions changed since they were written.
    pub fn dirty_pages(&self) -> usize {
        self.dirty.len()
    }

    /// The counts since the beginning.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    fn node(&mut self, slot: u32) -> &mut Node<S> {
        &mut self.nodes[slot as usize]
    }

    fn number(&self, slot: u32) -> SubtransactionNumber {
        let sequence = self.nodes[slot as usize].sequence;
        SubtransactionNumber { sequence, slot }
    }

    /// A sphere of one, without pages.
    fn add(&mut self, payload: S) -> SubtransactionNumber {
        self.statistics.subtransactions += 1;
        self.spheres += 1;
        let sequence = self.statistics.subtransactions;
        let beyond = || u32::try_from(self.nodes.len()).expect("fewer than 2^32 unwritten");
        let slot = self.free.pop().unwrap_or_else(beyond);
        let node = Node {
            sequence,
            parent: slot,
            next: slot,
            members: 1,
            pages: 0,
            first_modified: SmallVec::new(),
            payload: Some(payload),
        };
        if slot as usize == self.nodes.len() {
            self.nodes.push(node);
        } else {
            *self.node(slot) = node;
        }
        SubtransactionNumber { sequence, slot }
    }

    /// The root of a sphere; halves the way to it.
    fn find(&mut self, mut slot: u32) -> u32 {
        loop {
            let parent = self.node(slot).parent;
            if parent == slot {
                return slot;
            }
            let above = self.node(parent).parent;
            self.node(slot).parent = above;
            slot = above;
        }
    }

    /// Makes one sphere of that of a root and that of any other slot; the root of it.
    fn union(&mut self, root: u32, slot: u32) -> u32 {
        let other = self.find(slot);
        if other == root {
            return root;
        }
        self.statistics.merges += 1;
        self.spheres -= 1;
        let heavier = self.node(root).members >= self.node(other).members;
        let (root, under) = if heavier {
            (root, other)
        } else {
            (other, root)
        };
        let (members, pages) = (self.node(under).members, self.node(under).pages);
        self.node(under).parent = root;
        self.node(root).members += members;
        self.node(root).pages += pages;
        // Two rings become one when any two members of them exchange their successors.
        let (next, next_under) = (self.node(root).next, self.node(under).next);
        self.node(root).next = next_under;
        self.node(under).next = next;
        root
    }

    /// Frees every member of a sphere. All go at once, so no way to a root leads to a free slot.
    fn take_sphere(&mut self, first: u32, taken: &mut Taken<S>) {
        self.spheres -= 1;
        let mut slot = first;
        loop {
            let number = self.number(slot);
            let node = &mut self.nodes[slot as usize];
            for page in node.first_modified.drain(..) {
                self.dirty.remove(&page.0);
                taken.pages.push(page);
            }
            let payload = node
                .payload
                .take()
                .expect("members of a sphere are not free");
            taken.subtransactions.push((number, payload));
            let next = node.next;
            self.free.push(slot);
            slot = next;
            if slot == first {
                return;
            }
        }
    }

    fn finish(&mut self, mut taken: Taken<S>) -> Taken<S> {
        taken.pages.sort_unstable();
        taken
            .subtransactions
            .sort_unstable_by_key(|(number, _)| *number);
        if taken.is_empty() {
            self.statistics.taken_empty += 1;
            return taken;
        }
        let pages = taken.pages.len() as u64;
        self.statistics.taken += 1;
        self.statistics.taken_pages += pages;
        self.statistics.taken_pages_max = self.statistics.taken_pages_max.max(pages);
        self.statistics.taken_subtransactions += taken.subtransactions.len() as u64;
        taken
    }
}

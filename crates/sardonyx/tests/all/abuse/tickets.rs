//! Steps with tickets: submitted, taken out of order, forgotten, with values and wakers that panic.

use super::program::{Bomb, Put};
use super::{Abuse, REMAINDER};
use crate::common::{PLANNED, block_on};
use sardonyx::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Tickets.
impl Abuse<'_> {
    pub fn submit(&mut self) {
        for _ in 0..1 + self.random.below(20) {
            let id = self.witness.begins();
            let how = self.random.below(8);
            let put = Put(self.opened.items, self.opened.notes);
            let ticket = self
                .opened
                .database
                .transaction()
                .errors()
                .submit(move |tx| {
                    put.put(tx, id)?;
                    match how {
                        0 => panic!("{PLANNED}"),
                        1 => Err(Error::other("on purpose")),
                        _ => Ok(()),
                    }
                });
            match self.random.below(4) {
                0 if how > 1 => drop(ticket),
                1 if how > 1 => std::mem::forget(ticket),
                _ => self.tickets.push((id, ticket)),
            }
        }
    }

    pub fn submit_batch(&mut self) {
        let ids: Vec<_> = (0..self.random.below(40))
            .map(|_| self.witness.begins())
            .collect();
        let lane = match self.random.below(3) {
            0 => usize::MAX,
            lane => lane as usize,
        };
        let database = &self.opened.database;
        if let (true, Some(&id)) = (self.random.chance(1, 4), ids.first()) {
            let outcome = database.call(&self.procedure, id).unwrap();
            return self.outcome_of(id, outcome.is_ok());
        }
        let ticket = database.submit_batch(&self.procedure, ids.clone(), lane);
        match self.random.below(4) {
            0 => drop(ticket),
            _ => self.batches.push((ids, ticket)),
        }
    }

    fn outcome_of(&self, id: u64, well: bool) {
        assert_eq!(well, !(3..=7).contains(&(id % REMAINDER)), "{id}");
        match well {
            true => self.witness.durable(id),
            false => self.witness.refused(id),
        }
    }

    pub fn take_a_ticket(&mut self) {
        if let Some(place) = self.some_place(self.batches.len()) {
            let (ids, ticket) = self.batches.swap_remove(place);
            let outcomes = match self.random.chance(1, 2) {
                true => ticket.wait(),
                false => block_on(ticket),
            };
            for (id, outcome) in ids.into_iter().zip(outcomes.unwrap()) {
                self.outcome_of(id, outcome.is_ok());
            }
        }
        if let Some(place) = self.some_place(self.tickets.len()) {
            let (id, ticket) = self.tickets.swap_remove(place);
            let _ = (ticket.is_done(), format!("{ticket:?}"));
            let outcome = match self.random.chance(1, 2) {
                true => ticket.wait(),
                false => block_on(ticket),
            };
            match outcome {
                Ok(Ok(())) => self.witness.durable(id),
                Ok(Err(_)) | Err(Error::Panicked(_)) => self.witness.refused(id),
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn some_place(&mut self, of: usize) -> Option<usize> {
        (of > 0).then(|| self.random.below(of as u64) as usize)
    }

    pub fn wait_for_all(&mut self) {
        while !self.tickets.is_empty() || !self.batches.is_empty() {
            self.take_a_ticket();
        }
    }

    /// Values of the program's that panic when they are dropped, on any thread.
    pub fn bombs(&mut self) {
        let id = self.witness.begins();
        let put = Put(self.opened.items, self.opened.notes);
        let how = self.random.below(4);
        let bomb = Bomb;
        let submit = || {
            self.opened
                .database
                .transaction()
                .errors()
                .submit(move |tx| {
                    let bomb = bomb;
                    put.put(tx, id)?;
                    match how {
                        0 => std::panic::panic_any(bomb),
                        1 => Err(Error::other("on purpose")),
                        _ => Ok(bomb),
                    }
                })
        };
        let caught = |body: &mut dyn FnMut()| {
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
        };
        let mut ticket = None;
        let mut submit = Some(submit);
        caught(&mut || ticket = submit.take().map(|submit| submit()));
        let wait = self.random.chance(1, 2);
        caught(&mut || match (wait, ticket.take()) {
            (true, Some(ticket)) => drop(ticket.wait()),
            (_, ticket) => drop(ticket),
        });
        self.run_one();
    }

    /// A task that panics when it is woken.
    pub fn wakers(&mut self) {
        let id = self.witness.begins();
        let put = Put(self.opened.items, self.opened.notes);
        let mut ticket = self
            .opened
            .database
            .transaction()
            .errors()
            .submit(move |tx| put.put(tx, id));
        let waker = Waker::from(Arc::new(Bomb));
        let mut context = Context::from_waker(&waker);
        let polled = Pin::new(&mut ticket).poll(&mut context);
        std::mem::forget(waker);
        match polled {
            Poll::Pending => self.tickets.push((id, ticket)),
            Poll::Ready(outcome) => self.told(id, outcome.unwrap()),
        }
    }
}

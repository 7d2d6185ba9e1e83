//! The threads that look into the register, and at the time.

use super::absence::out_of_lease;
use super::coupling::RegisterJob;
use super::member::LooseMember;
use super::store::Register;
use crate::node::NodeError;
use crate::protocol::Epoch;
use crate::protocol::membership::{Input, View};
use sardonyx_base::sync::thread;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// So long after a failure nothing is tried.
const AGAIN_AFTER: Duration = Duration::from_millis(20);

/// So long a node that is absent is not believed to have failed: it may be that it was not seen yet.
const ABSENT_MAX: Duration = Duration::from_millis(10);

/// The interval of looks at the time.
const TICK: Duration = Duration::from_millis(5);

/// Ticks after which unacknowledged messages may be lost.
const LONG: u32 = 40;

/// While a node is awaited that has to be there no more, it is looked so many times as often.
const OFTENER: u32 = 8;

/// Long looks within a time.
pub fn long_looks(time: Duration) -> u32 {
    let looks = time.as_nanos() / (TICK * LONG).as_nanos();
    u32::try_from(looks).unwrap_or(u32::MAX)
}

/// The body of the thread that uses the register. When the node has stopped it is there no more.
pub fn register(
    member: &LooseMember,
    jobs: &Receiver<RegisterJob>,
    mut register: Box<dyn Register>,
) {
    let (mut looked, usually) = (Instant::now(), register.look_every());
    let mut absent = Vec::new();
    let mut failed_since: Option<Instant> = None;
    // The view could not be read: it is read again in the next round. Meanwhile the lease is renewed and looked at.
    let mut is_unread = false;
    while !member.stopping() && member.shell.lock().check().is_ok() {
        let every = match member.shell.lock().awaits_absence() {
            true => (usually / OFTENER).max(ABSENT_MAX),
            false => usually,
        };
        let job = match is_unread {
            true => Ok(RegisterJob::Read),
            false => jobs.recv_timeout(every.saturating_sub(looked.elapsed())),
        };
        let look_now = matches!(job, Ok(RegisterJob::Look));
        let mut done = match job {
            Ok(RegisterJob::Read) => {
                let read = read(member, &mut *register);
                is_unread = read.is_err();
                read
            }
            Ok(RegisterJob::Swap(expected, view)) => {
                swap(member, expected, &view, &mut *register);
                Ok(())
            }
            Ok(RegisterJob::Look) | Err(RecvTimeoutError::Timeout) => Ok(()),
            Err(RecvTimeoutError::Disconnected) => break,
        };
        if looked.elapsed() >= every || look_now {
            looked = Instant::now();
            done = done.and(look(member, &mut *register, &mut absent));
        }
        match done {
            Ok(()) => failed_since = None,
            Err(error) => {
                tracing::warn!(%error, "the register of who takes part");
                let since = *failed_since.get_or_insert_with(Instant::now);
                if since.elapsed() > member.here.options.patience {
                    member.shell.lock().stop(&error);
                }
                std::thread::sleep(AGAIN_AFTER);
            }
        }
        member.changed.notify_all();
    }
    settle_doubt(member, &mut *register);
    register.leave();
    member.changed.notify_all();
}

/// Asks whether this node still takes part, if that says why it has stopped.
fn settle_doubt(member: &LooseMember, register: &mut dyn Register) {
    let node = {
        let shell = member.shell.lock();
        match shell.is_in_doubt() {
            true => shell.node(),
            false => return,
        }
    };
    let is_there = register
        .present()
        .map(|present| present.contains_key(&node));
    let is_member = register.read().map(|view| view.members.contains_key(&node));
    let takes_part = match (is_there, is_member) {
        (Ok(false), _) | (_, Ok(false)) => Some(false),
        (Ok(true), Ok(true)) => Some(true),
        _ => None,
    };
    let mut shell = member.shell.lock();
    shell.settle_doubt(takes_part);
    if let Err(reason) = shell.check() {
        tracing::info!(%reason, node = node.0, "why the node has stopped");
    }
}

fn read(member: &LooseMember, register: &mut dyn Register) -> Result<(), NodeError> {
    let view = register.read()?;
    // If the node has stopped the loop sees that.
    let _ = member.shell.lock().tell_membership(Input::ViewRead(view));
    Ok(())
}

fn swap(member: &LooseMember, expected: Epoch, view: &View, register: &mut dyn Register) {
    let is_swapped = register.swap(expected, view).unwrap_or_else(|error| {
        // It may have been replaced, by this node.
        tracing::warn!(%error, "a view may have been put into the register or not");
        false
    });
    let told = Input::ViewSwapped(is_swapped);
    let _ = member.shell.lock().tell_membership(told);
}

/// Looks for present nodes; a node that is absent twice has failed. A node that is not present itself has been stopped
/// or without the register for too long. Others may have continued, so it acknowledges nothing more.
fn look(
    member: &LooseMember,
    register: &mut dyn Register,
    absent: &mut Vec<(crate::protocol::NodeId, Instant)>,
) -> Result<(), NodeError> {
    let lease = register.stay()?;
    *member.here.lease.lock() = lease;
    let present = register.present()?;
    let mut shell = member.shell.lock();
    if shell.check().is_err() {
        return Ok(());
    }
    shell.are_at(&present);
    let own = shell.node();
    if !present.contains_key(&own) {
        shell.stop(&out_of_lease());
        return Ok(());
    }
    let view = shell.membership().view();
    let known = view.members.keys().chain(view.shut_out.keys());
    let gone = known.filter(|node| **node != own && !present.contains_key(node));
    let gone: Vec<_> = gone.copied().collect();
    absent.retain(|(node, _)| gone.contains(node));
    let mut surely = Vec::new();
    for node in gone {
        match absent.iter().find(|(other, _)| *other == node) {
            None => absent.push((node, Instant::now())),
            Some((_, since)) if since.elapsed() >= ABSENT_MAX => surely.push(node),
            Some(_) => {}
        }
    }
    shell.are_absent(&surely);
    for node in surely {
        let _ = shell.tell_membership(Input::Suspect(node));
    }
    let _ = shell.tell_membership(Input::Look);
    Ok(())
}

/// The body of the thread that watches the time. It starts the threads of new links, too.
pub fn time(member: &Arc<LooseMember>) {
    let mut ticks = 0;
    let mut links = Vec::new();
    while !member.stopping() {
        std::thread::sleep(TICK);
        ticks += 1;
        let mut shell = member.shell.lock();
        let new_links = std::mem::take(&mut shell.coupling.new_links);
        // If the node has stopped, waiting threads are notified.
        let _ = shell.tick(ticks % LONG == 0);
        let _ = shell.suspect();
        drop(shell);
        member.changed.notify_all();
        for (node, link) in new_links {
            let _ = member.here.register.send(RegisterJob::Look);
            let told = member.clone();
            let body = move || link.run(|| told.shell.lock().connected(node));
            links.extend(thread::Builder::new().name("link".into()).spawn(body));
        }
    }
    member.shell.lock().stop_links();
    for link in links {
        let _ = link.join();
    }
}

//! The threads that send the requests of a node's shell to the page server.

use super::call::{Answer, Question};
use super::coupling::Job;
use super::member::LooseMember;
use super::remote::Remote;
use crate::node::NodeError;
use crate::protocol::{Input, membership};
use sardonyx_base::sync::futex::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// So often a thread looks whether the node ends.
const LOOK: Duration = Duration::from_millis(20);

/// The body of such a thread.
pub fn run(member: &LooseMember, jobs: &Mutex<Receiver<Job>>, mut server: Remote) {
    while !member.stopping() {
        let job = jobs.lock().recv_timeout(LOOK);
        let job = match job {
            Ok(job) => job,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if let Err(error) = work(member, job, &mut server) {
            member.shell.lock().stop(&error);
        }
        member.changed.notify_all();
    }
}

fn work(member: &LooseMember, job: Job, server: &mut Remote) -> Result<(), NodeError> {
    let question = match &job {
        Job::Page(_, held) => Question::Page {
            page: held.page,
            settled: false,
        },
        Job::RecoverPage(page, _) => Question::Page {
            page: *page,
            settled: true,
        },
        Job::RecoverPart { pages, .. } => Question::Versions(pages.clone()),
        Job::CloseLog(node, epoch) => Question::Close {
            node: *node,
            epoch: *epoch,
        },
    };
    let answer = server.ask(&question)?;
    let mut shell = member.shell.lock();
    if shell.check().is_err() {
        return Ok(());
    }
    match (job, answer) {
        (Job::Page(transaction, held), Answer::Page(psn, page)) => {
            shell.fetched(transaction, held, psn, &page)
        }
        (Job::RecoverPage(page, node), Answer::Page(psn, _)) => {
            shell.feed(Input::PageRecovered { page, node, psn })
        }
        (Job::RecoverPart { part, since, .. }, Answer::Versions(versions)) => {
            shell.feed(Input::PartRecovered {
                part,
                since,
                versions,
            })
        }
        (Job::CloseLog(node, _), Answer::Closed) => {
            shell.tell_membership(membership::Input::LogClosed(node))
        }
        _ => Err(NodeError::Refused {
            reason: "the page server answers something else".into(),
        }),
    }
}

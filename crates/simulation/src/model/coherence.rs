//! The actions that a node's protocol machine requests: entry accesses in GEM, messages, page writes.
//!
//! The machine decides everything that concerns locks and versions; here it costs time. Entry accesses
//! are made on the processor that the caller holds; messages and writes are processes of their own.

use super::buffer::Replaced;
use super::gem_cache::{self, GemCache};
use super::system::{Elsewhere, Medium, Node, System, Work};
use super::waiting::Answer;
use crate::parameters::{MessageMedium, ReplacementWrites};
use crate::signal::Signal;
use crate::time::Span;
use sardonyx_sharing::page_cache::Write;
use sardonyx_sharing::protocol::{
    EntryStore, Epoch, Input, Message, NodeId, Output, PageId, PageSource, Psn, TransactionId,
};
use std::rc::Rc;

/// Feeds `input` to the node's machine and does its actions. The caller holds a processor.
pub async fn drive(system: &Rc<System>, node: &Node, input: Input) {
    // Taken from finished calls, since this runs for every lock: no allocation.
    let mut work = system.work.borrow_mut().pop().unwrap_or_default();
    let Work { inputs, outputs } = &mut work;
    inputs.push_back(input);
    while let Some(input) = inputs.pop_front() {
        node.machine.borrow_mut().handle(input, outputs);
        for output in outputs.drain(..) {
            if let Some(answer) = perform(system, node, output).await {
                inputs.push_back(answer);
            }
        }
    }
    system.work.borrow_mut().push(work);
}

/// Does one thing; the answer, if the machine expects one at once.
async fn perform(system: &Rc<System>, node: &Node, output: Output) -> Option<Input> {
    match output {
        Output::ReadEntry { page } => {
            system.gem.entry_access().await;
            let Ok(entry) = system.entries.borrow_mut().read(page);
            return Some(Input::EntryRead {
                page,
                entry: Box::new(entry),
            });
        }
        Output::SwapEntry {
            page,
            expected,
            entry,
        } => {
            system.gem.entry_access().await;
            let Ok(swapped) = system.entries.borrow_mut().swap(page, expected, *entry);
            if !swapped {
                system.tally.borrow_mut().swap_failures += 1;
            }
            return Some(Input::EntrySwapped { page, swapped });
        }
        Output::Supply { page, transaction } => {
            let copy = node.version(page.0);
            return Some(Input::Supplied {
                page,
                transaction,
                copy,
            });
        }
        Output::Granted {
            transaction,
            page,
            psn,
            source,
            ..
        } => {
            if source == PageSource::Copy {
                // The transaction continues later; until then the copy must not be replaced.
                keep(system, node, page.0);
            }
            node.waiting
                .borrow_mut()
                .answer(transaction, Answer::Granted { psn, source });
        }
        Output::Victim { transaction } => {
            node.waiting
                .borrow_mut()
                .answer(transaction, Answer::Victim);
        }
        Output::Waiting { transaction, .. } => {
            if let Some(times) = node.waiting.borrow_mut().times(transaction) {
                times.blocked.get_or_insert(system.kernel.now());
            }
        }
        Output::PutPage {
            page,
            psn,
            transaction,
        } => {
            gem_cache::page(system).await;
            return Some(Input::PagePut {
                page,
                psn,
                transaction,
            });
        }
        Output::Send { to, message } => send(system, node.id, to, message),
        Output::WriteBack { page, psn } => {
            let (system, number) = (Rc::clone(system), usize::from(node.id.0));
            system
                .clone()
                .kernel
                .spawn(write_back(system, number, page, psn));
        }
        Output::Discard { page, psn } => left(node, page.0, psn),
        // The model's nodes do not fail.
        Output::Ended { .. }
        | Output::DropPage { .. }
        | Output::RecoverPage { .. }
        | Output::RecoverPart { .. }
        | Output::EntryRecovered { .. } => {}
    }
    None
}

/// Fixes the node's copy of a page, which there is.
pub fn keep(system: &Rc<System>, node: &Node, page: u64) {
    let mut buffer = node.buffer.borrow_mut();
    let replaced = buffer.reuse(page);
    buffer.fix(page);
    drop(buffer);
    write_replaced(system, node, replaced);
}

/// Begins to write a modified page that was replaced. Returns the signal to wait for if the caller that needed the
/// frame has to.
pub fn write_replaced(
    system: &Rc<System>,
    node: &Node,
    replaced: Option<Replaced>,
) -> Option<Signal<()>> {
    // Written with it, but their frames are not waited for.
    let due = node.buffer.borrow_mut().take_due();
    for written in due {
        begin_write(system, node, written);
    }
    let replaced = replaced?;
    begin_write(system, node, replaced);
    if system.parameters.node.replacement_writes == ReplacementWrites::Asynchronous {
        return None;
    }
    let written = Signal::new(&system.kernel);
    let mut leaving = node.leaving.borrow_mut();
    leaving.insert(replaced.page, written.clone());
    Some(written)
}

/// Begins to write a modified page.
fn begin_write(system: &Rc<System>, node: &Node, Replaced { page, psn }: Replaced) {
    let locked = system.partitions[(page >> 32) as usize].locks;
    let (shared, number) = (Rc::clone(system), usize::from(node.id.0));
    system.kernel.spawn(async move {
        let node = &shared.nodes[number];
        if locked {
            let permit = node.cpu.acquire().await;
            let page = PageId(page);
            drive(&shared, node, Input::Replace { page, psn }).await;
            drop(permit);
        } else {
            write_page(&shared, node, page).await;
            left(node, page, psn);
        }
    });
}

async fn write_back(system: Rc<System>, number: usize, page: PageId, psn: Psn) {
    let node = &system.nodes[number];
    write_page(&system, node, page.0).await;
    let permit = node.cpu.acquire().await;
    drive(&system, node, Input::WrittenBack { page, psn }).await;
    drop(permit);
    left(node, page.0, psn);
}

async fn write_page(system: &Rc<System>, node: &Node, page: u64) {
    let partition = (page >> 32) as usize;
    system.tally.borrow_mut().partitions[partition].writes += 1;
    match &system.partitions[partition].medium {
        Medium::Gem => {
            let permit = node.cpu.acquire().await;
            let gem = &system.parameters.gem;
            system
                .kernel
                .wait(system.instructions(gem.page_instructions))
                .await;
            system.gem.page_access().await;
            drop(permit);
        }
        Medium::Disks(disks) => {
            node.cpu
                .serve(system.instructions(system.parameters.disk.instructions))
                .await;
            disks.write(page, disks.access_time(None)).await;
        }
        Medium::GemCache(cache) => {
            let permit = node.cpu.acquire().await;
            let taken = write_to_cache(system, node, cache, page).await;
            if taken {
                return;
            }
            let instructions = system.parameters.disk.instructions;
            system.tally.borrow_mut().behind_gem += 1;
            system.kernel.wait(system.instructions(instructions)).await;
            drop(permit);
            let disks = &cache.disks;
            disks.write(page, disks.access_time(None)).await;
        }
    }
}

/// Writes a page into the cache in GEM, if there is room, and begins its destage unless one is under
/// way. The caller holds a processor.
pub async fn write_to_cache(
    system: &Rc<System>,
    node: &Node,
    cache: &Rc<GemCache>,
    page: u64,
) -> bool {
    gem_cache::directory(system).await;
    let write = cache.pages.borrow_mut().write(PageId(page), node.id);
    if write == Write::Refused {
        return false;
    }
    gem_cache::page(system).await;
    if matches!(write, Write::Destage { .. }) {
        let (shared, number) = (Rc::clone(system), usize::from(node.id.0));
        let destage = gem_cache::destage(shared, number, Rc::clone(cache), page);
        system.kernel.spawn(destage);
    }
    true
}

fn left(node: &Node, page: u64, psn: Psn) {
    node.buffer.borrow_mut().left(page, psn);
    if let Some(written) = node.leaving.borrow_mut().remove(&page) {
        written.fire(());
    }
}

fn send(system: &Rc<System>, from: NodeId, to: NodeId, message: Message) {
    {
        let mut tally = system.tally.borrow_mut();
        if message.is_long() {
            tally.long_messages += 1;
        } else {
            tally.short_messages += 1;
        }
    }
    note_sent(system, from, &message);
    let (instructions, bytes) = system.message_cost(&message);
    system.tally.borrow_mut().message_instructions += 2.0 * instructions;
    let shared = Rc::clone(system);
    let through_gem = system.parameters.messages.medium == MessageMedium::Gem;
    system.kernel.spawn(async move {
        let work = shared.instructions(instructions);
        let sender = &shared.nodes[usize::from(from.0)];
        if through_gem {
            let permit = sender.cpu.acquire().await;
            shared.kernel.wait(work).await;
            message_in_gem(&shared, &message).await;
            drop(permit);
            return receive(&shared, from, to, message, work).await;
        }
        sender.cpu.serve(work).await;
        shared.kernel.wait(shared.network_delay(bytes)).await;
        receive(&shared, from, to, message, work).await;
    });
}

/// Writes a message into GEM, or reads it there: its text and place in the receiver's queue are two
/// entries, and each of its pages is a page. The caller holds a processor.
async fn message_in_gem(system: &System, message: &Message) {
    system.tally.borrow_mut().gem_entries += 2;
    for _ in 0..2 {
        system.gem.other_entry_access().await;
    }
    for _ in message.carried_pages() {
        gem_cache::page(system).await;
    }
}

async fn receive(system: &Rc<System>, from: NodeId, to: NodeId, message: Message, work: Span) {
    let node = &system.nodes[usize::from(to.0)];
    let permit = node.cpu.acquire().await;
    system.kernel.wait(work).await;
    if system.parameters.messages.medium == MessageMedium::Gem {
        message_in_gem(system, &message).await;
    }
    if let Message::Request { transaction, .. } = message {
        let came = Elsewhere::Since(system.kernel.now());
        system.elsewhere.borrow_mut().insert(key(transaction), came);
    }
    for (page, psn) in message.returned_pages() {
        // The authority is the page's owner from now on and writes it back some time, unless storage has it.
        let unwritten = node.machine.borrow().writes_back(page);
        let replaced = node.buffer.borrow_mut().install(page.0, psn, unwritten);
        write_replaced(system, node, replaced);
    }
    drive(
        system,
        node,
        Input::Message {
            from,
            message,
            sent_in: Epoch::default(),
        },
    )
    .await;
    drop(permit);
}

/// Notes when a page was requested, and how long a lock request waited at the node that grants it now.
fn note_sent(system: &System, from: NodeId, message: &Message) {
    let now = system.kernel.now();
    match *message {
        Message::PageRequest { transaction, .. } => {
            let mut waiting = system.nodes[usize::from(from.0)].waiting.borrow_mut();
            if let Some(times) = waiting.times(transaction) {
                times.page_requested.get_or_insert(now);
            }
        }
        Message::Grant { transaction, .. } => {
            let mut elsewhere = system.elsewhere.borrow_mut();
            if let Some(request) = elsewhere.get_mut(&key(transaction))
                && let Elsewhere::Since(since) = *request
            {
                *request = Elsewhere::Blocked(now - since);
            }
        }
        _ => {}
    }
}

/// The time that the transaction's latest request to another node waited there for other transactions, if it
/// made one.
pub fn blocked_elsewhere(system: &System, transaction: TransactionId) -> Option<Span> {
    match system.elsewhere.borrow_mut().remove(&key(transaction))? {
        Elsewhere::Blocked(span) => Some(span),
        Elsewhere::Since(since) => Some(system.kernel.now() - since),
    }
}

fn key(transaction: TransactionId) -> u64 {
    u64::from(transaction.node().0) << 48 | transaction.number()
}

/// Looks for a deadlock around a transaction that has waited for long.
pub async fn suspect(system: &Rc<System>, node: &Node, transaction: TransactionId) {
    // It may have been granted its lock while the caller waited for a processor.
    if node.waiting.borrow_mut().times(transaction).is_some() {
        drive(system, node, Input::Suspect { transaction }).await;
    }
}

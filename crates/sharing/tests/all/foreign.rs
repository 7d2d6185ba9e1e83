//! A message of the other protocol is refused, and changes nothing.

use sardonyx_sharing::protocol::{
    Epoch, ForeignMessage, GemLocking, GemOptions, Input, Message, NodeId, Output, PageId,
    PageTransfer, PrimaryCopy, PrimaryCopyOptions, Protocol, TransactionId, UpdateStrategy,
};

const SENDER: NodeId = NodeId(1);

fn refused(machine: &mut impl Protocol, message: Message) -> ForeignMessage {
    let mut outputs: Vec<Output> = Vec::new();
    let input = Input::Message {
        from: SENDER,
        message: message.clone(),
        sent_in: Epoch::default(),
    };
    let error = machine.handle(input, &mut outputs).expect_err("refused");
    assert!(outputs.is_empty() && machine.is_idle(), "{outputs:?}");
    assert_eq!((error.from, &*error.message), (SENDER, &message));
    error
}

#[test]
fn gem_locking_refuses_messages_of_primary_copy_locking() {
    let options = GemOptions {
        update: UpdateStrategy::NoForce,
        read_authorisation: true,
        page_transfer: PageTransfer::Message,
        remembered_entries: true,
    };
    let mut machine = GemLocking::new(NodeId(0), options);
    let transaction = TransactionId::new(SENDER, 7);
    for message in [
        Message::Released { transaction },
        Message::Revoked { page: PageId(3) },
        Message::Registered {
            transaction,
            page: PageId(3),
        },
        Message::Victim {
            transaction,
            page: PageId(3),
        },
    ] {
        let error = refused(&mut machine, message).to_string();
        assert!(error.contains("node 1") && error.contains("GEM"), "{error}");
    }
}

#[test]
fn primary_copy_locking_refuses_messages_of_gem_locking() {
    let options = PrimaryCopyOptions {
        update: UpdateStrategy::NoForce,
        read_optimisation: true,
        authorised_without_copy: true,
        acknowledge_release: false,
        stored_at_commit: false,
    };
    let mut machine = PrimaryCopy::new(NodeId(0), |_: PageId| NodeId(0), options);
    let error = refused(&mut machine, Message::WriteTurn { page: PageId(3) });
    assert!(error.to_string().contains("primary copy"), "{error}");
}

//! An operator's undo: the recorder's own order with the inverse that root issued.

use crate::common::{Answer, CLIENT, OPERATOR, Root, World, done, new_id, send, unknown};
use postern_proto::link::{self, Kind};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Completed, Status};

impl World {
    fn undo(&self, request: &wire::OperatorUndoRequest) -> Result<Vec<wire::OperatorUndone>, (u8, String)> {
        self.operator(OPERATOR).replies("Undo", request)
    }

    fn undo_id(&self, id: &str) -> Vec<wire::OperatorUndone> {
        self.undo(&wire::OperatorUndoRequest { request_id: id.to_owned(), ..Default::default() }).unwrap()
    }

    fn changed(&self, task: &str) -> String {
        let id = new_id();
        let claim = root::Claim { task: task.to_owned(), ..self.claim(&id) };
        assert!(self.run(claim).completed().undoable);
        id
    }
}

#[test]
fn sends_the_inverse_in_an_order_of_the_operators_own() {
    let mut world = World::new();
    let files = Root::willing(&world.host.files);
    let id = world.changed("");
    let undone = world.undo_id(&id);
    assert_eq!(
        (undone[0].code.as_str(), undone[0].verb.as_str(), undone[0].target.as_str()),
        ("", "file.write", "/srv/a")
    );
    let received = &files.executed()[1];
    let (order, envelope) = (&received.order, received.envelope());
    assert_eq!(
        (order.uid, order.verb.as_str(), &order.inverse),
        (OPERATOR, "request.undo", &done(&files.executed()[0].order).inverse)
    );
    assert_eq!((envelope.by_operator, envelope.operator_uid, envelope.approvers.len()), (true, OPERATOR, 0));
    let body: wire::RequestUndoRequest = link::strict(&order.body).unwrap();
    assert_eq!(body.of, id);
    let request_id = body.meta.unwrap().request_id;
    assert_eq!(order.order_id, link::order_id(OPERATOR, &request_id));
    assert_eq!(
        postern_policy::types::Digest::from_bytes(&order.policy_digest).unwrap().to_string(),
        world.policy()
    );
    let begin = &world.records("begin")[1];
    assert_eq!(
        (&begin["client"]["uid"], &begin["undo"]["of"], &begin["args"]["uid"]),
        (&OPERATOR.into(), &id.clone().into(), &CLIENT.into())
    );
    // It is undone, also for the next recorder, and the undo can be undone.
    for _ in 0..2 {
        assert!(world.recall(&id).undone);
        assert_eq!(world.undo_id(&id)[0].code, "undo_gone");
        world.restart();
    }
    assert_eq!(world.undo_id(&request_id)[0].code, "");
    assert_eq!(files.executed().len(), 3);
}

#[test]
fn undoes_a_task_newest_first_up_to_the_first_that_fails() {
    let world = World::new();
    let files = Root::at(&world.host.files, |received, stream| match received.kind {
        Kind::RootExecute
            if received.order.inverse.as_ref().is_some_and(|inverse| inverse.rules == ["two"]) =>
        {
            let completed = Completed {
                status: Status::Failed.into(),
                code: "undo_conflict".to_owned(),
                ..Completed::default()
            };
            send(
                stream,
                Kind::Outcome,
                &root::Outcome { completed: Some(completed), inverse: None, ..done(&received.order) },
            );
        }
        Kind::RootExecute => {
            let mut outcome = done(&received.order);
            outcome.inverse.as_mut().unwrap().rules = vec![received.order.rule.clone()];
            send(stream, Kind::Outcome, &outcome);
        }
        Kind::Outcomes => send(stream, Kind::OutcomesReply, &unknown()),
        _ => {}
    });
    let ids = ["one", "two", "three", "four"].map(|rule| {
        let id = new_id();
        let claim = root::Claim { task: "t".to_owned(), rule: rule.to_owned(), ..world.claim(&id) };
        world.run(claim).completed();
        id
    });
    world.changed("other");
    let request = wire::OperatorUndoRequest { task: "t".to_owned(), ..wire::OperatorUndoRequest::default() };
    let undone = world.undo(&request).unwrap();
    let told = undone.iter().map(|one| (one.request_id.as_str(), one.code.as_str())).collect::<Vec<_>>();
    assert_eq!(told, [(ids[3].as_str(), ""), (&ids[2], ""), (&ids[1], "undo_conflict")]);
    assert_eq!(files.executed().len(), 5 + 3);
    // The next time only what is left is meant, and undos themselves are not.
    let dry = wire::OperatorUndoRequest { dry_run: true, ..request };
    let left = world.undo(&dry).unwrap();
    assert_eq!(
        left.iter().map(|one| one.request_id.as_str()).collect::<Vec<_>>(),
        [ids[1].as_str(), &ids[0]]
    );
    assert!(left.iter().all(|one| !one.inverse.is_empty() && one.code.is_empty()));
    assert_eq!(files.executed().len(), 5 + 3, "a dry run sends nothing");
}

#[test]
fn names_exactly_one_of_request_task_and_time() {
    let world = World::new();
    Root::willing(&world.host.files);
    let id = world.changed("t");
    world.changed("t");
    let refused = |request: &wire::OperatorUndoRequest| world.undo(request).unwrap_err().1;
    let (task, request_id) = ("t".to_owned(), id.clone());
    assert!(refused(&wire::OperatorUndoRequest::default()).starts_with("invalid_argument: "));
    let both = wire::OperatorUndoRequest { task, request_id, ..wire::OperatorUndoRequest::default() };
    assert!(refused(&both).starts_with("invalid_argument: "));
    let prefix =
        wire::OperatorUndoRequest { request_id: id[..8].to_owned(), ..wire::OperatorUndoRequest::default() };
    assert!(refused(&prefix).starts_with("invalid_argument: "), "two requests begin so");
    let none =
        wire::OperatorUndoRequest { request_id: "ffff".to_owned(), ..wire::OperatorUndoRequest::default() };
    assert!(refused(&none).starts_with("unknown_request: "));
    let since =
        wire::OperatorUndoRequest { since_unix_s: 1, dry_run: true, ..wire::OperatorUndoRequest::default() };
    assert_eq!(world.undo(&since).unwrap().len(), 2);
}

#[test]
fn undoes_while_paused_and_although_the_client_has_used_up_its_ids() {
    let world = World::new();
    let files = Root::willing(&world.host.files);
    let id = world.changed("");
    let taken = |number: u64| root::RequestState {
        uid: CLIENT,
        request_id: crate::common::id_at(
            u64::try_from(world.host.audit.unix().as_millis()).unwrap(),
            number + 1_000_000,
        ),
        completed: Some(Completed::default()),
        begun_unix_us: u64::try_from(world.host.audit.unix().as_micros()).unwrap(),
        ..root::RequestState::default()
    };
    (0..4_000).for_each(|number| world.state.requests.restore(taken(number)));
    assert_eq!(world.run(world.claim(&new_id())).refused(), "rate_limited");
    world.state.pause(Some("x".to_owned())).unwrap();
    assert_eq!(world.undo_id(&id)[0].code, "");
    assert_eq!(files.executed().len(), 2);
}

#[test]
fn an_undo_by_the_client_marks_the_original_request() {
    let mut world = World::new();
    Root::willing(&world.host.files);
    let id = world.changed("");
    let claim =
        root::Claim { verb: "request.undo".to_owned(), undo_of: id.clone(), ..world.claim(&new_id()) };
    // A claim alone marks nothing, nor does the undo of another request, nor an order of another id.
    let other = world.changed("");
    let own = |claim: &root::Claim| root::Claim { request_id: new_id(), ..claim.clone() };
    let told = [own(&claim), own(&claim), own(&claim)];
    let orders = [
        root::Claim { undo_of: String::new(), ..told[0].clone() },
        root::Claim { undo_of: other, ..told[1].clone() },
        root::Claim { request_id: new_id(), ..told[2].clone() },
    ];
    for (claim, order) in told.into_iter().zip(&orders) {
        let execute = root::RecorderOrder { order: crate::common::order(order), ..World::execute(claim) };
        let mut stream = world.broker();
        link::send(&mut stream, Kind::RecorderExecute, &execute).unwrap();
        assert_eq!(Answer::read(&mut stream).refused(), "invalid_argument");
    }
    assert!(!world.recall(&id).undone);
    world.run(claim).completed();
    assert!(world.recall(&id).undone);
    world.restart();
    assert!(world.recall(&id).undone);
}

//! Requests named by their beginning or as `last`: the agent remembers whose they are.

mod common;

use common::{Place, Play, completed, ended, refused, unit};
use postern_agent::Exit;
use postern_proto::v1::{self, Status};
use tonic::Code;

fn id(ran: &common::Ran) -> String {
    ran.json()["request_id"].as_str().expect(&ran.out).to_owned()
}

fn undone() -> Play {
    let status = Status::Done.into();
    Play::Events(vec![completed(v1::Completed { status, undoable: true, ..v1::Completed::default() })])
}

fn changed() -> Play {
    Play::Events(vec![unit(Status::Done, "nginx.service", "active", "running")])
}

fn previewed() -> Play {
    Play::Events(vec![ended(Status::Previewed, "")])
}

fn of(seen: &common::Seen) -> String {
    seen.decode::<v1::RequestUndoRequest>().of
}

#[tokio::test]
async fn undo_last_passes_over_no_change_of_unknown_outcome() {
    let place = Place::new();
    let lost = Play::Status(Code::DeadlineExceeded, "too late");
    let helper = place.helper(vec![changed(), lost]);
    place.serve();
    place.run(&["service", "start", "nginx"]).await;
    let open = id(&place.run(&["service", "stop", "nginx", "--json"]).await);
    let ran = place.run(&["undo", "last"]).await;
    assert_eq!(ran.exit, Exit::Refused, "{ran:?}");
    assert!(ran.err.contains(&format!("is not known yet: see `postern result {open}`")), "{ran:?}");
    helper.add(changed());
    helper.add(previewed());
    helper.add(undone());
    assert_eq!(place.run(&["result", &open]).await.exit, Exit::Done);
    assert_eq!(place.run(&["undo", "last"]).await.exit, Exit::Done);
    assert_eq!(of(helper.seen().last().unwrap()), open);
}

#[tokio::test]
async fn a_dry_run_of_an_undo_takes_nothing_back() {
    let place = Place::new();
    let helper = place.helper(vec![changed(), previewed(), previewed(), undone()]);
    place.serve();
    place.run(&["service", "stop", "nginx"]).await;
    assert_eq!(place.run(&["undo", "last", "--dry-run"]).await.exit, Exit::Done);
    assert_eq!(place.run(&["undo", "last"]).await.exit, Exit::Done);
    assert_eq!(of(&helper.seen()[1]), of(&helper.seen()[3]));
}

#[tokio::test]
async fn an_id_may_be_shortened_to_what_no_other_begins_with() {
    let place = Place::new();
    let ids = ["018f0000-0000-7000-8000-00000000000a", "018f0000-0000-7000-8000-00000000000b"];
    let helper = place.helper(vec![changed(), changed(), Play::Events(vec![ended(Status::Done, "")])]);
    place.serve();
    for id in ids {
        assert_eq!(place.run(&["service", "restart", "nginx", "--request-id", id]).await.exit, Exit::Done);
    }
    let ran = place.run(&["result", "018f"]).await;
    assert_eq!(ran.exit, Exit::Usage, "{ran:?}");
    assert!(ran.err.contains("several of your requests begin so"), "{ran:?}");
    let ran = place.run(&["result", "019"]).await;
    assert_eq!(ran.exit, Exit::Refused, "{ran:?}");
    assert!(ran.err.contains("unknown_request: no request of yours has this id"), "{ran:?}");
    let ran = place.run(&["result", &ids[1].to_uppercase()[..36]]).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    assert_eq!(helper.seen()[2].decode::<v1::RequestResultRequest>().of, ids[1]);
}

#[tokio::test]
async fn what_is_no_id_is_wrong_usage_and_asks_nobody() {
    let place = Place::new();
    let helper = place.helper(Vec::new());
    for (args, why) in [
        (&["undo", "--direct", "last"][..], "are known to the agent, not with --direct"),
        (&["result", "--direct", "018f"], "are known to the agent, not with --direct"),
        (&["undo", "../tasks"], "is no request's whole id"),
        (&["undo", ""], "is no request's whole id"),
    ] {
        let ran = place.run(args).await;
        assert_eq!(ran.exit, Exit::Usage, "{args:?}: {ran:?}");
        assert!(ran.err.contains(why), "{ran:?}");
    }
    assert!(helper.seen().is_empty());
}

#[tokio::test]
async fn a_request_that_never_reached_the_helper_does_not_stand_in_the_way_of_undo() {
    let place = Place::new();
    let helper = place.helper(vec![changed()]);
    let alive = place.serve_apart();
    let first = id(&place.run(&["service", "stop", "nginx", "--json"]).await);
    drop(alive);
    helper.stop();
    for socket in [&place.host.helper_socket, &place.host.agent_socket] {
        std::fs::remove_file(socket).unwrap();
    }
    place.serve();
    assert_eq!(place.run(&["service", "restart", "redis"]).await.exit, Exit::Unreachable);
    let helper = place.helper(vec![Play::Status(Code::ResourceExhausted, "too many"), previewed(), undone()]);
    assert_ne!(place.run(&["service", "restart", "redis"]).await.exit, Exit::Done, "turned away at the door");
    let ran = place.run(&["undo", "last"]).await;
    assert_eq!(ran.exit, Exit::Done, "{ran:?}");
    assert_eq!(of(helper.seen().last().unwrap()), first);
}

#[tokio::test]
async fn that_the_helper_does_not_know_a_request_settles_it_and_that_it_does_not_answer_does_not() {
    let place = Place::new();
    let lost = Play::Status(Code::DeadlineExceeded, "too late");
    let helper = place.helper(vec![changed(), lost]);
    place.serve();
    let first = id(&place.run(&["service", "stop", "nginx", "--json"]).await);
    // Old enough not to be on its way any more.
    let open = "018f0000-0000-7000-8000-00000000000c";
    place.run(&["service", "restart", "redis", "--request-id", open]).await;
    for code in ["rate_limited", "paused"] {
        helper.add(Play::Events(vec![refused(code)]));
        place.run(&["result", open]).await;
        let ran = place.run(&["undo", "last"]).await;
        assert!(ran.err.contains("is not known yet"), "{code}: {ran:?}");
    }
    helper.add(Play::Events(vec![refused("unknown_request")]));
    place.run(&["result", open]).await;
    helper.add(previewed());
    helper.add(undone());
    assert_eq!(place.run(&["undo", "last"]).await.exit, Exit::Done);
    assert_eq!(of(helper.seen().last().unwrap()), first);
}

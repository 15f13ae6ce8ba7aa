//! A task belongs to the uid that gave it. Alone in its file: it changes the effective uid of its process.

mod common;

use common::{Place, Play, ended, unit};
use nix::unistd::{Uid, seteuid};
use postern_agent::Exit;
use postern_proto::v1::Status;
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;

/// Run by `tests/run`; by hand as root with `-- --ignored as_root`.
mod as_root {
    use super::*;

    #[tokio::test]
    #[ignore = "needs root: nobody else can be somebody else"]
    async fn another_uid_sees_and_ends_nothing_of_a_task() {
        let place = Place::new();
        let helper = place.helper(vec![
            Play::Events(vec![unit(Status::Done, "nginx.service", "active", "running")]),
            Play::Events(vec![ended(Status::Done, "")]),
        ]);
        place.serve();
        let directory = place.host.agent_socket.parent().unwrap();
        set_permissions(directory, Permissions::from_mode(0o755)).unwrap();
        set_permissions(&place.host.agent_socket, Permissions::from_mode(0o666)).unwrap();

        let task = place.run(&["run", "restart nginx", "--json"]).await.json();
        let id = task["id"].as_str().unwrap();
        let request = task["results"][0]["request_id"].as_str().unwrap();

        seteuid(Uid::from_raw(65_534)).unwrap();
        let list = place.run(&["tasks", "--json"]).await;
        assert_eq!(list.out, "[]\n");
        for args in [&["tasks", "show", id][..], &["tasks", "cancel", id], &["tasks", "show", &id[..8]]] {
            let ran = place.run(args).await;
            assert_eq!(ran.exit, Exit::Failed, "{ran:?}");
            assert!(ran.err.contains("not_found: no task of yours has this id"), "{ran:?}");
        }
        let ran = place.run(&["result", request]).await;
        assert!(ran.err.contains("unknown_request"), "{ran:?}");
        let ran = place.run(&["service", "restart", "nginx", "--request-id", request]).await;
        assert!(ran.err.contains("request_id_conflict"), "taking the id over does not help: {ran:?}");
        assert_eq!(helper.seen().len(), 1);

        seteuid(Uid::from_raw(0)).unwrap();
        assert_eq!(place.run(&["tasks", "show", &id[..13]]).await.exit, Exit::Done);
        assert_eq!(place.run(&["result", request]).await.exit, Exit::Done);
    }
}

//! Whose schedules run: those of people who may give tasks at that time.

use postern_agent::inspect::membership::{Member, may_give_tasks, member};

fn anna(is_in_group: bool) -> Member {
    Member { name: "anna".to_owned(), is_in_group }
}

#[test]
fn runs_for_a_member_of_the_group_only() {
    let may = |uid, name, member: Option<&Member>| may_give_tasks(uid, name, "postern-users", member);
    assert_eq!(may(1000, "anna", Some(&anna(true))), Ok(()));
    let lost = may(1000, "anna", Some(&anna(false))).unwrap_err();
    assert_eq!(lost, "anna is no longer in the group postern-users");
    assert_eq!(may(1000, "anna", None).unwrap_err(), "the user anna (uid 1000) is gone");
    // The uid was given to somebody else, who never asked for this.
    assert_eq!(may(1000, "berta", Some(&anna(true))).unwrap_err(), "uid 1000 was berta and is anna now");
    // Root opens the socket without the group, but is root only under its own uid.
    let root = Member { name: "root".to_owned(), is_in_group: false };
    assert_eq!(may(0, "root", Some(&root)), Ok(()));
    assert!(may(1000, "root", Some(&root)).is_err());
}

#[test]
fn reads_members_from_the_user_database() {
    let root = member(0, "root").expect("the user database").expect("root");
    assert_eq!((root.name.as_str(), root.is_in_group), ("root", true));
    assert!(!member(0, "no-such-group").expect("the user database").expect("root").is_in_group);
    assert_eq!(member(4_000_000_000, "root"), Ok(None));
}

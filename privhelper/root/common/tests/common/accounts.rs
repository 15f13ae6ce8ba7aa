//! passwd and group, without NSS.

use crate::support::{AGENT, MEMBER, World};

#[test]
fn finds_names_and_numbers_and_reads_changed_membership_anew() {
    let world = World::new(Vec::new());
    let accounts = &world.accounts;
    assert_eq!((accounts.user("agent"), accounts.group("admins")), (Some(AGENT), Some(3000)));
    assert_eq!((accounts.user_name(AGENT), accounts.group_name(3000)), (Some("agent"), Some("admins")));
    assert_eq!((accounts.user("none"), accounts.user_name(1), accounts.group("")), (None, None, None));
    assert_eq!(world.active.policy.clients_of(&accounts.identity(MEMBER)), ["admins"]);
    std::fs::write(&world.host.group, "root:x:0:\nadmins:x:3000:agent\n").unwrap();
    let now = world.host.accounts().unwrap();
    assert!(world.active.policy.clients_of(&now.identity(MEMBER)).is_empty());
    assert_eq!(world.active.policy.clients_of(&now.identity(AGENT)), ["agent", "admins"]);
}

#[test]
fn lines_of_nis_and_broken_lines_name_nobody() {
    let world = World::new(Vec::new());
    std::fs::write(&world.host.passwd, "+:x:0:0:::\n+agent:x:2001:1::/:\n-x:x:5:5\nbroken\nempty::\n")
        .unwrap();
    let accounts = world.host.accounts().unwrap();
    assert_eq!((accounts.user("+"), accounts.user("+agent"), accounts.user("-x")), (None, None, None));
    assert_eq!((accounts.user_name(0), accounts.user_name(2001)), (None, None));
    std::fs::remove_file(&world.host.passwd).unwrap();
    assert!(world.host.accounts().is_err());
}

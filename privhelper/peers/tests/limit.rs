//! Limits per uid and in all.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use postern_peers::Limit;

#[test]
fn holds_each_uid_and_all_to_their_limits_until_permits_are_dropped() {
    let limit = Limit::new(2, 3);
    let (first, second) = (limit.take(1, 1).unwrap(), limit.take(1, 1).unwrap());
    assert!(limit.take(1, 1).is_none(), "a third of one uid");
    let third = limit.take(2, 1).unwrap();
    assert!(limit.take(3, 1).is_none(), "a fourth of all");
    drop(first);
    assert!(limit.take(3, 2).is_none());
    let fourth = limit.take(3, 1).unwrap();
    drop((second, third, fourth));
    assert_eq!(limit.used(), 0);
    assert!(limit.take(1, 3).is_none(), "more at once than one uid may have");
}

#[test]
fn counts_a_forced_permit_against_later_ones() {
    let limit = Limit::new(1, 9);
    let (one, two) = (limit.take(1, 1).unwrap(), limit.force(1, 1));
    drop(one);
    assert!(limit.take(1, 1).is_none());
    drop(two);
    assert!(limit.take(1, 1).is_some());
}

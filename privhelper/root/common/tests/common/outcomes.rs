//! Outcomes by order id.

use crate::support::World;
use postern_proto::root::v1::Outcome;
use postern_root::outcomes::{ended, running, unknown};
use postern_root::{Error, OrderId, Outcomes};
use prost::Message;

#[test]
fn an_order_begins_once_and_keeps_its_outcome_until_acknowledged() {
    let world = World::new(Vec::new());
    let directory = world.host.state.join("outcomes");
    let outcomes = Outcomes::open(&directory).unwrap();
    let (id, other) = (OrderId::from_bytes(&[1; 32]).unwrap(), OrderId::from_bytes(&[2; 32]).unwrap());
    assert_eq!(outcomes.state(id).unwrap(), unknown());
    outcomes.begin(id, b"note").unwrap();
    outcomes.begin(other, b"").unwrap();
    assert_eq!(outcomes.state(id).unwrap(), running());
    outcomes.acknowledge(id).unwrap();
    assert_eq!(outcomes.state(id).unwrap(), running(), "what runs cannot be acknowledged");
    assert!(
        matches!(outcomes.begin(id, b"note"), Err(Error::Denied(denied)) if denied.code.as_str() == "request_id_conflict")
    );
    let outcome = Outcome { uid: 5, ..Outcome::default() };
    outcomes.end(id, &outcome).unwrap();
    assert_eq!(outcomes.state(id).unwrap(), ended(outcome.encode_to_vec()));
    assert!(outcomes.begin(id, b"note").is_err());
    // A process that is killed while it writes an outcome leaves a temporary file.
    std::fs::write(directory.join(format!("{other}.new")), b"half").unwrap();
    let next = Outcomes::open(&directory).unwrap();
    assert_eq!(next.running().unwrap(), [(other, Vec::new())]);
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 2);
    next.acknowledge(id).unwrap();
    assert_eq!(next.state(id).unwrap(), unknown());
}

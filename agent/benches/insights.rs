//! Measures `postern insights` on a record of 100,000 steps: `cargo bench -p postern-agent --bench insights`.
//!
//! Prints the time of the request and the memory that it takes beside that of the service.

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/insights/fill.rs"]
mod fill;

use common::{HEADERS, Place, http, until};
use fill::{fill, own};
use http_body_util::BodyExt;
use std::fs::{read_to_string, write};
use std::time::Instant;
use tokio::net::UnixStream;

const TASKS: u64 = 1000;
const STEPS: u64 = 100;
const ROUNDS: usize = 5;

/// A value of /proc/self/status in KiB.
fn memory(name: &str) -> u64 {
    let status = read_to_string("/proc/self/status").expect("the status");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a value");
    line.trim_matches([':', ' ', '\t']).trim_end_matches(" kB").trim().parse().expect("a number")
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let place = Place::new();
    place.helper(Vec::new());
    place.serve();
    let path = place.host.state.join("postern.db");
    until("the service answers", || place.host.agent_socket.exists() && path.exists()).await;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    // After the start, which keeps only the newest.
    fill(&mut rusqlite::Connection::open(&path).expect("the database"), &own(), TASKS, STEPS, |n| n);
    for _ in 0..ROUNDS {
        // Sets the peak back to what is in use now: proc_pid_clear_refs(5).
        write("/proc/self/clear_refs", "5").expect("the peak is set back");
        let (before, begin) = (memory("VmRSS"), Instant::now());
        let stream = UnixStream::connect(&place.host.agent_socket).await.expect("the service");
        let answer = http(stream, "GET", "/insights", &HEADERS, "").await.into_body().collect().await;
        let (bytes, took) = (answer.expect("an answer").to_bytes().len(), begin.elapsed());
        let more = memory("VmHWM").saturating_sub(before);
        println!("{} steps: {took:.0?}, {more} KiB more at its peak, {bytes} bytes of JSON", TASKS * STEPS);
    }
}

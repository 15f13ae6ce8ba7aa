//! `postern-helper`: started by its sockets, as root, with three capabilities.
//!
//! Takes no arguments and reads no configuration but the accepted policy.
//! Ends with 1 and one line in the journal if it can't stand safely.

use postern_helper::error::Fault;
use postern_helper::places::Places;
use postern_helper::{listen, startup};
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // Without a journal nobody could be told.
            drop(writeln!(std::io::stderr(), "postern-helper: {fault}"));
            ExitCode::FAILURE
        }
    }
}

fn serve() -> Result<(), Fault> {
    startup::drop_power()?;
    let signals = startup::hold_signals()?;
    let host = startup::real_host()?;
    let (clients, operators) = startup::sockets(&host)?;
    let (helper, unfinished) = startup::open(host)?;
    for note in &helper.notes {
        writeln!(std::io::stderr(), "postern-helper: {note}").map_err(Fault::io("write to the journal"))?;
    }
    startup::take_up(&helper, unfinished);
    let places = Arc::new(Places::default());
    let (shared, open) = (Arc::clone(&helper), Arc::clone(&places));
    startup::spawn("tick", move || startup::tick_forever(&shared))?;
    let shared = Arc::clone(&helper);
    startup::spawn("operators", move || listen::operators(&shared, &operators, &open))?;
    let shared = Arc::clone(&helper);
    startup::spawn("clients", move || listen::clients(&shared, &clients, &places))?;
    startup::wait_for_end(&helper, &signals)
}

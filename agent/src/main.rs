//! `postern`: see the library.

use postern_agent::{Host, cli};
use std::process::ExitCode;

fn main() -> ExitCode {
    let is_service = std::env::args_os().nth(1).is_some_and(|word| word == "serve");
    let level = if is_service { tracing::Level::INFO } else { tracing::Level::WARN };
    // The journal has the time.
    let log = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(postern_agent::secrets::CleanLog)
        .with_ansi(false);
    log.without_time().with_target(false).init();
    // One thread: all of it is waiting for sockets.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("postern: cannot start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let host = Host::default();
    let mut console = cli::Console::standard();
    let exit = runtime.block_on(cli::run(std::env::args_os(), &host, &mut console));
    // A read of stdin that nobody waits for any more must not hold the end up.
    runtime.shutdown_background();
    exit.into()
}

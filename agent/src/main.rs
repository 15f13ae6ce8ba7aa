//! `postern`: see the library.

use postern_agent::config::tables::{self, Log};
use postern_agent::config::values::LogLevel;
use postern_agent::redaction::CleanLog;
use postern_agent::redaction::log;
use postern_agent::telemetry::Telemetry;
use postern_agent::{Host, cli, config, sandbox, shell_policy, shims};
use std::process::ExitCode;
use std::time::Duration;
use tracing_subscriber::layer::SubscriberExt;

/// How long reading one command's text may take.
const READER_TIME: Duration = Duration::from_secs(3);

fn main() -> ExitCode {
    let argv: Vec<_> = std::env::args_os().collect();
    let host = Host::default();
    if let Some(code) = shims::called(&argv, &host) {
        return code.into();
    }
    // Programs of their own, which systemd and the first of them start: no runtime, and no log on the program's
    // error stream.
    match argv.get(1) {
        Some(word) if word == sandbox::SUPERVISE => return sandbox::supervise_main(),
        Some(word) if word == sandbox::CONFINED => return sandbox::confined_main(),
        Some(word) if word == shell_policy::READER => return shell_policy::reader_main(),
        Some(_) | None => {}
    }
    let is_service = argv.get(1).is_some_and(|word| word == "serve");
    if is_service {
        // A text of a model's is read in a process that can be ended: one that hangs its reader delays nobody else.
        shell_policy::read_in_processes("/proc/self/exe".into(), READER_TIME);
    }
    let (log, telemetry) = if is_service {
        // A fault in the configuration is told by the service itself.
        config::read(&host.config).map(|config| (config.log, config.telemetry)).unwrap_or_default()
    } else {
        (Log { level: LogLevel::Warn, ..Log::default() }, tables::Telemetry::default())
    };
    let telemetry = Telemetry::start(&telemetry);
    let spans = telemetry.as_ref().ok().and_then(Option::as_ref).map(Telemetry::layer);
    // Nothing was set before.
    let _ = tracing::subscriber::set_global_default(log::subscriber(&log, CleanLog).with(spans));
    if let Err(why) = &telemetry {
        tracing::error!(event = "telemetry", "no spans are sent: {why}");
    }
    // One thread: all of it is waiting for sockets.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("postern: cannot start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut console = cli::Console::standard();
    let exit = runtime.block_on(cli::run(argv, &host, &mut console));
    // A read of stdin that nobody waits for any more must not hold the end up.
    runtime.shutdown_background();
    if let Ok(Some(telemetry)) = telemetry {
        telemetry.end();
    }
    exit.into()
}

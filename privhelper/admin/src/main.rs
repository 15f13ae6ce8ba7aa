//! `postern-admin`.

use clap::Parser;
use clap_complete::CompleteEnv;
use postern_admin::cli::{self, Cli};
use postern_admin::completion;
use postern_admin::host::Host;
use postern_admin::io::{Answers, AtTerminal, Exit, Io};
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    // Ends here where a shell asks for completions.
    CompleteEnv::with_factory(completion::command).var(completion::VARIABLE).complete();
    // clap itself ends with 2 on a command that it does not understand.
    let cli = Cli::parse();
    let mut out = io::stdout().lock();
    let mut person = AtTerminal { terminal: io::stdin(), lines: io::stdin().lock() };
    // Both ends must be a person's: a question that nobody sees is not answered.
    let is_person = person.terminal.is_terminal() && io::stderr().is_terminal();
    let answers = is_person.then_some(&mut person as &mut dyn Answers);
    let result = cli::run(&cli, &Host::real(), &mut Io { out: &mut out, err: &mut io::stderr(), answers });
    match result.and_then(|exit| out.flush().map(|()| exit)) {
        Ok(exit) => ExitCode::from(exit.code()),
        // The reader has left: there is nobody to tell.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::from(Exit::Failed.code()),
        Err(error) => {
            // Nothing is left to do if stderr cannot be written either.
            let _ = writeln!(io::stderr(), "postern-admin: {error}");
            ExitCode::from(Exit::Failed.code())
        }
    }
}

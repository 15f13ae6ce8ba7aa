//! The command line.

use crate::approvals;
use crate::audit;
use crate::backup;
use crate::diff;
use crate::doctor;
use crate::explain::{self, ExplainArgs};
use crate::host::Host;
use crate::init::{self, InitArgs};
use crate::io::{Exit, Io};
use crate::lint::command::{self, CheckArgs, FactsArgs};
use crate::metrics::{self, MetricsArgs};
use crate::packs;
use crate::policy::apply::{self, Confirmation, Format};
use crate::policy::sign_off::{self, SignOffArgs};
use crate::rehearse::{self, RehearseArgs};
use crate::report::{self, ReportArgs};
use crate::status;
use crate::suggest::{self, SuggestArgs};
use clap::{Parser, Subcommand};
use std::io;
use std::path::PathBuf;

/// Operator and reviewer commands of Postern.
#[derive(Debug, Parser)]
#[command(
    name = "postern-admin",
    version,
    about,
    after_help = "Exit status: 0 done, 1 failed (errors in a policy, a broken log, a refusal), 2 usage, 3 refused, 4 asks a person or not agreed to, 5 recorder \
                  unreachable, 6 partly done.\n\
                  Results go to stdout, messages to stderr."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Set Postern up: people, packs, model, audit key, and a first task
    ///
    /// Each question is also a flag, and each answer takes effect before the next question: a run that was interrupted goes on
    /// where it ended. Without a terminal all flags are needed.
    Init(InitArgs),
    /// Check, compare, explain and accept policies
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Add reviewed rules for a service to the policy
    #[command(subcommand)]
    Pack(packs::Command),
    /// State of the recorder, and whether the policy files match the accepted policy
    Status {
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Check what Postern needs of this host, and name the command that mends each fault
    ///
    /// Sockets, units, groups of this session, policy, log, dpkg, clock, Landlock, and powers that the agent's users have beside the
    /// policy. Changes nothing, and works while no service of Postern's runs. As root it sees all. Exit status 1 if something is wrong.
    Doctor {
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Print the recorder, its log and the policy as numbers for Prometheus
    ///
    /// For the textfile collector of prometheus-node-exporter: with --output, from a timer. What this user may not see is left out;
    /// root sees all. Exit status 0 also where the recorder does not answer: `postern_recorder_up` says so. A recorder that refuses
    /// this user, or that fails one of the calls, is an error: what is known is written all the same.
    Metrics(MetricsArgs),
    /// Write the policy's files, sign-offs and the log's tip to one file, to be kept elsewhere
    ///
    /// It holds no key and no record of the log. The policy must have no errors, and the log's chain must hold.
    Backup {
        /// The file, which must not exist
        file: PathBuf,
    },
    /// Put back the policy of a backup, as `policy apply` accepts it, and compare the log with the backup's tip
    ///
    /// Shows the difference in effect and asks. If the policy is not accepted, the files are as they were.
    Restore {
        /// The file that `backup` wrote
        file: PathBuf,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    #[command(flatten)]
    Approvals(approvals::Command),
    /// Read and verify the audit log
    #[command(subcommand)]
    Audit(audit::Command),
}

#[derive(Debug, Subcommand)]
enum PolicyCommand {
    /// Check the files without changing anything
    ///
    /// Prints every finding with its file, line and column. The files in /etc/postern must be root's alone, and are checked against
    /// what this user may learn of this host. Files named by PATH may belong to anybody, since they have no effect, and are checked by
    /// their text alone unless --facts says of which host they are to be the policy.
    Check(CheckArgs),
    /// Print what the lint knows of this host, as JSON for `check --facts`
    Facts(FactsArgs),
    /// Accept the files in /etc/postern, all or nothing
    ///
    /// Shows what would change in effect and asks. The accepted policy stays unchanged if anything is wrong.
    Apply {
        /// Do not ask
        #[arg(long)]
        yes: bool,
        /// Only write the units and mounts of the policy that is accepted already, as this version has them
        #[arg(long, conflicts_with = "yes")]
        accepted: bool,
    },
    /// Compare two policies: the grants that only one of them has, each with an example
    ///
    /// Exact: every request that is decided otherwise is of a kind that is shown. Decides nothing and needs no root
    /// on copies. Exit status 0 if the comparison is complete, also if there is a difference.
    Diff(diff::command::DiffArgs),
    /// Explain the helper's decision on a request: the rule, and what the nearest rules lack
    ///
    /// Never acts. Exit status 0 if it is allowed, 4 if a person must approve, 3 if it is refused, 2 if it is no
    /// request.
    Explain(ExplainArgs),
    /// Report the agent's powers on this host: every grant with risk, limits, use, and who may approve
    Report(ReportArgs),
    /// Rules for what the audit log says was refused for lack of one, to be read, narrowed and added by a person
    ///
    /// Prints, never installs. Each rule is as narrow as the requests were; changes ask a person. Nothing is suggested of what a person or a
    /// deny rule refused. Names the packs that cover it.
    Suggest(SuggestArgs),
    /// Find the grants that a task needs, without doing it
    ///
    /// The agent plans the task in a dry run as the person who would give it. Prints which requests are granted,
    /// ask a person or are refused, and for the refused ones the rules that are missing and the packs that cover
    /// them. Exit status 0 if all are granted, 4 if one asks, 3 if one is refused. A model may propose other steps
    /// in another run.
    Rehearse(RehearseArgs),
    /// Say that you have read the policy: its digest and your name are kept
    ///
    /// `status` and `doctor` tell when what is active was not signed off. It decides nothing.
    SignOff(SignOffArgs),
}

/// Does what the command line says.
///
/// # Errors
/// Output cannot be written.
pub fn run(cli: &Cli, host: &Host, io: &mut Io<'_>) -> io::Result<Exit> {
    let format = |json: bool| if json { Format::Json } else { Format::Text };
    match &cli.command {
        Command::Init(args) => init::run(host, args, io),
        Command::Policy(PolicyCommand::Check(args)) => command::run_check(host, args, io),
        Command::Policy(PolicyCommand::Facts(args)) => command::run_facts(host, args, io),
        Command::Policy(PolicyCommand::Apply { accepted: true, .. }) => apply::run_accepted(host, io),
        Command::Policy(PolicyCommand::Apply { yes, accepted: false }) => {
            apply::run_apply(host, if *yes { Confirmation::Given } else { Confirmation::Ask }, io)
        }
        Command::Policy(PolicyCommand::Diff(args)) => diff::command::run(host, args, io),
        Command::Pack(command) => packs::run(command, host, io),
        Command::Approvals(command) => approvals::run(command, host, io),
        Command::Policy(PolicyCommand::Explain(args)) => explain::run(host, args, io),
        Command::Policy(PolicyCommand::Report(args)) => report::run(host, args, io),
        Command::Status { json } => status::run(host, format(*json), io),
        Command::Metrics(args) => metrics::run(host, args, io),
        Command::Backup { file } => backup::backup(host, file, io),
        Command::Restore { file, yes } => {
            backup::restore(host, file, if *yes { Confirmation::Given } else { Confirmation::Ask }, io)
        }
        Command::Doctor { json } => doctor::run(host, *json, io),
        Command::Policy(PolicyCommand::Suggest(args)) => suggest::run(host, args, io),
        Command::Policy(PolicyCommand::Rehearse(args)) => rehearse::run(host, args, io),
        Command::Policy(PolicyCommand::SignOff(args)) => sign_off::run(host, args, io),
        Command::Audit(command) => audit::run(command, host, io),
    }
}

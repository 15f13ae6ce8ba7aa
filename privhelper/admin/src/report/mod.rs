//! `policy report`: lists the agent's powers on this host, for people who must answer for it.
//!
//! One value ([`model::Report`]) is gathered from the policy, the log and the host, and rendered as text, Markdown,
//! HTML or JSON. Text from the policy, the log and the host is escaped for the output format.

mod attention;
mod build;
mod grants;
mod html;
pub(crate) use html::{RULES, STYLE};
mod idle;
mod markdown;
pub mod model;
mod overview;
mod people;
mod text;

use crate::host::Host;
use crate::io::{Exit, Io};
use crate::loaded_policy::LoadedPolicy;
use crate::text::escape_json;
use clap::{Args, ValueEnum};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

/// `policy report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// For a terminal, for a ticket, or one page that needs no network
    #[arg(long, value_enum, default_value_t = Form::Text)]
    format: Form,
    /// The host's name in the report [default: this host's]
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// A policy.toml, or a directory laid out like /etc/postern [default: the accepted policy]
    #[arg(long, value_name = "PATH")]
    policy: Option<PathBuf>,
    /// One JSON object
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// A terminal
    Text,
    /// Markdown
    Md,
    /// One self-contained page
    Html,
}

/// `policy report`.
///
/// # Errors
/// The result cannot be written.
pub fn run(host: &Host, args: &ReportArgs, io: &mut Io<'_>) -> io::Result<Exit> {
    let loaded = match LoadedPolicy::load(host, args.policy.as_deref()) {
        Ok(loaded) => loaded,
        Err(error) => return error.print(io),
    };
    let report = build::build(&loaded, host, args.host.clone().unwrap_or_else(own_name));
    let mut out = BufWriter::new(&mut *io.out);
    match (args.json, args.format) {
        (true, _) => writeln!(out, "{}", escape_json(&serde_json::to_string(&report)?))?,
        (false, Form::Text) => text::write(&report, &mut out)?,
        (false, Form::Md) => markdown::write(&report, &mut out)?,
        (false, Form::Html) => html::write(&report, &mut out)?,
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn own_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "this host".to_owned() } else { name.to_owned() }
}

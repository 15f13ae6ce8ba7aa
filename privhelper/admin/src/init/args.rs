//! The flags of `init`.

use crate::host::ModelPorts;
use clap::{Args, ValueEnum};

/// Flags of `init`. A question without its flag is asked.
#[derive(Debug, Default, Args)]
pub struct InitArgs {
    /// Users who give the agent tasks, with commas between them, or `none`
    #[arg(long, value_name = "USERS")]
    pub tasks: Option<String>,
    /// Users who approve, undo and pause, or `none`
    #[arg(long, value_name = "USERS")]
    pub approve: Option<String>,
    /// Users who only read the policy and the audit log, or `none`
    #[arg(long, value_name = "USERS")]
    pub look: Option<String>,
    /// Which packs the policy gets, or `none`; see `pack list`
    #[arg(long, value_name = "PACKS")]
    pub packs: Option<String>,
    /// A value of a pack's variable
    #[arg(long = "set", value_name = "PACK.NAME=VALUE")]
    pub set: Vec<String>,
    /// Which model makes the steps of a task
    #[arg(long)]
    pub model: Option<Provider>,
    /// The model's name there [default: the first that the endpoint names]
    #[arg(long, value_name = "NAME")]
    pub model_name: Option<String>,
    /// Where the endpoint answers [default: the provider's address, or its usual port on loopback]
    #[arg(long, value_name = "URL")]
    pub model_url: Option<String>,
    /// The file with the endpoint's key: root's or the agent's, mode 0600
    #[arg(long, value_name = "FILE")]
    pub model_key: Option<String>,
    /// Whether the audit log's key is made now, which takes a terminal
    #[arg(long)]
    pub key: Option<Key>,
    /// Do not ask whether the policy is to be applied
    #[arg(long)]
    pub yes: bool,
}

/// When the key of the audit log is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Key {
    /// It is shown once, and typed back in part.
    Now,
    /// By `audit keygen`.
    Later,
}

/// Where the steps of a task come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Provider {
    /// No model: the built-in planner, which understands plain orders.
    None,
    /// Ollama on this host.
    Ollama,
    /// llama.cpp's server on this host.
    #[value(name = "llama.cpp")]
    LlamaCpp,
    /// An endpoint with the chat completions of `OpenAI`.
    Openai,
    /// Anthropic's.
    Anthropic,
}

impl Provider {
    /// The port on loopback where it answers, for one on this host.
    #[must_use]
    pub const fn port(self, ports: ModelPorts) -> Option<u16> {
        match self {
            Self::Ollama => Some(ports.ollama),
            Self::LlamaCpp => Some(ports.llama_cpp),
            Self::None | Self::Openai | Self::Anthropic => None,
        }
    }

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Ollama => "ollama",
            Self::LlamaCpp => "llama.cpp",
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
        }
    }
}

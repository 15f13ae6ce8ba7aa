//! The corridor of a request in one test process: broker, recorder, postern-files and postern-units, each on a state of
//! its own below one temporary directory, connected by real Unix sockets.
//!
//! A test is the gateway's end of a client's channel and the operator's end of operator.sock. No root, no network.
//! Only systemd, its bus and apt are fakes: PID 1 is a script named `systemctl`, whose units are jobs of this process.
#![expect(
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    reason = "a harness stops at the first surprise"
)]

mod bus;
mod channel;
mod client;
mod hosts;
mod operator;
mod policy;
mod probe;
mod processes;
mod programs;
mod requests;
mod running;
mod systemd;
mod world;

pub use channel::{Answer, Channel};
pub use client::request;
pub use hosts::{BOOT_ID, Hosts};
pub use operator::{Operator, call};
pub use policy::{accepted, accepted_whole, changing, rule, site_rules, strings};
pub use processes::{Processes, gateway, job, listeners, serve};
pub use programs::{Listener, Root};
pub use requests::{
    change_away, change_to, id_at, meta, meta_with, mkdir, new_id, patch, remove, set_mode, write_request,
};
pub use world::{World, eventually, names};

/// The client `agent` of every policy, by its entry in passwd.
pub const CLIENT_UID: u32 = 4_000_001;
/// No client of a policy, unless it names the user `stranger`.
pub const STRANGER_UID: u32 = 4_000_002;
/// A user whose own group is `helpers`; the group does not list it.
pub const GROUP_UID: u32 = 4_000_055;
/// An operator.
pub const OPERATOR: u32 = 4_000_201;
/// Another operator.
pub const OTHER_OPERATOR: u32 = 4_000_202;
/// Two people of `postern-users`.
pub const ANN: u32 = 4_000_301;
/// See [`ANN`].
pub const BOB: u32 = 4_000_302;

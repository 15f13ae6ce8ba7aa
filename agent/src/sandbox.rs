//! The agent's own commands, each in a sandbox of its own: a uid that is nobody's client, a unit a call, and
//! inside it what the kernel can hold back besides.

mod calls;
mod client;
#[expect(clippy::disallowed_methods, reason = "it becomes the program, inside the sandbox")]
mod confined;
mod hidden;
mod host_controls;
mod job;
mod output_buffer;
mod paths;
mod quota;
#[expect(clippy::disallowed_methods, reason = "it starts this program again, to be confined")]
mod running;
mod supervise;
mod wire;
mod workspace;

pub use confined::main as confined_main;
pub use hidden::{View, hidden};
pub(crate) use host_controls::landlock_abi;
pub use job::{CONFINED, Ended, Job, Program, Record, SUPERVISE, Sandbox, Unenforced};
pub use supervise::main as supervise_main;

//! What becomes of `sudo`, `apt-get`, `systemctl`, `tee` and their like inside the tool sandbox: typed requests,
//! or one line that says what to use. Nothing is asked for here and nothing is changed.

mod call;
mod files;
mod look;
mod nowhere;
mod operands;
mod owners;
mod packages;
mod script;
mod table;
mod translate;
mod units;
mod voice;
pub mod wire;

pub use call::{Place, Step, Then};
pub use look::{Look, State};
pub use nowhere::{Foreseen, Nowhere};
pub(super) use translate::looks;
pub use translate::{PROGRAMS, Translation, translate};
pub use voice::{Said, Voice};

//! Runbooks: reviewed procedures as YAML files, of the package (`/usr/share/postern/runbooks`) and of the site
//! (`/etc/postern/runbooks.d`).
//!
//! A runbook with the values of its parameters is a plan, which the plan's own executor carries out. It is no
//! permission: each step is asked for, judged and recorded as any other. A value is one argument of a command or one
//! text of a typed call, never words of a shell.

mod argument;
mod compare;
mod document;
mod draft;
mod fill;
mod fit;
mod folder;
mod grants;
mod needs;
mod offer;
mod parameter;
mod parse;
mod pattern;
mod place;
mod show;

pub use argument::Values;
pub use compare::{as_done, compare};
pub use document::{Fault, Piece, Runbook, When};
pub use draft::{Draft, draft};
pub use fit::{Fit, Situation};
pub use folder::{FILE_LIMIT, Loaded, Origin, find, load, located, read_draft};
pub use grants::{Grants, Remark, Report};
pub use needs::{Need, Part, PlannedPart, parts};
pub use offer::{Fitting, as_calls, fitting, summaries, whole};
pub use parameter::{Kind, Parameter};
pub use show::text;

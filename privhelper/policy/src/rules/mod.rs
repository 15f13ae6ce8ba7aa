//! The accepted policy and its decisions.

mod accepted;
mod command;
mod decide;
mod decision;
mod element;
mod flags;
mod grant;
mod hours;
mod limits;
mod lines;
mod object;
pub mod protect;
mod rule;
mod source;

pub use accepted::Policy;
pub use command::Command;
pub use decision::Decision;
pub use element::Element;
pub use grant::Grant;
pub use hours::window_words;
pub use lines::is_comment;
pub use object::{Object, RequiredGrant, Selector};
pub use rule::{AS_USER_MAX, Rule};

//! Judgements of commands' texts, and the translation of commands that need root.

mod check;
mod hostile;
mod requests;
mod rules;
mod shim;
mod table;

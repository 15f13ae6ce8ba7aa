//! What is said of commands' texts, and what becomes of commands that need root.

mod check;
mod hostile;
mod requests;
mod rules;
mod shim;
mod table;

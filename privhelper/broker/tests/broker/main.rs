//! The broker over Unix sockets of a temporary directory, with a gateway's end, a small recorder and a small probe.

mod budget;
mod commands;
mod common;
mod connection;
mod fakes;
mod frames;
mod history;
mod limits;
mod listen;
mod own;
mod requests;

//! The only calls that touch files and sockets. Nothing here decides.

pub mod files;
pub mod sockets;

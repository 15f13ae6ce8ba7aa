//! How a gateway ends.

use std::{fmt, io};

/// A regular end of the gateway, whatever the client did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The client closed the connection.
    ClientLeft,
    /// The client broke HTTP/2 or a limit of it, or its socket failed.
    ClientBroke,
    /// No whole request came in time.
    ClientSilent,
    /// The client did not read its replies.
    ClientStalled,
    /// No stream was open for the idle time.
    Idle,
    /// The broker closed the channel.
    HelperGone,
}

/// An error of the broker or of the system.
#[derive(Debug)]
pub enum Fault {
    /// The hand-over was not one message from the broker with two descriptors.
    Handover(&'static str),
    /// The broker sent bytes that are no frame.
    Frame(&'static str),
    /// A system call failed.
    System(&'static str, io::Error),
}

impl Fault {
    /// For `map_err`: a system call failed.
    pub fn system<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::System(what, error.into())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Handover(what) => write!(f, "hand-over refused: {what}"),
            Self::Frame(what) => write!(f, "channel broken: {what}"),
            Self::System(what, error) => write!(f, "{what}: {error}"),
        }
    }
}

impl std::error::Error for Fault {}

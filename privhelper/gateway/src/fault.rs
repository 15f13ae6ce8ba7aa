//! How a gateway ends.

use std::{fmt, io};

/// An end in good order: whatever the client did, the gateway has done its work.
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
    /// The helper closed the channel.
    HelperGone,
}

/// Something that the broker or the system did and that must not happen.
#[derive(Debug)]
pub enum Fault {
    /// The hand-over was not one message from the broker with two descriptors.
    Handover(&'static str),
    /// The helper sent what is no frame.
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

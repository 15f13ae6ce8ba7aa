//! A model's words as they come: shown, and kept nowhere.

use serde_json::Value;
use tokio::sync::broadcast;

/// Words that a listener may be behind; it misses older ones.
const BEHIND: usize = 256;

/// The channel to those who listen.
#[derive(Clone, Debug, Default)]
pub struct Live(Option<broadcast::Sender<String>>);

impl Live {
    /// With listeners.
    #[must_use]
    pub fn open() -> Self {
        Self(Some(broadcast::Sender::new(BEHIND)))
    }

    /// Says something to those who listen now.
    pub fn say(&self, data: &Value) {
        if let Some(listeners) = &self.0 {
            // Perhaps there are none.
            let _ = listeners.send(data.to_string());
        }
    }

    /// Listens from now on.
    #[must_use]
    pub fn listen(&self) -> Option<broadcast::Receiver<String>> {
        self.0.as_ref().map(broadcast::Sender::subscribe)
    }
}

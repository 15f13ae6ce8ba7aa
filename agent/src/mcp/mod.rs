//! The MCP server: the helper's verbs as tools of the Model Context Protocol, for any agent that speaks it.
//!
//! It has no power and decides nothing: it runs as the uid of its caller and sends typed requests as that uid, which the
//! kernel proves to the helper. A request that has to be approved waits for an operator on operator.sock; no client of
//! this protocol is ever asked.

mod answer;
mod connection;
pub mod install;
mod listen;
mod offer;
mod order;
mod prompts;
mod resources;
mod server;
mod session;
mod settings;
mod work;

use crate::config::host::Host;
use crate::protocol::event::AgentError;
pub use crate::protocol::mode::Mode;
use rmcp::ServiceExt;
use server::Server;
use session::Shared;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};

pub use listen::listen;
pub use offer::{ROWS, Row};
pub use settings::{Settings, Times, Ways};

/// The longest line that a client may send: twice the largest change of files, which JSON escapes.
const LINE_LIMIT: usize = 16 << 20;

/// Serves one client on a pair of streams until it closes them.
///
/// # Errors
/// Neither the helper nor the agent takes requests of this uid.
pub async fn serve<R, W>(
    host: &Host,
    settings: impl Into<Settings>,
    read: R,
    write: W,
) -> Result<(), AgentError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let shared = Arc::new(Shared::open(host, settings.into()).await?);
    if let Some(notice) = shared.connection.notice() {
        tracing::warn!("{notice}");
    }
    let transport =
        rmcp::transport::async_rw::AsyncRwTransport::new_server(read, write).with_max_line_length(LINE_LIMIT);
    // A client that leaves before it has said anything is no failure.
    if let Ok(running) = Server::new(shared).serve(transport).await {
        let _ = running.waiting().await;
    }
    Ok(())
}

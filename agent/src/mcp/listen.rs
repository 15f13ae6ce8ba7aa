//! The server on a Unix socket, by streamable HTTP: for programs of the user who started it, and for nobody else.

use super::server::Server;
use super::session::Shared;
use super::settings::Settings;
use crate::config::host::Host;
use crate::protocol::event::AgentError;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use nix::sys::stat::{Mode, umask};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::convert::Infallible;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;

/// As many connections are served at once.
const CONNECTIONS: usize = 64;
/// From a connection's beginning, or one request's end, to the end of the next one's headers.
const HEADER_TIME: Duration = Duration::from_secs(30);

/// Serves on a socket at this path until `end`, then removes it.
///
/// # Errors
/// Neither the helper nor the agent takes requests of this uid, or the socket cannot be made.
pub async fn listen(
    host: &Host,
    settings: impl Into<Settings>,
    path: &Path,
    end: impl Future<Output = ()>,
) -> Result<(), AgentError> {
    let shared = Arc::new(Shared::open(host, settings.into()).await?);
    if let Some(notice) = shared.connection.notice() {
        tracing::warn!("{notice}");
    }
    let cannot =
        |e: io::Error| AgentError::new("failed", format!("cannot listen on {}: {e}", path.display()));
    let listener = bind(path).await.map_err(cannot)?;
    // A page in a browser has an origin; no other client sends one.
    let config = StreamableHttpServerConfig::default().enforce_origin_validation();
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(Server::new(Arc::clone(&shared))), sessions, config);
    tokio::select! {
        () = serve(&listener, service) => {}
        () = end => {}
    }
    // Gone already is as good.
    let _ = std::fs::remove_file(path);
    Ok(())
}

async fn serve(listener: &UnixListener, service: StreamableHttpService<Server, LocalSessionManager>) {
    let own = nix::unistd::getuid().as_raw();
    let limit = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&limit).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(event = "accept_failed", "{error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        // The mode keeps others out; root and a mode that was changed are kept out here.
        if stream.peer_cred().map(|peer| peer.uid()).ok() != Some(own) {
            continue;
        }
        let service = service.clone();
        let answer = service_fn(move |request| {
            let service = service.clone();
            async move { Ok::<_, Infallible>(service.handle(request).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIME)
            .serve_connection(TokioIo::new(stream), answer);
        tokio::spawn(async move {
            if let Err(why) = connection.await {
                tracing::debug!(event = "connection_lost", "{why}");
            }
            drop(permit);
        });
    }
}

/// Makes the socket, which only its owner may open from the first moment on. One that nobody listens on any more is
/// replaced; nothing else is.
async fn bind(path: &Path) -> io::Result<UnixListener> {
    if let Ok(there) = std::fs::symlink_metadata(path) {
        let is_left = there.file_type().is_socket()
            && there.uid() == nix::unistd::getuid().as_raw()
            && UnixStream::connect(path).await.is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused);
        if !is_left {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is something already"));
        }
        std::fs::remove_file(path)?;
    }
    let before = umask(Mode::from_bits_truncate(0o177));
    let bound = UnixListener::bind(path);
    umask(before);
    bound
}

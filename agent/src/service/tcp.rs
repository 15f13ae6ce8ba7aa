//! TCP on this host's own address, for whoever has the token.
//!
//! Any program of this host can connect, and a browser does so for any page that it shows. So each request must
//! have the token, and name this host: a page that makes its own name point here (DNS rebinding) does not. No
//! other page may read answers, since nothing here says so (CORS).

use super::failure::fault;
use crate::config::secret;
use crate::config::tables::Http;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HOST, WWW_AUTHENTICATE};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use secrecy::ExposeSecret;
use sha2::{Digest, Sha256};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use subtle::ConstantTimeEq;
use tokio::net::TcpListener;

/// A shorter token could be guessed.
const TOKEN_LENGTH: usize = 16;

/// Checks the token of requests over TCP.
pub struct Gate {
    /// Of the token. Digests of one length are compared, so that the time tells nothing of the token's.
    digest: [u8; 32],
    address: SocketAddr,
}

/// The listening socket and its gate; `None` where the configuration has none.
///
/// # Errors
/// The token is not to be had, or the address is taken.
pub async fn listen(http: &Http) -> Result<Option<(TcpListener, Arc<Gate>)>, String> {
    let (Some(address), Some(token)) = (&http.tcp, &http.token) else { return Ok(None) };
    let secret = secret::fetch(token).map_err(|why| format!("[http] token: {why}"))?;
    if secret.expose_secret().len() < TOKEN_LENGTH {
        return Err(format!("[http] token: {token} holds fewer than {TOKEN_LENGTH} characters"));
    }
    let digest = Sha256::digest(secret.expose_secret().as_bytes()).into();
    let failed = |e: std::io::Error| format!("[http] tcp: cannot listen on {address}: {e}");
    let listener = TcpListener::bind(address.0).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok(Some((listener, Arc::new(Gate { digest, address }))))
}

/// Lets a request through, or says what it lacks.
pub async fn check(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    if !gate.is_named(request.headers()) {
        let message = "the Host header names another host than this one";
        return fault(StatusCode::MISDIRECTED_REQUEST, "invalid_argument", message);
    }
    if !gate.is_known(request.headers()) {
        tracing::warn!(event = "http_unauthenticated", "a request over TCP has not the token");
        let mut response = fault(
            StatusCode::UNAUTHORIZED,
            "unauthenticated",
            "give the token of [http] in agent.toml as Authorization: Bearer TOKEN",
        );
        let challenge = HeaderValue::from_static("Bearer realm=\"postern\"");
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        return response;
    }
    next.run(request).await
}

impl Gate {
    /// The one `Host` header is this socket's address or `localhost`, with its port.
    fn is_named(&self, headers: &HeaderMap) -> bool {
        let Some(Ok(authority)) = one(headers, HOST).map(str::parse::<Authority>) else { return false };
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        let is_here = host.eq_ignore_ascii_case("localhost")
            || host.parse::<IpAddr>().is_ok_and(|ip| ip == self.address.ip());
        is_here && authority.port_u16().unwrap_or(80) == self.address.port()
    }

    /// The one `Authorization` header has the token.
    fn is_known(&self, headers: &HeaderMap) -> bool {
        let Some((scheme, given)) = one(headers, AUTHORIZATION).and_then(|value| value.split_once(' '))
        else {
            return false;
        };
        let digest = Sha256::digest(given.trim_start_matches(' ').as_bytes());
        scheme.eq_ignore_ascii_case("bearer") & bool::from(digest.as_slice().ct_eq(&self.digest))
    }
}

/// The value of a header that stands once.
fn one(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        (Some(_) | None, _) => None,
    }
}

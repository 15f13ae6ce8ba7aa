//! Clients of the helper besides Postern's own agent: programs of users whom the policy names.

mod ansible;
mod codex;
mod grpc;
mod mcp;
mod node;
mod python;
mod sudo;
mod wheel;

use postern_tests::{Installed, Release};

#[test]
fn stock_clients_are_served_as_their_own_user() {
    let host = Installed::on(Release::Trixie);
    mcp::session(&host);
    grpc::session(&host);
    ansible::session(&host);
    sudo::session(&host);
}

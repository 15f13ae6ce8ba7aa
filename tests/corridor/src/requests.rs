//! Clients' messages.

use postern_proto::v1 as wire;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A new request id, as RFC 9562 makes them.
pub fn new_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    id_at(u64::try_from(ms).unwrap(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The request id of this time.
pub fn id_at(ms: u64, count: u64) -> String {
    let hex = format!("{ms:012x}");
    format!("{}-{}-7000-8000-{count:012x}", &hex[..8], &hex[8..12])
}

/// Meta of a request, with a new id.
pub fn meta(mode: wire::Mode) -> Option<wire::Meta> {
    meta_with(&new_id(), mode)
}

/// Meta of a request, with this id.
pub fn meta_with(id: &str, mode: wire::Mode) -> Option<wire::Meta> {
    Some(wire::Meta { request_id: id.to_owned(), mode: mode.into(), ..wire::Meta::default() })
}

/// Writes a file.
pub fn write_request(path: &str, content: &[u8], expect: &str) -> wire::FileWriteRequest {
    let change = wire::FileChange { expect: expect.to_owned(), ..change_to(path, content) };
    wire::FileWriteRequest { meta: meta(wire::Mode::Execute), change: Some(change) }
}

/// A file's new content, whatever it was before.
pub fn change_to(path: &str, content: &[u8]) -> wire::FileChange {
    wire::FileChange {
        path: path.to_owned(),
        kind: wire::ChangeKind::Write.into(),
        content: content.to_vec(),
        expect: "any".to_owned(),
        ..wire::FileChange::default()
    }
}

/// A file that is removed.
pub fn change_away(path: &str) -> wire::FileChange {
    wire::FileChange {
        path: path.to_owned(),
        kind: wire::ChangeKind::Remove.into(),
        expect: "any".to_owned(),
        ..wire::FileChange::default()
    }
}

/// All of these changes, or none.
pub fn patch(changes: Vec<wire::FileChange>) -> wire::FilePatchRequest {
    wire::FilePatchRequest { meta: meta(wire::Mode::Execute), changes }
}

/// Removes a file.
pub fn remove(path: &str) -> wire::FileRemoveRequest {
    let (path, expect) = (path.to_owned(), "any".to_owned());
    wire::FileRemoveRequest { meta: meta(wire::Mode::Execute), path, expect }
}

/// Makes a directory.
pub fn mkdir(path: &str) -> wire::FileMkdirRequest {
    wire::FileMkdirRequest {
        meta: meta(wire::Mode::Execute),
        path: path.to_owned(),
        ..wire::FileMkdirRequest::default()
    }
}

/// Sets a file's mode.
pub fn set_mode(path: &str, mode: &str) -> wire::FileSetModeRequest {
    let (path, mode) = (path.to_owned(), mode.to_owned());
    wire::FileSetModeRequest { meta: meta(wire::Mode::Execute), path, mode }
}

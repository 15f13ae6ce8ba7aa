//! Where packages may come from: entries of apt's own files, never what a repository says of itself.

use crate::facts::Origin;
use postern_proto::root::v1 as root;

/// One `[[source]]` of the policy.
#[derive(Debug)]
pub struct Source {
    /// What rules call it.
    pub name: String,
    /// Files of apt's, or `FILE:NUMBER` as apt numbers a file's entries.
    entries: Vec<String>,
    /// Empty: any.
    hosts: Vec<String>,
    /// Empty: any.
    signed_by: Vec<String>,
}

impl Source {
    pub(super) fn new(source: &root::Source) -> Self {
        let root::Source { name, entries, hosts, signed_by } = source.clone();
        Self { name, entries, hosts, signed_by }
    }

    /// Whether what comes from there is from this source.
    #[must_use]
    pub fn has(&self, origin: &Origin) -> bool {
        let file = origin.entry.rsplit_once(':').map_or(origin.entry.as_str(), |(file, _)| file);
        let is_entry = self.entries.iter().any(|entry| *entry == origin.entry || entry == file);
        let is_host = self.hosts.is_empty()
            || host(&origin.uri).is_some_and(|host| self.hosts.iter().any(|h| h == host));
        // Each of several keys may have signed: all of them are granted, or nothing is.
        let is_signed = self.signed_by.is_empty()
            || (!origin.keys.is_empty() && origin.keys.iter().all(|key| self.signed_by.contains(key)));
        is_entry && is_host && is_signed
    }
}

/// The host that the bytes come from. A mirror list or a file names none.
fn host(uri: &str) -> Option<&str> {
    let rest = uri.strip_prefix("https://").or_else(|| uri.strip_prefix("http://"))?;
    let place = rest.split('/').next()?;
    let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
    // An IPv6 address is in brackets, and no policy can name one.
    place.split(':').next().filter(|host| !host.is_empty())
}

//! Sources of packages: entries of apt's own files, never a repository's own label.

use crate::facts::Origin;
use postern_proto::root::v1 as root;

/// Whether what comes from there is from this source. Without `hosts` or `signed_by` any will do.
pub(super) fn has(source: &root::Source, origin: &Origin) -> bool {
    let file = origin.entry.rsplit_once(':').map_or(origin.entry.as_str(), |(file, _)| file);
    let is_entry = source.entries.iter().any(|entry| *entry == origin.entry || entry == file);
    let is_host = source.hosts.is_empty()
        || host(&origin.uri).is_some_and(|host| source.hosts.iter().any(|known| known == host));
    // Each of several keys may have signed: all of them are granted, or nothing is.
    let is_signed = source.signed_by.is_empty()
        || (!origin.keys.is_empty() && origin.keys.iter().all(|key| source.signed_by.contains(key)));
    is_entry && is_host && is_signed
}

/// The host that the bytes come from. A mirror list or a file names none.
fn host(uri: &str) -> Option<&str> {
    let rest = uri.strip_prefix("https://").or_else(|| uri.strip_prefix("http://"))?;
    let place = rest.split('/').next()?;
    let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
    // An IPv6 address is in brackets, and no policy can name one.
    place.split(':').next().filter(|host| !host.is_empty())
}

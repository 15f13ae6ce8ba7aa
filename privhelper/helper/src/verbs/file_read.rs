//! `file.read`: a part of a file, as bytes.

use crate::audit::Json;
use crate::context::Context;
use crate::error::{Fault, Stop};
use crate::helper::Helper;
use crate::leave::{Done, Looked};
use crate::sys::confined::{self, Need};
use crate::sys::files::{self, Standing};
use crate::verb::{NoPlan, Verb};
use postern_policy::types::{FileKind, TargetPath};
use postern_policy::{Code, Denied, Grant, Invalid, Object, RequiredGrant, VerbId};
use postern_proto::frame::OUTPUT_MAX;
use postern_proto::v1 as wire;
use std::os::fd::OwnedFd;

/// Where, from which byte (negative: from the end), at most how many (0: as the rule says).
#[derive(Debug)]
pub struct Read {
    path: TargetPath,
    offset: i64,
    limit: u32,
}

/// The rule's directory, opened, and what stands below it: the part of a path that is the client's.
pub(super) fn directory_of<'a>(
    cx: &Context,
    by: &Grant,
    verb: VerbId,
    path: &'a TargetPath,
) -> Result<(OwnedFd, &'a str), Stop> {
    let directory = by.rules().find_map(|rule| rule.selector.directory_of(verb, path).cloned());
    let missing = || Denied::new(Code::NoGrant, "no rule's directory holds this path");
    let directory = directory.ok_or_else(missing)?;
    // A listed directory may be the rule's own.
    let below = path.below(&directory).unwrap_or_default();
    Ok((files::open_directory(&directory, cx.helper.host.owner_uid)?, below))
}

/// A file as the client is told of it.
fn info(cx: &Context, path: &TargetPath, file: &Standing, sha256: String) -> wire::FileInfo {
    wire::FileInfo {
        path: path.to_string(),
        r#type: wire::FileType::File.into(),
        size: file.size,
        mode: file.attributes.mode.to_string(),
        owner: (cx.helper.host.user_name)(file.attributes.uid),
        group: (cx.helper.host.group_name)(file.attributes.gid),
        sha256,
        mtime_unix_s: u64::try_from(file.mtime.0).unwrap_or(0),
    }
}

impl Verb for Read {
    type Wire = wire::FileReadRequest;
    type Plan = NoPlan;
    type Leave = Looked;
    const ID: VerbId = VerbId::FileRead;

    fn parse(wire: Self::Wire) -> (Option<wire::Meta>, Result<Self, Invalid>) {
        let path = TargetPath::new(&wire.path);
        (wire.meta, path.map(|path| Self { path, offset: wire.offset, limit: wire.limit }))
    }

    fn required_grants(&self, _: &Helper, _: u32) -> Result<Vec<RequiredGrant>, Denied> {
        Ok(vec![(Self::ID, Object::read(self.path.clone()))])
    }

    fn args(&self) -> Json {
        Json::new().text("path", self.path.as_str()).number("offset", self.offset).number("limit", self.limit)
    }

    fn plan(&self, _: &Context, _: &Grant) -> Result<NoPlan, Stop> {
        Ok(NoPlan)
    }

    fn act(&self, cx: &Context, by: &Grant, _: &NoPlan, _: &Looked) -> Result<Done, Stop> {
        let most = by.rules().map(|rule| rule.max_bytes).min().unwrap_or(0);
        let limit = if self.limit == 0 { most } else { most.min(self.limit.into()) };
        let (directory, below) = directory_of(cx, by, Self::ID, &self.path)?;
        let name = self.path.split().1;
        let (file, content, sha256) =
            confined::run(cx.helper.host.landlock, Need::Look, &[&directory], || {
                let parent = files::open_parent(&directory, below, cx.helper.host.owner_uid)?;
                let mut file = files::look(&parent, name, &[FileKind::File])?
                    .ok_or_else(|| Denied::new(Code::NotFound, format!("{} does not exist", self.path)))?;
                // The digest of what may be read whole is what a later write may expect.
                let sha256 = if file.size <= most { file.sha256()?.to_string() } else { String::new() };
                let content = file.read(self.offset, limit.saturating_add(1))?;
                Ok((file, content, sha256))
            })?;
        let limit =
            usize::try_from(limit).map_err(|_| Fault::Program { what: "a limit is too large".to_owned() })?;
        let truncated = content.len() > limit;
        let content = content.get(..limit.min(content.len())).unwrap_or_default();
        let mut parts = content.chunks(OUTPUT_MAX).peekable();
        while let Some(part) = parts.next() {
            let truncated = truncated && parts.peek().is_none();
            let stream = wire::Stream::Content.into();
            cx.watchers.event(&wire::event::Kind::Output(wire::Output {
                stream,
                data: part.to_vec(),
                truncated,
            }));
        }
        let status = wire::Status::Done.into();
        let files = vec![info(cx, &self.path, &file, sha256)];
        Ok(Done { completed: wire::Completed { status, files, ..Default::default() }, undo: Json::new() })
    }
}

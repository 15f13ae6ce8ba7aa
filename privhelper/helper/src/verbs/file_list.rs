//! `file.list`: what is in a directory, by name.

use super::file_read::directory_of;
use crate::audit::Json;
use crate::context::Context;
use crate::error::Stop;
use crate::helper::Helper;
use crate::leave::{Done, Looked};
use crate::sys::confined::{self, Need};
use crate::sys::files;
use crate::verb::{NoPlan, Verb};
use nix::sys::stat::{FileStat, SFlag};
use postern_policy::types::TargetPath;
use postern_policy::{Code, Denied, Grant, Invalid, Object, RequiredGrant, VerbId};
use postern_proto::v1 as wire;
use prost::Message;

/// Most names that are told, and most bytes of the answer: it is one message.
const NAMES_MAX: usize = 1000;
const BYTES_MAX: usize = 128 * 1024;

/// Which directory.
#[derive(Debug)]
pub struct List {
    path: TargetPath,
}

fn info(cx: &Context, path: String, stat: &FileStat) -> wire::FileInfo {
    let r#type = match SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT {
        SFlag::S_IFREG => wire::FileType::File,
        SFlag::S_IFDIR => wire::FileType::Directory,
        SFlag::S_IFLNK => wire::FileType::Symlink,
        _ => wire::FileType::Other,
    };
    wire::FileInfo {
        path,
        r#type: r#type.into(),
        size: if r#type == wire::FileType::File { u64::try_from(stat.st_size).unwrap_or(0) } else { 0 },
        mode: format!("{:04o}", stat.st_mode & 0o7777),
        owner: (cx.helper.host.user_name)(stat.st_uid),
        group: (cx.helper.host.group_name)(stat.st_gid),
        sha256: String::new(),
        mtime_unix_s: u64::try_from(stat.st_mtime).unwrap_or(0),
    }
}

impl Verb for List {
    type Wire = wire::FileListRequest;
    type Plan = NoPlan;
    type Leave = Looked;
    const ID: VerbId = VerbId::FileList;

    fn parse(wire: Self::Wire) -> (Option<wire::Meta>, Result<Self, Invalid>) {
        (wire.meta, TargetPath::new(&wire.path).map(|path| Self { path }))
    }

    fn required_grants(&self, _: &Helper, _: u32) -> Result<Vec<RequiredGrant>, Denied> {
        Ok(vec![(Self::ID, Object::read(self.path.clone()))])
    }

    fn args(&self) -> Json {
        Json::new().text("path", self.path.as_str())
    }

    fn plan(&self, _: &Context, _: &Grant) -> Result<NoPlan, Stop> {
        Ok(NoPlan)
    }

    fn act(&self, cx: &Context, by: &Grant, _: &NoPlan, _: &Looked) -> Result<Done, Stop> {
        let (directory, below) = directory_of(cx, by, Self::ID, &self.path)?;
        let (entries, count) = confined::run(cx.helper.host.landlock, Need::Look, &[&directory], || {
            let listed = files::open_below(&directory, below, cx.helper.host.owner_uid)?;
            files::list(listed, NAMES_MAX)
        })?;
        let mut completed =
            wire::Completed { status: wire::Status::Done.into(), ..wire::Completed::default() };
        let mut bytes = 0_usize;
        for (name, stat) in entries {
            let info = info(cx, format!("{}/{}", self.path, name.to_string_lossy()), &stat);
            bytes = bytes.saturating_add(info.encoded_len());
            if bytes > BYTES_MAX {
                break;
            }
            completed.files.push(info);
        }
        let told = completed.files.len();
        if u64::try_from(told).unwrap_or(u64::MAX) < count {
            completed.status = wire::Status::Partly.into();
            Code::TooLarge.as_str().clone_into(&mut completed.code);
            completed.message = format!("these are the first {told} of {count} names");
        }
        Ok(Done { completed, undo: Json::new() })
    }
}

//! The files for everybody: `knowledge.d`, manual pages, and `/usr/share/doc`. Regular files that everybody may read are
//! opened along no symbolic link; what is unpacked is bounded.

use super::document::{DOCUMENT_LIMIT, Origin};
use crate::inspect::open_entry;
use flate2::read::MultiGzDecoder;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Most files in all, most entries of one directory, and most directories within each other.
const FILES_LIMIT: usize = 50_000;
const ENTRIES_LIMIT: usize = 50_000;
const DEPTH_LIMIT: usize = 4;
/// Sections whose subjects are an administrator's: commands, formats, overviews, administration.
const SECTIONS: &[&str] = &["man1", "man5", "man7", "man8"];
/// A file this small with `.so` in it is another name of a page.
const ALIAS_LIMIT: usize = 200;

/// Where the files are.
#[derive(Clone, Debug)]
pub struct Places {
    /// The root directory.
    pub root: PathBuf,
    /// The site's notes.
    pub notes: PathBuf,
    /// Whether the host's own documents count besides.
    pub has_host_documents: bool,
}

/// A file to index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub origin: Origin,
    pub path: PathBuf,
    pub stamp: String,
}

/// Files and directories that were left out.
#[derive(Debug, Default)]
pub struct LeftOut {
    pub count: usize,
    pub why: Option<String>,
}

impl LeftOut {
    pub fn add(&mut self, path: &Path, why: &str) {
        self.count += 1;
        self.why.get_or_insert_with(|| format!("{}: {why}", postern_text::line(&path.display().to_string())));
    }
}

impl Places {
    fn man(&self) -> PathBuf {
        self.root.join("usr/share/man")
    }

    fn doc(&self) -> PathBuf {
        self.root.join("usr/share/doc")
    }

    /// Says whether something changed that an index was made of: packages or site notes.
    pub fn state(&self) -> String {
        let mut state = stamp_at(&self.root.join("var/lib/dpkg/status")).unwrap_or_default();
        state.insert(0, ' ');
        let mut left_out = LeftOut::default();
        for found in self.notes(&mut left_out) {
            state.extend([" ", &found.path.to_string_lossy(), "=", &found.stamp]);
        }
        state
    }

    /// The site's notes.
    pub fn notes(&self, left_out: &mut LeftOut) -> Vec<Found> {
        let mut found = Vec::new();
        walk(&self.notes, Origin::Site, left_out, &mut found, &|_| true);
        // A note is the site's word: nobody but root or this user may have written it.
        let own = nix::unistd::geteuid().as_raw();
        found.retain(|note| {
            let facts = std::fs::symlink_metadata(&note.path);
            let is_safe =
                facts.is_ok_and(|facts| [0, own].contains(&facts.uid()) && facts.mode() & 0o022 == 0);
            if !is_safe {
                left_out.add(&note.path, "somebody besides root can write it");
            }
            is_safe
        });
        found
    }

    /// Everything, the notes first.
    pub fn all(&self, left_out: &mut LeftOut) -> Vec<Found> {
        let mut found = self.notes(left_out);
        if !self.has_host_documents {
            return found;
        }
        for section in SECTIONS {
            walk(&self.man().join(section), Origin::Man, left_out, &mut found, &|_| true);
        }
        walk(&self.doc(), Origin::Doc, left_out, &mut found, &is_documentation);
        found
    }
}

/// Licences and changelogs would be found in place of answers.
fn is_documentation(name: &str) -> bool {
    let name = name.strip_suffix(".gz").unwrap_or(name).to_ascii_lowercase();
    name.starts_with("readme")
        || name.starts_with("news")
        || name.starts_with("faq")
        || [".md", ".txt", ".rst", ".markdown"].iter().any(|end| name.ends_with(end))
            && !name.starts_with("change")
            && !name.starts_with("copy")
            && !name.starts_with("licen")
}

fn open_directory(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    Ok(File::from(open(path, flags, Mode::empty())?))
}

fn walk(
    path: &Path,
    origin: Origin,
    left_out: &mut LeftOut,
    found: &mut Vec<Found>,
    is_wanted: &dyn Fn(&str) -> bool,
) {
    match open_directory(path) {
        Ok(directory) => enter(&directory, path, (origin, 0), left_out, found, is_wanted),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => left_out.add(path, &error.to_string()),
    }
}

fn enter(
    directory: &File,
    path: &Path,
    (origin, depth): (Origin, usize),
    left_out: &mut LeftOut,
    found: &mut Vec<Found>,
    is_wanted: &dyn Fn(&str) -> bool,
) {
    // What not everybody may list is not for everybody.
    if !directory.metadata().is_ok_and(|facts| facts.mode() & 0o005 == 0o005) {
        left_out.add(path, "not everybody may read the directory");
        return;
    }
    let here = PathBuf::from(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(directory)));
    let Ok(entries) = std::fs::read_dir(here) else { return };
    let mut names: Vec<_> = entries.take(ENTRIES_LIMIT).flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    for name in names {
        let below = path.join(&name);
        let Some(text) =
            name.to_str().filter(|name| !name.starts_with('.') && !name.contains(postern_text::is_hostile))
        else {
            continue;
        };
        if found.len() >= FILES_LIMIT {
            left_out.add(&below, &format!("there are more than {FILES_LIMIT} files"));
            return;
        }
        let Ok(facts) = nix::sys::stat::fstatat(
            directory.as_fd(),
            name.as_os_str(),
            nix::fcntl::AtFlags::AT_SYMLINK_NOFOLLOW,
        ) else {
            continue;
        };
        let kind = nix::sys::stat::SFlag::from_bits_truncate(facts.st_mode) & nix::sys::stat::SFlag::S_IFMT;
        if kind == nix::sys::stat::SFlag::S_IFDIR && depth < DEPTH_LIMIT {
            if let Ok(directory) = open_entry(text, directory.as_fd(), text) {
                enter(&directory, &below, (origin, depth + 1), left_out, found, is_wanted);
            }
        } else if kind == nix::sys::stat::SFlag::S_IFREG && is_wanted(text) {
            if facts.st_mode & 0o004 == 0 {
                left_out.add(&below, "not everybody may read it");
            } else if let Some(stamp) = stamp_at(&below) {
                found.push(Found { origin, path: below, stamp });
            }
        }
    }
}

fn stamp(facts: &Metadata) -> String {
    format!("{}.{}-{}-{}", facts.ctime(), facts.ctime_nsec(), facts.size(), facts.ino())
}

/// The state of a regular file: its change time, size and inode; `None` if there is none.
pub fn stamp_at(path: &Path) -> Option<String> {
    std::fs::symlink_metadata(path).ok().filter(Metadata::is_file).map(|facts| stamp(&facts))
}

/// Reads a file that was found, unpacked if it is gzip; `None` if it only names another one.
pub fn read(found: &Found) -> Result<Option<String>, String> {
    let (Some(parent), Some(name)) = (found.path.parent(), found.path.file_name()) else {
        return Err("it has no name".to_owned());
    };
    let parent = open_directory(parent).map_err(|error| error.to_string())?;
    let name_text = name.to_string_lossy();
    let file = open_entry(&name_text, parent.as_fd(), name).map_err(|error| format!("{error:?}"))?;
    let facts = file.metadata().map_err(|error| error.to_string())?;
    if !facts.is_file() || stamp(&facts) != found.stamp {
        return Err("it changed meanwhile".to_owned());
    }
    text_of(file, name_text.ends_with(".gz")).map(|text| Some(text).filter(|text| !is_alias(text)))
}

fn is_alias(text: &str) -> bool {
    text.len() < ALIAS_LIMIT && text.lines().any(|line| line.starts_with(".so "))
}

/// Reads an open file as text, bounded before and after it is unpacked.
pub fn text_of(file: File, is_packed: bool) -> Result<String, String> {
    let most = DOCUMENT_LIMIT as u64 + 1;
    let mut bytes = Vec::new();
    let file = file.take(most);
    // A legal file may hold millions of empty members: what goes in is bounded too.
    let read = if is_packed {
        MultiGzDecoder::new(file).take(most).read_to_end(&mut bytes)
    } else {
        { file }.read_to_end(&mut bytes)
    };
    read.map_err(|error| error.to_string())?;
    if bytes.len() > DOCUMENT_LIMIT {
        return Err(format!("it is larger than {} MiB", DOCUMENT_LIMIT >> 20));
    }
    if bytes.contains(&0) {
        return Err("it is no text".to_owned());
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

//! Small Debian packages, and repositories of them, of a test's own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Machine;

/// A package with nothing in it but what is said.
#[derive(Debug, Clone)]
pub struct Package {
    name: String,
    version: String,
    fields: String,
    /// Maintainer scripts: name and text.
    scripts: Vec<(String, String)>,
    /// Configuration files: absolute path and content.
    conffiles: Vec<(String, String)>,
}

impl Package {
    /// An empty package for every architecture.
    #[must_use]
    pub fn new(name: &str, version: &str) -> Self {
        let (name, version) = (name.to_owned(), version.to_owned());
        Self { name, version, fields: String::new(), scripts: Vec::new(), conffiles: Vec::new() }
    }

    /// A further field of its control file, `Depends: x`.
    #[must_use]
    pub fn field(mut self, line: &str) -> Self {
        self.fields.extend([line, "\n"]);
        self
    }

    /// A maintainer script of `sh`: `postinst`, `prerm`, ...
    #[must_use]
    pub fn script(mut self, name: &str, text: &str) -> Self {
        self.scripts.push((name.to_owned(), format!("#!/bin/sh\n{text}\n")));
        self
    }

    /// A configuration file.
    #[must_use]
    pub fn conffile(mut self, path: &str, content: &str) -> Self {
        self.conffiles.push((path.to_owned(), content.to_owned()));
        self
    }

    /// Builds it in a directory of this host.
    ///
    /// # Panics
    /// When that fails.
    #[must_use]
    pub fn build(&self, into: &Path) -> PathBuf {
        let Self { name, version, fields, .. } = self;
        let root = into.join(format!("{name}-{version}"));
        let control = root.join("DEBIAN");
        fs::create_dir_all(&control).expect("a directory for the package");
        let write = |path: &Path, text: &str, mode: u32| {
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory of the package");
            fs::write(path, text).expect("a file of the package");
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("its mode");
        };
        let about = format!(
            "Package: {name}\nVersion: {version}\nArchitecture: all\nInstalled-Size: 8\n\
             Maintainer: Test <test@example.invalid>\n{fields}Description: a package of a test\n"
        );
        write(&control.join("control"), &about, 0o644);
        for (script, text) in &self.scripts {
            write(&control.join(script), text, 0o755);
        }
        let mut listed = String::new();
        for (path, content) in &self.conffiles {
            write(&root.join(path.trim_start_matches('/')), content, 0o644);
            listed.extend([path, "\n"]);
        }
        if !listed.is_empty() {
            write(&control.join("conffiles"), &listed, 0o644);
        }
        fs::set_permissions(&control, fs::Permissions::from_mode(0o755)).expect("its mode");
        let deb = into.join(format!("{name}_{version}_all.deb"));
        let built = Command::new("dpkg-deb")
            .args(["--root-owner-group", "--build"])
            .args([&root, &deb])
            .output()
            .expect("dpkg-deb starts");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        deb
    }
}

/// A repository beside the machine's own.
#[derive(Debug, Clone, Copy)]
pub struct Repository<'a> {
    /// Its directory below /srv, and the name of its file of sources.
    pub name: &'a str,
    /// Origin and label in its Release file.
    pub label: &'a str,
    /// A further line of its entry, such as `Trusted: yes`: it is not signed.
    pub option: &'a str,
}

impl Machine {
    /// Puts such a repository and its entry into the machine. Call `package.update` before using it.
    ///
    /// # Panics
    /// When that fails.
    pub fn offer(&self, repository: Repository<'_>, packages: &[Package]) {
        let Repository { name, label, option } = repository;
        let stage = self.stage(name);
        for package in packages {
            let deb = package.build(&stage);
            let file = deb.file_name().and_then(|name| name.to_str()).expect("a name");
            self.copy_in(&deb, &format!("/srv/{name}/{file}"));
        }
        fs::remove_dir_all(&stage).expect("the packages' directory");
        let _ = self
            .shell(&format!(
                "cd /srv/{name}; chmod 0755 .; chmod 0644 *.deb; apt-ftparchive packages . >Packages
                 apt-ftparchive -o APT::FTPArchive::Release::Origin={label} -o APT::FTPArchive::Release::Label={label} \
                     -o APT::FTPArchive::Release::Suite=local release . >Release.new
                 mv Release.new Release
                 printf 'Types: deb\\nURIs: file:/srv/{name}\\nSuites: ./\\n{option}\\n' >/etc/apt/sources.list.d/{name}.sources"
            ))
            .ok();
    }
}

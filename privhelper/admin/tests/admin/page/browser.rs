//! Headless Chromium without network: no host name resolves.

use nix::unistd::geteuid;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Flags of every run.
const FLAGS: [&str; 6] = [
    "--headless=new",
    "--disable-gpu",
    "--no-first-run",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--virtual-time-budget=5000",
];

/// A browser with a profile of its own.
pub struct Browser {
    directory: TempDir,
}

impl Browser {
    pub fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    /// Opens a page with these flags, and returns what the browser printed.
    fn open(&self, page: &str, flags: &[String]) -> String {
        let file = self.directory.path().join("page.html");
        fs::write(&file, page).unwrap();
        let profile = format!("--user-data-dir={}", self.directory.path().join("profile").display());
        // Its own sandbox does not work for root.
        let sandbox = geteuid().is_root().then_some("--no-sandbox");
        let output = Command::new("timeout")
            .args(["--kill-after=5", "60", "chromium"])
            .args(FLAGS)
            .args(sandbox)
            .arg(profile)
            .args(flags)
            .arg(format!("file://{}", file.display()))
            .output()
            .expect("timeout");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "chromium (apt-get install chromium): {}: {said}", output.status);
        String::from_utf8(output.stdout).unwrap()
    }

    /// The document as it is after loading.
    pub fn dom(&self, page: &str) -> String {
        let dom = self.open(page, &["--dump-dom".to_owned()]);
        assert!(dom.contains("</html>"), "{dom}");
        dom
    }

    /// Returns the URLs that the page requested, from the browser's network log.
    pub fn requests(&self, page: &str) -> Vec<String> {
        let log = self.directory.path().join("net.json");
        self.open(page, &["--dump-dom".to_owned(), format!("--log-net-log={}", log.display())]);
        let log: Value = serde_json::from_slice(&fs::read(log).unwrap()).unwrap();
        let start = log["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"].clone();
        let events = log["events"].as_array().unwrap();
        assert!(start.is_u64() && !events.is_empty());
        // The browser's own requests have no origin, and the event at a request's end has no URL.
        let of_page =
            |event: &&Value| event["type"] == start && event["params"]["initiator"] != "not an origin";
        let urls = events.iter().filter(of_page).filter_map(|event| event["params"]["url"].as_str());
        urls.filter(|url| !url.starts_with("file:")).map(str::to_owned).collect()
    }

    /// A picture of the page.
    pub fn picture(&self, page: &str, (width, height): (u32, u32), scheme: Scheme, to: &Path) -> Vec<u8> {
        let mut flags = scheme.flags();
        flags.push(format!("--window-size={width},{height}"));
        flags.push(format!("--screenshot={}", to.display()));
        self.open(page, &flags);
        let png = fs::read(to).unwrap();
        let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        assert_eq!(&png[1..4], b"PNG");
        assert_eq!((number(16), number(20)), (width, height), "{}", to.display());
        png
    }

    /// The page on paper.
    pub fn paper(&self, page: &str, to: &Path) -> Vec<u8> {
        self.open(page, &[format!("--print-to-pdf={}", to.display()), "--no-pdf-header-footer".to_owned()]);
        fs::read(to).unwrap()
    }

    /// Evaluates `of`, an expression of the document `d`, with the page in a frame `width` pixels wide.
    pub fn measure(&self, page: &str, width: u32, scheme: Scheme, of: &str) -> Value {
        let text = page.replace('&', "&amp;").replace('"', "&quot;");
        let frame = format!(
            "<iframe id=f style='border:0;width:{width}px;height:3000px' srcdoc=\"{text}\"></iframe>"
        );
        let script = format!(
            "addEventListener('load', () => {{ const d = f.contentDocument; document.title = JSON.stringify({of}); }})"
        );
        let outer = format!("<!doctype html><body style='margin:0'>{frame}<script>{script}</script>");
        let mut flags = scheme.flags();
        flags.push("--dump-dom".to_owned());
        let dom = self.open(&outer, &flags);
        let title = dom.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next());
        let title = title.unwrap_or_else(|| panic!("the script found nothing: {dom}"));
        serde_json::from_str(&title.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")).unwrap()
    }
}

/// Value of `prefers-color-scheme`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    Light,
    Dark,
}

impl Scheme {
    fn flags(self) -> Vec<String> {
        let number = match self {
            Self::Dark => 0,
            Self::Light => 1,
        };
        vec![format!("--blink-settings=preferredColorScheme={number}")]
    }
}

/// Where pictures stay, so that a person can look at them.
pub fn album() -> PathBuf {
    let album = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report-page");
    fs::create_dir_all(&album).unwrap();
    album
}

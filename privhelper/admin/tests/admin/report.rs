//! `policy report` says all that is granted, to whom, how far, and how often it was used.

use crate::site;

#[test]
fn prints() {
    let ran = site::host().run(&["policy", "report", "--host", "web-01"]);
    println!("{}", ran.out);
    std::fs::write("/tmp/report.html", site::host().run(&["policy", "report", "--host", "web-01", "--format", "html"]).out).unwrap();
    std::fs::write("/tmp/report.md", site::host().run(&["policy", "report", "--host", "web-01", "--format", "md"]).out).unwrap();
}

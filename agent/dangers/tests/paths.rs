//! Which writes are found dangerous, and why.

use postern_dangers::of_write;

fn row(path: &str, written: &[&str]) -> Option<&'static str> {
    of_write(path, written).map(|row| row.id)
}

#[test]
fn finds_paths_by_name_by_star_and_at_any_depth() {
    for (path, id) in [
        ("/etc/cron.d/backup", "cron"),
        ("/etc/crontab", "cron"),
        ("/etc/rc3.d/S01x", "init-scripts"),
        ("/etc/initramfs-tools/hooks/deep/below", "initramfs"),
        ("/etc/sudoers.d/x", "sudoers"),
        ("/etc/passwd", "accounts"),
    ] {
        assert_eq!(row(path, &[]), Some(id), "{path}");
    }
}

#[test]
fn leaves_other_paths_alone() {
    for path in
        ["/etc/cron.d", "/etc/crontab.bak", "/etc/hostname", "/srv/etc/crontab", "/etc", "", "etc/crontab"]
    {
        assert_eq!(row(path, &[]), None, "{path}");
    }
}

#[test]
fn row_of_certain_lines_needs_one_of_them() {
    let path = "/etc/nginx/nginx.conf";
    assert_eq!(row(path, &["listen 80;", "root /srv;"]), None);
    assert_eq!(row(path, &["listen 80;", "load_module modules/x.so;"]), Some("nginx-load-module"));
    assert_eq!(row(path, &[]), None);
}

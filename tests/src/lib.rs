//! The machine that whole-system tests act on: a throwaway Debian with a real systemd, booted by
//! `deploy/machine`, and Postern installed in it from the Debian package.
//!
//! Everything here panics on a fault of the *machine* that a test cannot handle (it does not
//! boot, a file cannot be copied). Answers of the *product* are returned as an [`Output`] and judged
//! by the test.
//!
//! ```no_run
//! use postern_tests::{Installed, Release};
//!
//! let host = Installed::on(Release::Bookworm);
//! let answer = host.visitor(&["postern", "can"]);
//! assert_eq!(answer.code, 0, "{answer}");
//! ```

mod installed;
mod machine;
mod output;
mod package;

pub use installed::{Installed, deb};
pub use machine::{Machine, Release};
pub use output::Output;
pub use package::{Package, Repository};

/// Writes one `#[test]` a Debian release for each function that takes a [`Release`].
#[macro_export]
macro_rules! on_each_release {
    ($($test:ident),+ $(,)?) => {
        mod bookworm {
            $(#[test]
            fn $test() {
                super::$test($crate::Release::Bookworm);
            })+
        }
        mod trixie {
            $(#[test]
            fn $test() {
                super::$test($crate::Release::Trixie);
            })+
        }
    };
}

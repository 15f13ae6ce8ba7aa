//! One file a verb, the same five parts in the same order.

pub mod command_run;
pub mod file_change;
pub mod file_list;
pub mod file_read;
pub mod package_install;
pub mod package_show;
pub mod package_update;
pub mod policy_describe;
pub mod request_result;
pub mod request_undo;
pub mod unit_change;
pub mod unit_daemon_reload;
pub mod unit_status;

//! One `[[client]]`: a user or a group.

use super::table::{At, Table};
use super::{keys, values};
use postern_proto::root::v1 as root;

/// A client as far as it could be read: its table, its name, its compiled form.
pub type ParsedClient<'a> = (Table<'a>, At<&'a str>, root::Client);

/// Reads a client and reports what is wrong with it. One without a name is left out.
#[must_use]
pub fn parse(table: Table<'_>) -> Option<ParsedClient<'_>> {
    table.check_keys(keys::CLIENT);
    let name = table.required("name")?;
    if !values::is_id(name.value) {
        table.error(
            name.at,
            format!("{:?} is not a valid client name: use 1 to 64 of a-z, 0-9 and '-'", name.value),
        );
    }
    let (user, group) = (table.text("user"), table.text("group"));
    match (table.place("user"), table.place("group")) {
        (None, None) => table.error(table.at, "the client needs a `user` or a `group`"),
        (Some(_), Some(at)) => table.error(at, "the client has a `user` and a `group`: write two clients"),
        (Some(_), None) | (None, Some(_)) => {}
    }
    for (key, text) in [("user", user), ("group", group)] {
        if let Some(text) = text
            && let Err(invalid) = postern_policy::types::UserName::new("name", text.value)
        {
            table.error(text.at, format!("{:?} as `{key}` {}", text.value, invalid.why));
        }
    }
    let text = |at: Option<At<&str>>| at.map_or_else(String::new, |at| at.value.to_owned());
    Some((table, name, root::Client { name: name.value.to_owned(), user: text(user), group: text(group) }))
}

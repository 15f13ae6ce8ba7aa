//! Schemas of the `OpenAPI` document for types whose form has another source.

use super::tool::Tool;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

impl PartialSchema for Tool {
    /// A tool and its arguments, as the tools' own schemas say.
    fn schema() -> RefOr<Schema> {
        let string = ObjectBuilder::new().schema_type(Type::String);
        let args = ObjectBuilder::new().schema_type(Type::Object);
        let tool = ObjectBuilder::new().property("tool", string).required("tool").property("args", args);
        tool.required("args").into()
    }
}

impl ToSchema for Tool {}

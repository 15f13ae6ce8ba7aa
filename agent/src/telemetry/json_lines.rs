//! Writes spans as OTLP's own JSON, a message a line, as the file exporter of OpenTelemetry's collector does.
//! Source: <https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/>.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Bytes after which a file becomes `FILE.1`, in the place of an earlier one.
const FILE_LIMIT: u64 = 64 << 20;

/// A file with mode 0600, or standard output.
#[derive(Debug)]
pub struct JsonLines {
    /// None: standard output.
    file: Option<Mutex<Lines>>,
    resource: ResourceAttributesWithSchema,
}

#[derive(Debug)]
struct Lines {
    path: PathBuf,
    file: File,
}

impl JsonLines {
    /// Opens the file for appending; `/dev/stdout` is standard output.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: &Path) -> Result<Self, String> {
        let file = if path == Path::new("/dev/stdout") {
            None
        } else {
            let file =
                append(path).map_err(|why| format!("cannot write spans to {}: {why}", path.display()))?;
            Some(Mutex::new(Lines { path: path.to_owned(), file }))
        };
        Ok(Self { file, resource: ResourceAttributesWithSchema::default() })
    }

    fn write(&self, line: &[u8]) -> io::Result<()> {
        let Some(lines) = &self.file else {
            return io::stdout().lock().write_all(line);
        };
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.file.metadata()?.len() >= FILE_LIMIT {
            let mut old = lines.path.clone().into_os_string();
            old.push(".1");
            fs::rename(&lines.path, old)?;
            lines.file = append(&lines.path)?;
        }
        // One write: a line is whole or is not there.
        lines.file.write_all(line)
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

impl SpanExporter for JsonLines {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let resource_spans = group_spans_by_resource_and_scope(batch, &self.resource);
        let failed = |why: &dyn std::fmt::Display| OTelSdkError::InternalFailure(why.to_string());
        let mut line =
            serde_json::to_vec(&ExportTraceServiceRequest { resource_spans }).map_err(|why| failed(&why))?;
        line.push(b'\n');
        self.write(&line).map_err(|why| failed(&why))
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.resource = resource.into();
    }
}

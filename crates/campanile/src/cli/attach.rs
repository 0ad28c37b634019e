//! Files that go with an alert: handed in before it.

use super::Failure;
use super::client::ApiClient;
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What files are, by the end of their name.
const TYPES: [(&str, &str); 16] = [
    ("wav", "audio/wav"),
    ("mp3", "audio/mpeg"),
    ("ogg", "audio/ogg"),
    ("opus", "audio/ogg"),
    ("flac", "audio/flac"),
    ("m4a", "audio/mp4"),
    ("mp4", "video/mp4"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("svg", "image/svg+xml"),
    ("pdf", "application/pdf"),
    ("json", "application/json"),
    ("xml", "application/xml"),
    ("html", "text/html"),
    ("txt", "text/plain"),
];
/// Everything else.
const TYPE_DEFAULT: &str = "application/octet-stream";

/// Hands files in; what the alert says of them.
pub(super) async fn upload(client: &ApiClient, files: &[PathBuf]) -> Result<Value, Failure> {
    let mut attachments = Vec::with_capacity(files.len());
    for path in files {
        let fails = |why: String| Failure::Failed(format!("--attach {}: {why}", path.display()));
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| fails("has no name in UTF-8".to_owned()))?;
        if path.is_dir() {
            return Err(fails("is a folder: attach the files in it".to_owned()));
        }
        let file = tokio::fs::File::open(path).await.map_err(|error| fails(error.to_string()))?;
        let request = client.request(Method::POST, "/api/v1/attachments").header(CONTENT_TYPE, TYPE_DEFAULT);
        let stored = client.json(request.body(file)).await?;
        attachments.push(json!({"id": stored["id"], "name": name, "type": media_type(path)}));
    }
    Ok(Value::Array(attachments))
}

fn media_type(path: &Path) -> &'static str {
    let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default().to_ascii_lowercase();
    TYPES.iter().find(|(known, _)| *known == end).map_or(TYPE_DEFAULT, |(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_files_type_is_told_by_the_end_of_its_name() {
        for (name, expected) in [
            ("tone.wav", "audio/wav"),
            ("MAP.PNG", "image/png"),
            ("x", TYPE_DEFAULT),
            ("a.tar.gz", TYPE_DEFAULT),
        ] {
            assert_eq!(media_type(Path::new(name)), expected, "{name}");
        }
    }
}

//! `campanile recipients erase` and `page`: a person's rights.

use super::args::{FormatArgs, ServerArgs};
use super::client::{ApiClient, segment};
use super::{Outcome, print};
use clap::Args;
use serde_json::Value;

#[derive(Debug, Args)]
pub(crate) struct EraseArgs {
    /// Id of the recipient
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    format: FormatArgs,
    #[command(flatten)]
    server: ServerArgs,
}

pub(super) async fn erase(erase: EraseArgs) -> Outcome {
    let client = ApiClient::new(&erase.server)?;
    let path = format!("/api/v1/recipients/{}:erase", segment(&erase.id));
    let erased = client.post(&path, None).await?;
    if erase.format.is_json() {
        return print(&format!("{erased}\n"));
    }
    print(&told(&erased))
}

#[derive(Debug, Args)]
pub(crate) struct PageArgs {
    /// Id of the recipient
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    format: FormatArgs,
    #[command(flatten)]
    server: ServerArgs,
}

pub(super) async fn page(page: PageArgs) -> Outcome {
    let client = ApiClient::new(&page.server)?;
    let path = format!("/api/v1/recipients/{}:page-link", segment(&page.id));
    let link = client.post(&path, None).await?;
    if page.format.is_json() {
        return print(&format!("{link}\n"));
    }
    let part = |key: &str| link[key].as_str().unwrap_or_default().to_owned();
    print(&format!("{}\nholds until {}\n", part("url"), part("expires")))
}

/// What became of it, for people.
fn told(erased: &Value) -> String {
    let count = |key: &str| erased[key].as_u64().unwrap_or(0);
    let record =
        if erased["record"] == true { "the record is erased" } else { "there was no record any more" };
    let mut text = format!(
        "{record}; removed from {} groups, {} alerts, {} exported files, {} entries of the audit trail\n",
        count("groups"),
        count("alerts"),
        count("exports"),
        count("audit")
    );
    if count("waiting") > 0 {
        text += &format!(
            "{} alerts have not ended: the server goes through them when they have\n",
            count("waiting")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn alerts_that_have_not_ended_are_told_apart() {
        let mut erased =
            json!({"record": true, "groups": 1, "alerts": 2, "waiting": 0, "exports": 0, "audit": 3});
        assert!(!told(&erased).contains("have not ended"));
        (erased["waiting"], erased["record"]) = (json!(1), json!(false));
        let text = told(&erased);
        assert!(text.starts_with("there was no record any more; removed from 1 groups, 2 alerts"), "{text}");
        assert!(text.contains("1 alerts have not ended"), "{text}");
    }
}

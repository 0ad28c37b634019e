//! Alert documents out of the store, for gateways that send all of an alert.

use futures_util::future::BoxFuture;
use gateway::{AlertDocuments, AttachedFile, DocumentSet, NoDocuments};
use records::{Alert, AlertNo, Attachment, Mode, Priority, Timestamp};
use store::SharedStore;
use store::media::Media;

/// Alerts in the store.
pub(crate) struct StoredDocuments {
    pub(crate) store: SharedStore,
    pub(crate) media: Media,
}

impl AlertDocuments for StoredDocuments {
    fn documents(&self, alert: AlertNo) -> BoxFuture<'_, Result<DocumentSet, NoDocuments>> {
        Box::pin(async move {
            let found = self.store.alert_by_no(alert).await;
            let found = found.map_err(|error| NoDocuments { permanent: false, why: error.to_string() })?;
            let gone = || NoDocuments { permanent: true, why: "the alert is not kept any more".to_owned() };
            self.of(&found.ok_or_else(gone)?)
        })
    }
}

impl StoredDocuments {
    fn of(&self, alert: &Alert) -> Result<DocumentSet, NoDocuments> {
        let request = &alert.request;
        let cap = doors::http::cap_document(alert).map_err(|why| NoDocuments { permanent: true, why })?;
        Ok(DocumentSet {
            cap,
            headline: request.headline.clone(),
            mode: if request.mode == Mode::Drill { "drill" } else { "live" },
            priority: match request.priority {
                Priority::Emergency => "emergency",
                Priority::Urgent => "urgent",
                Priority::Routine => "routine",
            },
            sent: rfc3339(alert.created),
            expires: rfc3339(request.expires),
            links: request.resources.clone(),
            attachments: request.attachments.iter().filter_map(|one| self.attached(one)).collect(),
        })
    }
}

impl StoredDocuments {
    /// Nothing only where a record names no file at all.
    fn attached(&self, one: &Attachment) -> Option<AttachedFile> {
        Some(AttachedFile {
            name: one.name.clone(),
            media_type: one.media_type.clone(),
            size: one.size,
            blake3: one.blake3.clone(),
            file: self.media.path(&one.blake3)?,
        })
    }
}

pub(crate) fn rfc3339(at: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(at.0).map_or_else(|_| String::new(), |at| at.to_string())
}

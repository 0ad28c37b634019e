//! What alerts consist of, for gateways that send all of it.

use futures_util::future::BoxFuture;
use gateway::edge::{AlertPapers, NoPapers, Papers};
use records::{Alert, AlertNo, Mode, Priority, Timestamp};
use store::SharedStore;

/// Alerts in the store.
pub(crate) struct StoredPapers {
    pub(crate) store: SharedStore,
}

impl Papers for StoredPapers {
    fn papers(&self, alert: AlertNo) -> BoxFuture<'_, Result<AlertPapers, NoPapers>> {
        Box::pin(async move {
            let found = self.store.alert_by_no(alert).await;
            let found = found.map_err(|error| NoPapers { permanent: false, why: error.to_string() })?;
            let gone = || NoPapers { permanent: true, why: "the alert is not kept any more".to_owned() };
            self.of(&found.ok_or_else(gone)?)
        })
    }
}

impl StoredPapers {
    fn of(&self, alert: &Alert) -> Result<AlertPapers, NoPapers> {
        let request = &alert.request;
        let cap = doors::http::cap_document(alert).map_err(|why| NoPapers { permanent: true, why })?;
        Ok(AlertPapers {
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
            attachments: Vec::new(),
        })
    }
}

fn rfc3339(at: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(at.0).map_or_else(|_| String::new(), |at| at.to_string())
}

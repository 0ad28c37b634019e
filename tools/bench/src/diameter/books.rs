//! After a run: every account against the verified answers, and the audit of the ledger.

use super::{BALANCE, request};
use ledger::books::{Books, PAGE_MAX};
use ledger::{Ledger, Options, audit};
use std::collections::HashMap;
use std::path::Path;

/// How many accounts differ from what the verified answers say; the audit of the whole ledger must be exact.
pub(super) async fn check_books(folder: &Path, charged: &[u64]) -> Result<u64, String> {
    let folder = folder.join("data").join("ledger");
    let (audited, opened) = (folder.clone(), Options::new(&folder));
    let audit = tokio::task::spawn_blocking(move || audit::audit(&audited)).await;
    let audit =
        audit.map_err(|error| error.to_string())?.map_err(|refusal| format!("the audit: {refusal}"))?;
    let mut wrong = audit.discrepancies;
    let ledger = tokio::task::spawn_blocking(move || Ledger::open(&opened)).await;
    let ledger =
        ledger.map_err(|error| error.to_string())?.map_err(|refusal| format!("the ledger: {refusal}"))?;
    let books = Books::new(ledger.clone(), &folder);
    let wanted: HashMap<String, u64> = charged
        .iter()
        .enumerate()
        .map(|(n, charged)| (format!("e164:{}", request::account_number(n as u32)), *charged))
        .collect();
    let (mut seen, mut from) = (0, Some(0));
    while let Some(place) = from {
        let (page, next) = books.page(place, PAGE_MAX).await.map_err(|error| error.to_string())?;
        for account in page {
            let charged = wanted.get(&account.id.to_string()).copied().unwrap_or(0);
            let is_right = i128::from(account.used) == i128::from(charged)
                && account.balance == BALANCE - account.used
                && account.reserved == 0;
            if !is_right && wrong == 0 {
                eprintln!("{}: used {}, and verified answers say {charged}", account.id, account.used);
            }
            wrong += u64::from(!is_right);
            seen += u64::from(charged > 0);
        }
        from = next;
    }
    let missing = charged.iter().filter(|charged| **charged > 0).count() as u64 - seen;
    tokio::task::spawn_blocking(move || ledger.stop()).await.map_err(|error| error.to_string())?;
    Ok(wrong + missing)
}

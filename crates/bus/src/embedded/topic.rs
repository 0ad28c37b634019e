use super::log::{Log, Rule};
use crate::{BusError, Keyed, Record, Topic};
use futures_util::future::BoxFuture;

/// What a group stands on.
pub(super) trait Source: Topic {
    /// The topic's name.
    fn name(&self) -> &str;
    /// It has stopped for good.
    fn is_stopped(&self) -> bool;
    /// Appends on this thread; on return it is as durable as was promised.
    fn append_now(&self, rule: Rule<'_>, records: &[&[u8]]) -> Result<u64, BusError>;
}

impl Source for Log {
    fn name(&self) -> &str {
        Log::name(self)
    }

    fn is_stopped(&self) -> bool {
        Log::is_stopped(self)
    }

    fn append_now(&self, rule: Rule<'_>, records: &[&[u8]]) -> Result<u64, BusError> {
        let (written, _) = self.write_promised(rule, records)?;
        if Log::head(self) < written.end {
            self.sync()?;
        }
        Ok(written.first)
    }
}

/// A topic is a log, and the log itself is shared.
impl Topic for Log {
    fn append<'a>(&'a self, records: &'a [&'a [u8]]) -> BoxFuture<'a, Result<u64, BusError>> {
        Box::pin(async move {
            let (written, _) = self.write_promised(Rule::Any, records)?;
            self.promised(written.end).await?;
            Ok(written.first)
        })
    }

    fn append_keyed<'a>(
        &'a self,
        key: &'a [u8],
        records: &'a [&'a [u8]],
    ) -> BoxFuture<'a, Result<Keyed, BusError>> {
        Box::pin(async move {
            let (written, repeated) = self.write_promised(Rule::Key(key), records)?;
            self.promised(written.end).await?;
            Ok(Keyed { first: written.first, repeated })
        })
    }

    fn append_at<'a>(&'a self, head: u64, records: &'a [&'a [u8]]) -> BoxFuture<'a, Result<u64, BusError>> {
        Box::pin(async move {
            let (written, _) = self.write_promised(Rule::Head(head), records)?;
            self.promised(written.end).await?;
            Ok(written.first)
        })
    }

    fn fetch(
        &self,
        from: u64,
        records_max: usize,
        octets_max: usize,
    ) -> BoxFuture<'_, Result<Vec<Record>, BusError>> {
        Box::pin(async move { Log::read(self, from, records_max, octets_max) })
    }

    fn read(&self, from: u64, records_max: usize, octets_max: usize) -> Result<Vec<Record>, BusError> {
        Log::read(self, from, records_max, octets_max)
    }

    fn readable(&self, index: u64) -> BoxFuture<'static, ()> {
        let mut progress = self.progress();
        Box::pin(async move {
            // An error means that the bus is gone: then there is nothing to wait for.
            let _ = progress.wait_for(|progress| progress.head > index || progress.stopped.is_some()).await;
        })
    }

    fn low(&self) -> u64 {
        Log::low(self)
    }

    fn head(&self) -> u64 {
        Log::head(self)
    }

    fn latest(&self) -> BoxFuture<'_, Result<u64, BusError>> {
        Box::pin(async move {
            let end = self.end();
            self.promised(end).await?;
            Ok(end)
        })
    }

    fn trim(&self, below: u64) -> Result<(), BusError> {
        Log::trim(self, below)
    }
}

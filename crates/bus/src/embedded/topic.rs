use super::log::{DurabilityRule, Log, Promised};
use crate::{BusError, Keyed, Record, Topic};
use futures_util::future::BoxFuture;

/// What a group stands on.
pub(super) trait GroupSource: Topic {
    /// The topic's name.
    fn name(&self) -> &str;
    /// It has stopped for good.
    fn is_stopped(&self) -> bool;
    /// Appends on this thread; on return it is as durable as was promised.
    fn append_now(&self, rule: DurabilityRule<'_>, records: &[&[u8]]) -> Result<u64, BusError>;
}

impl GroupSource for Log {
    fn name(&self) -> &str {
        Log::name(self)
    }

    fn is_stopped(&self) -> bool {
        Log::is_stopped(self)
    }

    fn append_now(&self, rule: DurabilityRule<'_>, records: &[&[u8]]) -> Result<u64, BusError> {
        let Promised { written, staged_result, .. } = self.write_promised(rule, records)?;
        if Log::head(self) < written.end {
            self.sync()?;
        }
        match staged_result.as_ref().and_then(|staged_result| staged_result.get()) {
            Some(error) => Err(error.clone()),
            None => Ok(written.first),
        }
    }
}

impl Log {
    async fn append_by(&self, rule: DurabilityRule<'_>, records: &[&[u8]]) -> Result<Keyed, BusError> {
        let Promised { written, repeated, staged_result } = self.write_promised(rule, records)?;
        self.promised(written.end, staged_result.as_ref()).await?;
        Ok(Keyed { first: written.first, repeated })
    }
}

/// A topic is a log, and the log itself is shared.
impl Topic for Log {
    fn append<'a>(&'a self, records: &'a [&'a [u8]]) -> BoxFuture<'a, Result<u64, BusError>> {
        Box::pin(async move { Ok(self.append_by(DurabilityRule::Any, records).await?.first) })
    }

    fn append_keyed<'a>(
        &'a self,
        key: &'a [u8],
        records: &'a [&'a [u8]],
    ) -> BoxFuture<'a, Result<Keyed, BusError>> {
        Box::pin(async move { self.append_by(DurabilityRule::Key(key), records).await })
    }

    fn append_at<'a>(&'a self, head: u64, records: &'a [&'a [u8]]) -> BoxFuture<'a, Result<u64, BusError>> {
        Box::pin(async move { Ok(self.append_by(DurabilityRule::Head(head), records).await?.first) })
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

    fn glance(&self, index: u64, show: &mut dyn FnMut(Option<&[u8]>)) -> bool {
        Log::glance(self, index, show)
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
            loop {
                let (end, staged_result) = self.end();
                match self.promised(end, staged_result.as_ref()).await {
                    // What was taken back was never there.
                    Err(_) if staged_result.is_some_and(|staged_result| staged_result.get().is_some()) => {}
                    reached => return reached.map(|()| end),
                }
            }
        })
    }

    fn trim(&self, below: u64) -> Result<(), BusError> {
        Log::trim(self, below)
    }
}

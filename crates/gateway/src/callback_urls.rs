//! Signed URLs of this server by which endpoints and carriers report back.

use records::{AlertNo, CallbackPurpose, EndpointNo};

/// Makes them. The HTTP door, which reads them, has the key.
pub trait CallbackUrls: Send + Sync {
    /// Where the endpoint of a delivery reports its state and answers; nothing if this server has no public
    /// address.
    fn delivery(&self, alert: AlertNo, endpoint: EndpointNo) -> Option<String>;

    /// Where the carrier of a route posts receipts or messages from people; nothing if this server has no
    /// public address.
    fn route(&self, route: &str, purpose: CallbackPurpose) -> Option<String>;
}

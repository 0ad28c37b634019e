//! Bulk requests (RFC 7644 3.7) are not supported, and ServiceProviderConfig says so.

use crate::ScimError;

/// The answer to `POST /Bulk`: 501, as RFC 7644 3.12 has it for an operation that is not supported.
pub fn refusal() -> ScimError {
    ScimError::not_implemented(
        "bulk requests are not supported (bulk.supported of /ServiceProviderConfig is false): \
         send each operation as a request of its own",
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_bulk_request_is_refused_as_the_service_provider_configuration_says() {
        assert_eq!(super::refusal().status, 501);
        assert_eq!(super::refusal().to_json()["status"], "501");
        let config = crate::schema::service_provider_config("https://a.example/scim/v2", None);
        assert_eq!(config["bulk"]["supported"], false);
    }
}

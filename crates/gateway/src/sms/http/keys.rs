//! Keys of an SMS route by HTTP, and its settings made of them.

use super::config::{HttpRequest, HttpSmsRoute, InboundNames, ReceiptNames, ResponseNames};
use crate::context::RouteProblem;
use crate::http_calls::headers::{HeaderFormat, HeaderLines};
use crate::route_keys::RouteKeys;
use crate::sms::keys::SmsKeys;
use crate::surroundings::Surroundings;
use records::Mode;
use settings::{Secret, section, words};

words! {
    /// Protocols of carriers of short messages.
    SmsProtocol {
        /// SMPP.
        Smpp = "smpp",
        /// HTTP: one request a message.
        Http = "http",
    }
}

section! {
    /// The request of a message.
    SmsRequest {
        /// `"POST"`, `"PUT"` or `"GET"`.
        method: String = "POST".to_owned(),
        /// Its URL. Names may stand behind the host only.
        #[manual(required, example = "https://sms.carrier.example/v1/messages")]
        url: Secret = Secret::default(),
        /// Header lines. Their values are shown nowhere.
        #[manual(default = "none", example = ["Authorization: Bearer secret"])]
        headers: HeaderLines as HeaderFormat = HeaderLines::new(),
        /// Its body; without a `Content-Type` in `headers` it is `application/json`.
        #[manual(default = "none", example = "{\"to\": \"{{ to }}\", \"from\": \"{{ from }}\", \"text\": \"{{ text }}\"}")]
        body: Option<String> = None,
    }
}

section! {
    /// The meaning of a carrier's response.
    SmsResponse {
        /// Path of the carrier's id of the message.
        #[manual(default = "none: receipts repeat our `id`", example = "/messages/0/id")]
        id: Option<String> = None,
        /// Path of a value that says what became of the message.
        #[manual(default = "none: the HTTP status decides", example = "status")]
        state: Option<String> = None,
        /// Path of the carrier's words for it.
        #[manual(default = "none", example = "/error/text")]
        text: Option<String> = None,
        /// Values of `state` that mean accepted; a 2xx with a value in no list is unknown.
        #[manual(example = ["queued", "0"])]
        accepted: Vec<String> = Vec::new(),
        /// Values of `state` that mean refused for good.
        #[manual(example = ["invalid_number"])]
        refused: Vec<String> = Vec::new(),
        /// Values of `state` that mean refused for now.
        #[manual(example = ["busy"])]
        temporary: Vec<String> = Vec::new(),
    }
}

section! {
    /// The fields of a receipt.
    SmsReceipt {
        /// Path of the list, where several come in one post; the other paths are below each of its items.
        #[manual(default = "none: one a post", example = "/results")]
        items: Option<String> = None,
        /// Path of the id: the carrier's, as in the response.
        #[manual(example = "messageId")]
        id: String = "id".to_owned(),
        /// Path of the state.
        state: String = "state".to_owned(),
        /// Path of the carrier's words or error code.
        #[manual(default = "none", example = "error")]
        text: Option<String> = None,
        /// States of a delivered message.
        delivered: Vec<String> = ["delivered", "DELIVRD"].map(str::to_owned).to_vec(),
        /// States of a message that will not arrive.
        failed: Vec<String> = ["failed", "undelivered", "rejected", "UNDELIV", "REJECTD"].map(str::to_owned).to_vec(),
        /// States of a message whose time ran out.
        expired: Vec<String> = ["expired"].map(str::to_owned).to_vec(),
    }
}

section! {
    /// The fields of a message from a person.
    SmsInbound {
        /// Path of the list, where several come in one post; the other paths are below each of its items.
        #[manual(default = "none: one a post", example = "/results")]
        items: Option<String> = None,
        /// Path of the person's number.
        from: String = "from".to_owned(),
        /// Path of our number.
        to: String = "to".to_owned(),
        /// Path of the text.
        text: String = "text".to_owned(),
    }
}

impl SmsKeys {
    /// Settings of an HTTP route with these keys.
    ///
    /// # Errors
    /// There is no `request`.
    pub(in crate::sms) fn http_route(
        &self,
        common: &RouteKeys,
        around: &Surroundings,
    ) -> Result<HttpSmsRoute, RouteProblem> {
        let Some(request) = &self.request else {
            let reason = "is needed with protocol = \"http\": the request of a message".to_owned();
            return Err(RouteProblem { field: "request", reason });
        };
        Ok(HttpSmsRoute {
            name: common.name.clone(),
            rate: common.rate,
            drill: common.mode == Some(Mode::Drill),
            validity_s: common.validity_s(),
            from: self.source.addr.clone(),
            connections: self.connections,
            timeout: self.response_timeout,
            connect_timeout: self.connect_timeout,
            ca_file: self.ca_file.as_ref().map(|file| around.below(file)),
            request: HttpRequest {
                method: request.method.clone(),
                url: request.url.clone(),
                headers: request.headers.clone(),
                body: request.body.clone(),
            },
            response: response(&self.response),
            receipt: receipt(&self.receipt),
            inbound: InboundNames {
                items: self.inbound.items.clone(),
                from: self.inbound.from.clone(),
                to: self.inbound.to.clone(),
                text: self.inbound.text.clone(),
            },
        })
    }

    /// A key of HTTP routes that an SMPP route has.
    pub(in crate::sms) fn http_alone(&self) -> Option<RouteProblem> {
        let reason = || "has no effect with protocol = \"smpp\"".to_owned();
        self.request.as_ref().map(|_| RouteProblem { field: "request", reason: reason() })
    }
}

fn response(keys: &SmsResponse) -> ResponseNames {
    ResponseNames {
        id: keys.id.clone(),
        state: keys.state.clone(),
        text: keys.text.clone(),
        accepted: keys.accepted.clone(),
        refused: keys.refused.clone(),
        temporary: keys.temporary.clone(),
    }
}

fn receipt(keys: &SmsReceipt) -> ReceiptNames {
    ReceiptNames {
        items: keys.items.clone(),
        id: keys.id.clone(),
        state: keys.state.clone(),
        text: keys.text.clone(),
        delivered: keys.delivered.clone(),
        failed: keys.failed.clone(),
        expired: keys.expired.clone(),
    }
}

#[cfg(test)]
mod tests {
    use crate::sms::keys::SmsKeys;
    use settings::{NodeValue, Problems, Section, Table};

    /// The manual's examples together are a route that can be started.
    #[test]
    fn the_manuals_examples_are_a_route_by_http() {
        let by_http = ["request", "response", "receipt", "inbound"];
        let mut text = "protocol = \"http\"\n".to_owned();
        for key in SmsKeys::outline().keys.iter().filter(|key| by_http.contains(&key.name)) {
            text += &format!("{} = {}\n", key.name, key.example.unwrap());
            let section = key.schema.section().unwrap();
            for below in section.paths() {
                assert!(key.example.unwrap().contains(&format!("{below} =")), "{}.{below}", key.name);
            }
        }
        let mut problems = Problems::new("c.toml");
        let root = settings::parse(&text, &mut problems);
        assert!(matches!(root.kind, NodeValue::Table(_)));
        let table = Table::open(&root, "", &mut problems).unwrap();
        let keys = SmsKeys::read_keys(&table, &mut problems);
        assert!(problems.is_empty(), "{problems:?}");
        let common = crate::route_keys::RouteKeys { name: "carrier".to_owned(), ..Default::default() };
        let around = crate::Surroundings::new(std::path::Path::new("/data"));
        let route = keys.http_route(&common, &around).unwrap();
        assert_eq!(crate::RouteSettings::problems(&route), []);
    }
}

use reqwest::Client;
use std::time::Duration;

/// An answer takes at most so long.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// A platform of the old HTTP way, which says `username=…&password=secret` in front of everything else.
#[derive(Debug, Clone)]
pub struct SendSms {
    client: Client,
    url: String,
    username: String,
}

impl SendSms {
    /// Asks at this address, such as `http://127.0.0.1:13013/cgi-bin/sendsms`.
    pub fn new(url: &str, username: &str) -> SendSms {
        // Whoever was first has chosen for the process.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().timeout(ANSWER_MAX).build().unwrap();
        SendSms { client, url: url.to_owned(), username: username.to_owned() }
    }

    /// The same under another name.
    pub fn named(&self, username: &str) -> SendSms {
        SendSms { username: username.to_owned(), ..self.clone() }
    }

    /// Asks with more parameters, already escaped; status and words of the answer, or why there is none.
    pub async fn try_get(&self, query: &str) -> Result<(u16, String), String> {
        let url = format!("{}?username={}&password=secret&{query}", self.url, self.username);
        let response = self.client.get(&url).send().await.map_err(|error| format!("{url}: {error:?}"))?;
        let status = response.status().as_u16();
        let words = response.text().await.map_err(|error| format!("{url}: {error:?}"))?;
        Ok((status, words))
    }

    /// Asks with more parameters, already escaped; status and words of the answer.
    pub async fn get(&self, query: &str) -> (u16, String) {
        self.try_get(query).await.unwrap_or_else(|error| panic!("{error}"))
    }
}

/// A value of a query: all but letters, digits and `-._~` escaped.
pub fn escaped(value: &str) -> String {
    let escape = |octet: u8| match octet {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(octet).to_string(),
        _ => format!("%{octet:02X}"),
    };
    value.bytes().map(escape).collect()
}

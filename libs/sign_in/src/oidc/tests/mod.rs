//! A provider of our own, with keys made by ring: its tokens are accepted, and each field that is wrong is
//! refused by its name.

mod flow;
mod tokens;

use super::authorization::{AuthorizationWish, SignInAttempt, code_challenge};
use super::discovery::{self, OidcProvider};
use super::id_token::{ExpectedToken, validate};
use super::jwks::{JwkSet, JwsAlgorithm, KeyWanted};
use super::*;
use crate::text::base64url;
use proptest::prelude::*;
use serde_json::{Value, json};

const ISSUER: &str = "https://login.example.org/realm";

fn document() -> Value {
    json!({
        "issuer": ISSUER,
        "authorization_endpoint": "https://login.example.org/realm/auth?kind=a",
        "token_endpoint": "https://login.example.org/realm/token",
        "jwks_uri": "https://login.example.org/realm/keys",
        "end_session_endpoint": "https://login.example.org/realm/logout",
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["plain", "S256"],
        "token_endpoint_auth_methods_supported": ["private_key_jwt", "client_secret_post", "client_secret_basic"],
        "authorization_response_iss_parameter_supported": true,
    })
}

fn read(document: &Value) -> Result<OidcProvider, OidcError> {
    OidcProvider::read(ISSUER, document.to_string().as_bytes())
}

fn client() -> OidcClient {
    OidcClient {
        id: "campanile".to_owned(),
        secret: Some("s3cret/ +".to_owned()),
        redirect_uri: "https://alerts.example.org/auth/oidc/callback".to_owned(),
        method: None,
    }
}

fn attempt() -> SignInAttempt {
    SignInAttempt::new([[1; 32], [2; 32], [3; 32]])
}

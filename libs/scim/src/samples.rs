//! Resources of RFC 7643 section 8, for tests.

use crate::{Object, ResourceKind, resource};
use serde_json::{Value, json};

pub const ENTERPRISE: &str = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
pub const BARBARA: &str = "2819c223-7f76-453a-919d-413861904646";
pub const MANDY: &str = "902c246b-6245-4190-8e05-00816be7344a";

/// Section 8.3, which is 8.2 with the enterprise extension.
pub fn enterprise_user() -> Value {
    json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User", ENTERPRISE],
        "id": BARBARA,
        "externalId": "701984",
        "userName": "bjensen@example.com",
        "name": {
            "formatted": "Ms. Barbara J Jensen, III", "familyName": "Jensen", "givenName": "Barbara",
            "middleName": "Jane", "honorificPrefix": "Ms.", "honorificSuffix": "III"
        },
        "displayName": "Babs Jensen",
        "nickName": "Babs",
        "profileUrl": "https://login.example.com/bjensen",
        "emails": [
            {"value": "bjensen@example.com", "type": "work", "primary": true},
            {"value": "babs@jensen.org", "type": "home"}
        ],
        "addresses": addresses(),
        "phoneNumbers": [
            {"value": "555-555-5555", "type": "work"},
            {"value": "555-555-4444", "type": "mobile"}
        ],
        "ims": [{"value": "someaimhandle", "type": "aim"}],
        "photos": [
            {"value": "https://photos.example.com/profilephoto/72930000000Ccne/F", "type": "photo"},
            {"value": "https://photos.example.com/profilephoto/72930000000Ccne/T", "type": "thumbnail"}
        ],
        "userType": "Employee",
        "title": "Tour Guide",
        "preferredLanguage": "en-US",
        "locale": "en-US",
        "timezone": "America/Los_Angeles",
        "active": true,
        "password": "t1meMa$heen",
        "groups": [
            {
                "value": "e9e30dba-f08f-4109-8486-d5c6a331660a", "display": "Tour Guides",
                "$ref": "https://example.com/v2/Groups/e9e30dba-f08f-4109-8486-d5c6a331660a"
            },
            {
                "value": "fc348aa8-3835-40eb-a20b-c726e15c55b5", "display": "Employees",
                "$ref": "https://example.com/v2/Groups/fc348aa8-3835-40eb-a20b-c726e15c55b5"
            }
        ],
        "x509Certificates": [{"value": "MIIDQzCCAqygAwIBAgICEAAwDQYJKoZIhvcNAQEFBQAwTjELMAkGA1UEBhMCVVMx"}],
        ENTERPRISE: {
            "employeeNumber": "701984", "costCenter": "4130", "organization": "Universal Studios",
            "division": "Theme Park", "department": "Tour Operations",
            "manager": {
                "value": "26118915-6090-4610-87e4-49d8ca9f808d", "displayName": "John Smith",
                "$ref": "https://example.com/v2/Users/26118915-6090-4610-87e4-49d8ca9f808d"
            }
        },
        "meta": {
            "resourceType": "User", "created": "2010-01-23T04:56:22Z", "lastModified": "2011-05-13T04:42:34Z",
            "version": "W/\"3694e05e9dff591\"",
            "location": "https://example.com/v2/Users/2819c223-7f76-453a-919d-413861904646"
        }
    })
}

fn addresses() -> Value {
    json!([
        {
            "streetAddress": "100 Universal City Plaza", "locality": "Hollywood", "region": "CA",
            "postalCode": "91608", "country": "USA", "type": "work", "primary": true,
            "formatted": "100 Universal City Plaza\nHollywood, CA 91608 USA"
        },
        {
            "streetAddress": "456 Hollywood Blvd", "locality": "Hollywood", "region": "CA",
            "postalCode": "91608", "country": "USA", "type": "home",
            "formatted": "456 Hollywood Blvd\nHollywood, CA 91608 USA"
        }
    ])
}

/// Section 8.4.
pub fn tour_guides() -> Value {
    json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Group"],
        "id": "e9e30dba-f08f-4109-8486-d5c6a331660a",
        "displayName": "Tour Guides",
        "members": [
            {
                "value": BARBARA, "display": "Babs Jensen",
                "$ref": "https://example.com/v2/Users/2819c223-7f76-453a-919d-413861904646"
            },
            {
                "value": MANDY, "display": "Mandy Pepperidge",
                "$ref": "https://example.com/v2/Users/902c246b-6245-4190-8e05-00816be7344a"
            }
        ],
        "meta": {
            "resourceType": "Group", "created": "2010-01-23T04:56:22Z", "lastModified": "2011-05-13T04:42:34Z",
            "version": "W/\"3694e05e9dff592\"",
            "location": "https://example.com/v2/Groups/e9e30dba-f08f-4109-8486-d5c6a331660a"
        }
    })
}

/// The sample of a kind as a store holds it: read, with the read-only attributes of the sample.
pub fn stored(kind: ResourceKind) -> Object {
    let sample = match kind {
        ResourceKind::User => enterprise_user(),
        ResourceKind::Group => tour_guides(),
    };
    let read = resource::check(kind, &sample).expect("a sample is a resource");
    resource::replace(kind, sample.as_object().expect("a sample is an object"), read)
        .expect("nothing is immutable")
}

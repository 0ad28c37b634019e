//! User of the core schema (RFC 7643 4.1, 8.7.1).

use super::{AttributeDef, Mutability, Returned, SchemaDef, Uniqueness};

/// `urn:ietf:params:scim:schemas:core:2.0:User`.
pub static USER: SchemaDef = SchemaDef {
    id: "urn:ietf:params:scim:schemas:core:2.0:User",
    name: "User",
    description: "User account",
    attributes: &[
        AttributeDef::text("userName", "Name of the user, unique among all users in any case of letters.")
            .required()
            .unique(Uniqueness::Server),
        AttributeDef::complex("name", "Components of the user's name.", NAME),
        AttributeDef::text("displayName", "Name of the user as it is shown."),
        AttributeDef::text("nickName", "Casual name of the user."),
        AttributeDef::reference("profileUrl", "URL of the user's profile.", &["external"]),
        AttributeDef::text("title", "Title of the user, such as 'Vice President'."),
        AttributeDef::text("userType", "Relation of the user to the organization, such as 'Employee'."),
        AttributeDef::text("preferredLanguage", "Preferred languages, as in the header Accept-Language."),
        AttributeDef::text("locale", "Language tag for dates, numbers and currencies."),
        AttributeDef::text("timezone", "Time zone by its name in the IANA database."),
        AttributeDef::boolean("active", "Administrative status of the user."),
        AttributeDef::text("password", "Password of the user in clear text; never returned.")
            .exact()
            .mutability(Mutability::WriteOnly)
            .returned(Returned::Never),
        AttributeDef::complex("emails", "E-mail addresses of the user.", EMAIL).many(),
        AttributeDef::complex("phoneNumbers", "Phone numbers of the user.", PHONE).many(),
        AttributeDef::complex("ims", "Addresses of the user for instant messages.", IM).many(),
        AttributeDef::complex("photos", "URLs of photos of the user.", PHOTO).many(),
        AttributeDef::complex("addresses", "Postal addresses of the user.", ADDRESS).many(),
        AttributeDef::complex("groups", "Groups that the user belongs to.", GROUP).many().read_only(),
        AttributeDef::complex("entitlements", "Entitlements of the user.", LABEL).many(),
        AttributeDef::complex("roles", "Roles of the user.", LABEL).many(),
        AttributeDef::complex("x509Certificates", "Certificates of the user.", CERTIFICATE).many(),
    ],
};

const DISPLAY: AttributeDef = AttributeDef::text("display", "Name of the value as it is shown.");
const TYPE: AttributeDef = AttributeDef::text("type", "Label of the value's function.");
const PRIMARY: AttributeDef =
    AttributeDef::boolean("primary", "Whether the value is the preferred one; true at most once.");

const NAME: &[AttributeDef] = &[
    AttributeDef::text("formatted", "Full name as it is shown."),
    AttributeDef::text("familyName", "Family name."),
    AttributeDef::text("givenName", "Given name."),
    AttributeDef::text("middleName", "Middle names."),
    AttributeDef::text("honorificPrefix", "Prefixes, such as 'Ms.'."),
    AttributeDef::text("honorificSuffix", "Suffixes, such as 'III'."),
];

const EMAIL: &[AttributeDef] = &[
    AttributeDef::text("value", "E-mail address; its domain is kept in lower case."),
    DISPLAY,
    TYPE.canonical(&["work", "home", "other"]),
    PRIMARY,
];

const PHONE: &[AttributeDef] = &[
    AttributeDef::text("value", "Phone number, best as in RFC 3966: 'tel:+1-201-555-0123'."),
    DISPLAY,
    TYPE.canonical(&["work", "home", "mobile", "fax", "pager", "other"]),
    PRIMARY,
];

const IM: &[AttributeDef] = &[
    AttributeDef::text("value", "Address for instant messages."),
    DISPLAY,
    TYPE.canonical(&["aim", "gtalk", "icq", "xmpp", "msn", "skype", "qq", "yahoo"]),
    PRIMARY,
];

const PHOTO: &[AttributeDef] = &[
    AttributeDef::reference("value", "URL of a photo.", &["external"]),
    DISPLAY,
    TYPE.canonical(&["photo", "thumbnail"]),
    PRIMARY,
];

const ADDRESS: &[AttributeDef] = &[
    AttributeDef::text("formatted", "Full address as it is shown, with line breaks."),
    AttributeDef::text("streetAddress", "Street, house number, post-office box."),
    AttributeDef::text("locality", "City or locality."),
    AttributeDef::text("region", "State or region."),
    AttributeDef::text("postalCode", "Postal code."),
    AttributeDef::text("country", "Country, as in ISO 3166-1 alpha-2."),
    TYPE.canonical(&["work", "home", "other"]),
    PRIMARY,
];

const GROUP: &[AttributeDef] = &[
    AttributeDef::text("value", "Identifier of the group.").exact().read_only(),
    AttributeDef::reference("$ref", "URI of the group.", &["User", "Group"]).read_only(),
    AttributeDef::text("display", "Name of the group.").read_only(),
    AttributeDef::text("type", "Label of the membership.").canonical(&["direct", "indirect"]).read_only(),
];

const LABEL: &[AttributeDef] = &[AttributeDef::text("value", "The value."), DISPLAY, TYPE, PRIMARY];

const CERTIFICATE: &[AttributeDef] =
    &[AttributeDef::binary("value", "Certificate in DER, in base64."), DISPLAY, TYPE, PRIMARY];

//! Attributes of the schemas as data, and the documents that describe them (RFC 7643 3, 4, 7, 8.7).

mod definitions;
mod documents;
mod enterprise;
mod group;
mod user;

#[cfg(test)]
mod tests;

pub use definitions::SERVICE_SCHEMAS;
pub use documents::{resource_type, resource_types, schema_document, schemas, service_provider_config};

/// Where an attribute's values come from and how they look (RFC 7643 2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// Text.
    String,
    /// `true` or `false`.
    Boolean,
    /// A whole number.
    Integer,
    /// A time as xsd:dateTime.
    DateTime,
    /// Octets in base64.
    Binary,
    /// A URI.
    Reference,
    /// An object of sub-attributes.
    Complex,
}

/// Who may set an attribute (RFC 7643 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mutability {
    /// The service provider only; ignored in a resource, refused as the path of a PATCH.
    ReadOnly,
    /// Anyone.
    ReadWrite,
    /// Anyone, once.
    Immutable,
    /// Anyone; never read back.
    WriteOnly,
}

/// When an attribute is in an answer (RFC 7643 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Returned {
    /// In every answer.
    Always,
    /// In no answer.
    Never,
    /// Unless the request leaves it out.
    Default,
    /// If the request names it.
    Request,
}

/// Where a value may stand once only (RFC 7643 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Uniqueness {
    /// Nowhere: values may repeat.
    None,
    /// Among the resources of this service provider.
    Server,
    /// Anywhere.
    Global,
}

/// An attribute or sub-attribute with its characteristics (RFC 7643 7).
#[derive(Debug)]
pub struct AttributeDef {
    /// Its name, in the spelling of answers.
    pub name: &'static str,
    /// Its type.
    pub value_type: ValueType,
    /// Whether it is an array.
    pub multi_valued: bool,
    /// A sentence about it.
    pub description: &'static str,
    /// Whether a resource must have it.
    pub required: bool,
    /// Suggested values: others are taken too.
    pub canonical_values: &'static [&'static str],
    /// Whether `A` and `a` are different values.
    pub case_exact: bool,
    /// Who may set it.
    pub mutability: Mutability,
    /// When it is returned.
    pub returned: Returned,
    /// Where a value may stand once only.
    pub uniqueness: Uniqueness,
    /// Kinds of what a reference refers to.
    pub reference_types: &'static [&'static str],
    /// Parts of a complex attribute.
    pub sub_attributes: &'static [AttributeDef],
}

/// A schema: its URN and its attributes.
#[derive(Debug)]
pub struct SchemaDef {
    /// The URN.
    pub id: &'static str,
    /// Its name.
    pub name: &'static str,
    /// A sentence about it.
    pub description: &'static str,
    /// Its attributes, without the common ones.
    pub attributes: &'static [AttributeDef],
}

/// A kind of resource that is provisioned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ResourceKind {
    /// A person: `/Users`.
    User,
    /// A group of persons: `/Groups`.
    Group,
}

/// Attributes of every resource (RFC 7643 3.1), and `schemas`. They stand in no schema document.
pub const COMMON_ATTRIBUTES: &[AttributeDef] = &[
    AttributeDef::reference("schemas", "URNs of the schemas of the resource.", &["uri"])
        .many()
        .read_only()
        .returned(Returned::Always),
    AttributeDef::text("id", "Identifier of the resource, given by the service provider.")
        .exact()
        .read_only()
        .returned(Returned::Always)
        .unique(Uniqueness::Server),
    AttributeDef::text("externalId", "Identifier of the resource, given by the provisioning client.").exact(),
    AttributeDef::complex(
        "meta",
        "Metadata of the resource.",
        &[
            AttributeDef::text("resourceType", "Name of the resource type.").exact().read_only(),
            AttributeDef::time("created", "Time at which the resource was added.").read_only(),
            AttributeDef::time("lastModified", "Time at which the resource was changed last.").read_only(),
            AttributeDef::reference("location", "URI of the resource.", &["uri"]).read_only(),
            AttributeDef::text("version", "Weak entity tag of the resource.").exact().read_only(),
        ],
    )
    .read_only(),
];

static USER_EXTENSIONS: [&SchemaDef; 1] = [&enterprise::ENTERPRISE_USER];

impl AttributeDef {
    const fn new(name: &'static str, value_type: ValueType, description: &'static str) -> AttributeDef {
        AttributeDef {
            name,
            value_type,
            multi_valued: false,
            description,
            required: false,
            canonical_values: &[],
            case_exact: false,
            mutability: Mutability::ReadWrite,
            returned: Returned::Default,
            uniqueness: Uniqueness::None,
            reference_types: &[],
            sub_attributes: &[],
        }
    }

    const fn text(name: &'static str, description: &'static str) -> AttributeDef {
        AttributeDef::new(name, ValueType::String, description)
    }

    const fn boolean(name: &'static str, description: &'static str) -> AttributeDef {
        AttributeDef::new(name, ValueType::Boolean, description)
    }

    const fn integer(name: &'static str, description: &'static str) -> AttributeDef {
        AttributeDef::new(name, ValueType::Integer, description)
    }

    const fn time(name: &'static str, description: &'static str) -> AttributeDef {
        AttributeDef::new(name, ValueType::DateTime, description)
    }

    const fn binary(name: &'static str, description: &'static str) -> AttributeDef {
        AttributeDef::new(name, ValueType::Binary, description).exact()
    }

    const fn reference(
        name: &'static str,
        description: &'static str,
        types: &'static [&'static str],
    ) -> AttributeDef {
        let mut reference = AttributeDef::new(name, ValueType::Reference, description).exact();
        reference.reference_types = types;
        reference
    }

    const fn complex(
        name: &'static str,
        description: &'static str,
        sub_attributes: &'static [AttributeDef],
    ) -> AttributeDef {
        let mut complex = AttributeDef::new(name, ValueType::Complex, description);
        complex.sub_attributes = sub_attributes;
        complex
    }

    const fn many(mut self) -> AttributeDef {
        self.multi_valued = true;
        self
    }

    const fn required(mut self) -> AttributeDef {
        self.required = true;
        self
    }

    const fn exact(mut self) -> AttributeDef {
        self.case_exact = true;
        self
    }

    const fn canonical(mut self, values: &'static [&'static str]) -> AttributeDef {
        self.canonical_values = values;
        self
    }

    const fn read_only(self) -> AttributeDef {
        self.mutability(Mutability::ReadOnly)
    }

    const fn mutability(mut self, mutability: Mutability) -> AttributeDef {
        self.mutability = mutability;
        self
    }

    const fn returned(mut self, returned: Returned) -> AttributeDef {
        self.returned = returned;
        self
    }

    const fn unique(mut self, uniqueness: Uniqueness) -> AttributeDef {
        self.uniqueness = uniqueness;
        self
    }

    /// The sub-attribute of this name, in any case.
    pub fn sub(&self, name: &str) -> Option<&'static AttributeDef> {
        find(self.sub_attributes, name)
    }

    /// Whether it can be read at all: a password can be neither returned nor compared.
    pub fn is_readable(&self) -> bool {
        self.mutability != Mutability::WriteOnly && self.returned != Returned::Never
    }

    /// Whether the immutable `value` of an element tells it from the others, as that of a member does.
    pub fn is_keyed(&self) -> bool {
        self.multi_valued && self.sub("value").is_some_and(|value| value.mutability == Mutability::Immutable)
    }
}

impl SchemaDef {
    /// The attribute of this name, in any case.
    pub fn attribute(&self, name: &str) -> Option<&'static AttributeDef> {
        find(self.attributes, name)
    }
}

impl ResourceKind {
    /// All kinds.
    pub const ALL: [ResourceKind; 2] = [ResourceKind::User, ResourceKind::Group];

    /// Its name: `meta.resourceType`, and the id of its resource type.
    pub fn name(self) -> &'static str {
        match self {
            ResourceKind::User => "User",
            ResourceKind::Group => "Group",
        }
    }

    /// The path of its resources under the base URL.
    pub fn endpoint(self) -> &'static str {
        match self {
            ResourceKind::User => "/Users",
            ResourceKind::Group => "/Groups",
        }
    }

    /// Its core schema.
    pub fn schema(self) -> &'static SchemaDef {
        match self {
            ResourceKind::User => &user::USER,
            ResourceKind::Group => &group::GROUP,
        }
    }

    /// Schemas that extend it; none is required.
    pub fn extensions(self) -> &'static [&'static SchemaDef] {
        match self {
            ResourceKind::User => &USER_EXTENSIONS,
            ResourceKind::Group => &[],
        }
    }

    /// The extension with this URN, in any case.
    pub fn extension(self, urn: &str) -> Option<&'static SchemaDef> {
        self.extensions().iter().copied().find(|one| one.id.eq_ignore_ascii_case(urn))
    }

    /// The attribute of its core schema or common to all resources, by its name in any case.
    pub fn attribute(self, name: &str) -> Option<&'static AttributeDef> {
        self.schema().attribute(name).or_else(|| find(COMMON_ATTRIBUTES, name))
    }
}

fn find(all: &'static [AttributeDef], name: &str) -> Option<&'static AttributeDef> {
    all.iter().find(|one| one.name.eq_ignore_ascii_case(name))
}

//! Limits of requests: each is counted before anything grows by it.

/// Octets of a filter, and of a path of PATCH.
pub const FILTER_OCTETS_MAX: usize = 4_096;
/// Parentheses and brackets of a filter that are open at once.
pub const FILTER_DEPTH_MAX: usize = 16;
/// Comparisons and `pr` of one filter.
pub const FILTER_TERMS_MAX: usize = 100;
/// Octets of the URN before an attribute's name.
pub const URN_OCTETS_MAX: usize = 256;
/// Octets of an attribute's name.
pub const NAME_OCTETS_MAX: usize = 128;
/// Members of a group, in one request and after a PATCH.
pub const MEMBERS_MAX: usize = 100_000;
/// Values of any other multi-valued attribute.
pub const VALUES_MAX: usize = 200;
/// Attributes of a resource, of an extension, and of a complex value, as they stand in a request.
pub const ATTRIBUTES_MAX: usize = 200;
/// Octets of a string, a reference or a time.
pub const STRING_OCTETS_MAX: usize = 4_096;
/// Octets of a binary value in base64.
pub const BINARY_OCTETS_MAX: usize = 64 * 1024;
/// Operations of one PATCH.
pub const OPERATIONS_MAX: usize = 1_000;
/// Single changes of one PATCH: an operation without a path is one for each attribute of its value.
pub const CHANGES_MAX: usize = 10_000;
/// Values that one PATCH may look at, summed over its changes.
pub const EFFORT_MAX: usize = 20_000_000;
/// Names in `attributes` or `excludedAttributes`.
pub const PROJECTED_MAX: usize = 100;
/// Resources of one page of a list: `filter.maxResults` of ServiceProviderConfig.
pub const COUNT_MAX: usize = 1_000;
/// Resources of a page of a list whose request has no `count`.
pub const COUNT_DEFAULT: usize = 100;
/// Names of unknown attributes that are reported; the rest is only left out.
pub const IGNORED_MAX: usize = 32;
/// Entity tags of an `If-Match` or `If-None-Match`.
pub const ETAGS_MAX: usize = 32;

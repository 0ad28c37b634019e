//! Limits of the reader. Each limit is far above what issuers really send.

/// A document in octets.
pub const DOCUMENT_OCTETS_MAX: usize = 2 * 1024 * 1024;
/// Elements inside each other; an alert in its envelope needs a dozen.
pub const DEPTH_MAX: usize = 64;
/// Elements in a document; nine languages with 225 areas each have 20,000.
pub const ELEMENTS_MAX: usize = 100_000;
/// Vertices of one polygon before it is listed as a problem; it is read all the same, since a cut one has
/// another shape.
pub const POLYGON_VERTICES_ADVISED: usize = 10_000;
/// Vertices of all polygons of a document together.
pub const VERTICES_MAX: usize = 200_000;
/// Polygons and circles of a document together.
pub const SHAPES_MAX: usize = 20_000;
/// Alerts in one envelope.
pub const ALERTS_MAX: usize = 100;
/// Problems listed for one alert.
pub const PROBLEMS_MAX: usize = 1_000;
/// Characters of a headline before it is listed as a problem (section 3.2.2: recommended limit).
pub const HEADLINE_CHARACTERS_ADVISED: usize = 160;

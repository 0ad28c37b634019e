//! Many people against many shapes.

use super::{Bounds, Ring};
use crate::alert::{Area, Circle};

/// The grid's cells each way.
const CELLS: usize = 32;
/// A shape over more cells than this is asked for every point instead of being entered in each: so that the
/// grid stays small however many wide shapes there are.
const CELLS_PER_SHAPE_MAX: usize = 64;

#[derive(Debug, Clone)]
enum Shape {
    Ring(Ring),
    Disc(Circle, Bounds),
}

/// The shapes of some areas, made ready for many points: each point asks the few shapes near it, and of those
/// only the edges on its latitude.
#[derive(Debug, Clone)]
pub struct AreaIndex {
    shapes: Vec<(usize, Shape)>,
    grid: Option<Grid>,
    wide: Vec<u32>,
}

#[derive(Debug, Clone)]
struct Grid {
    south: f64,
    west: f64,
    cell_lat: f64,
    cell_lon: f64,
    cells: Vec<Vec<u32>>,
}

impl AreaIndex {
    /// An index over areas, which keep their places in the iterator as numbers.
    pub fn new<'a>(areas: impl IntoIterator<Item = &'a Area>) -> AreaIndex {
        let mut shapes = Vec::new();
        for (number, area) in areas.into_iter().enumerate() {
            let rings = area.polygons.iter().filter_map(|polygon| Ring::new(polygon));
            shapes.extend(rings.map(|ring| (number, Shape::Ring(ring))));
            let discs = area.circles.iter().filter(|circle| circle.km.is_finite());
            shapes.extend(discs.map(|&circle| (number, Shape::Disc(circle, circle.bounds()))));
        }
        let mut index = AreaIndex { grid: Grid::over(&shapes), shapes, wide: Vec::new() };
        index.enter_all();
        index
    }

    /// Whether a point is in any of the areas, their edges included.
    pub fn contains(&self, lat: f64, lon: f64) -> bool {
        self.near(lat, lon).any(|(_, shape)| shape.contains(lat, lon))
    }

    /// The numbers of the areas that a point is in, ascending, each once.
    pub fn areas_at(&self, lat: f64, lon: f64) -> Vec<usize> {
        let mut numbers: Vec<usize> = self
            .near(lat, lon)
            .filter(|(_, shape)| shape.contains(lat, lon))
            .map(|(number, _)| *number)
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Whether there is no shape at all.
    pub fn is_empty(&self) -> bool {
        self.shapes.is_empty()
    }

    fn near(&self, lat: f64, lon: f64) -> impl Iterator<Item = &(usize, Shape)> {
        let lon = if lon.abs() > 180.0 { (lon + 180.0).rem_euclid(360.0) - 180.0 } else { lon };
        let cell = self.grid.as_ref().and_then(|grid| grid.cell(lat, lon)).map_or(&[][..], Vec::as_slice);
        cell.iter().chain(&self.wide).map(|&shape| &self.shapes[shape as usize])
    }

    fn enter_all(&mut self) {
        let Some(grid) = &mut self.grid else { return };
        for (shape, (_, entered)) in self.shapes.iter().enumerate() {
            let bounds = entered.bounds();
            let shape = shape as u32; // bounded by the vertices that fit in memory
            // At the date line a shape is near points on both sides of the grid. (Bounds are a little wide.)
            let turns = bounds.west < -180.0 || bounds.east > 180.0;
            let cells = if turns { None } else { grid.cells_of(&bounds) };
            match cells {
                Some(cells) => cells.into_iter().for_each(|cell| grid.cells[cell].push(shape)),
                None => self.wide.push(shape),
            }
        }
    }
}

impl Shape {
    fn bounds(&self) -> Bounds {
        match self {
            Shape::Ring(ring) => ring.bounds,
            Shape::Disc(_, bounds) => *bounds,
        }
    }

    fn contains(&self, lat: f64, lon: f64) -> bool {
        match self {
            Shape::Ring(ring) => ring.contains(lat, lon),
            Shape::Disc(circle, bounds) => {
                bounds.fitting_lon(lat, lon).is_some() && circle.contains(lat, lon)
            }
        }
    }
}

impl Grid {
    fn over(shapes: &[(usize, Shape)]) -> Option<Grid> {
        let bounds = shapes.iter().map(|(_, shape)| shape.bounds()).reduce(|a, b| Bounds {
            south: a.south.min(b.south),
            north: a.north.max(b.north),
            west: a.west.min(b.west),
            east: a.east.max(b.east),
        })?;
        Some(Grid {
            south: bounds.south,
            west: bounds.west,
            cell_lat: (bounds.north - bounds.south) / CELLS as f64,
            cell_lon: (bounds.east - bounds.west) / CELLS as f64,
            cells: vec![Vec::new(); CELLS * CELLS],
        })
    }

    fn row(&self, lat: f64) -> usize {
        (((lat - self.south) / self.cell_lat) as usize).min(CELLS - 1)
    }

    fn column(&self, lon: f64) -> usize {
        (((lon - self.west) / self.cell_lon) as usize).min(CELLS - 1)
    }

    fn cell(&self, lat: f64, lon: f64) -> Option<&Vec<u32>> {
        self.cells.get(self.row(lat) * CELLS + self.column(lon))
    }

    /// The cells a box touches; `None` if there are too many.
    fn cells_of(&self, bounds: &Bounds) -> Option<Vec<usize>> {
        let rows = self.row(bounds.south)..=self.row(bounds.north);
        let columns = self.column(bounds.west)..=self.column(bounds.east);
        let count = (rows.end() - rows.start() + 1) * (columns.end() - columns.start() + 1);
        (count <= CELLS_PER_SHAPE_MAX)
            .then(|| rows.flat_map(|row| columns.clone().map(move |column| row * CELLS + column)).collect())
    }
}

//! Curves and bars, drawn as SVG.

use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::prelude::*;
use std::path::Path;

const SIZE: (u32, u32) = (900, 560);
/// Colours that are told apart without red and green.
const COLOURS: [RGBColor; 10] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(120, 120, 120),
    RGBColor(0, 0, 0),
    RGBColor(128, 0, 64),
    RGBColor(0, 90, 60),
];

/// One curve: its name and its points.
pub struct Curve {
    /// What it shows.
    pub name: String,
    /// Along, and up.
    pub points: Vec<(f64, f64)>,
}

/// Bars of one colour: their name, where each stands, and how high it is.
pub struct Bars {
    /// What they show.
    pub name: String,
    /// Along, and up.
    pub bars: Vec<(f64, f64)>,
    /// How far each reaches up and down from its height; those that are missing are not drawn.
    pub deviations: Vec<f64>,
}

/// How an axis is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Both axes: what spans orders of magnitude.
    Logarithmic,
    /// Both axes, from 0 on: what should be level.
    Linear,
}

/// Draws curves into a file.
///
/// # Errors
/// The file cannot be written.
pub fn draw(path: &Path, title: &str, axes: [&str; 2], scale: Scale, curves: &[Curve]) -> Result<(), String> {
    let said = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let mut svg = String::new();
    draw_into(&mut svg, title, axes, scale, curves).map_err(|error| said(&error))?;
    std::fs::write(path, svg).map_err(|error| said(&error))
}

fn draw_into(
    svg: &mut String,
    title: &str,
    axes: [&str; 2],
    scale: Scale,
    curves: &[Curve],
) -> Result<(), String> {
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE).map_err(|error| error.to_string())?;
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let (xs, ys) = (range(points().map(|(x, _)| *x)), range(points().map(|(_, y)| *y)));
    let mut chart = ChartBuilder::on(&root);
    chart.caption(title, ("sans-serif", 20)).margin(16).x_label_area_size(44).y_label_area_size(76);
    match scale {
        Scale::Logarithmic => {
            let built = chart.build_cartesian_2d((xs.0..xs.1).log_scale(), (ys.0..ys.1).log_scale());
            draw_on(built.map_err(|error| error.to_string())?, axes, curves)?;
        }
        Scale::Linear => {
            let built = chart.build_cartesian_2d(0.0..xs.1, 0.0..ys.1);
            draw_on(built.map_err(|error| error.to_string())?, axes, curves)?;
        }
    }
    root.present().map_err(|error| error.to_string())
}

fn draw_on<'a, 'b: 'a, X, Y>(
    mut chart: ChartContext<'a, SVGBackend<'b>, Cartesian2d<X, Y>>,
    axes: [&str; 2],
    curves: &[Curve],
) -> Result<(), String>
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let said = |error: &dyn std::fmt::Display| error.to_string();
    chart
        .configure_mesh()
        .x_desc(axes[0])
        .y_desc(axes[1])
        .x_label_formatter(&|x| tick(*x))
        .y_label_formatter(&|y| tick(*y))
        .light_line_style(RGBColor(240, 240, 240))
        .draw()
        .map_err(|error| said(&error))?;
    for (curve, colour) in curves.iter().zip(COLOURS.iter().cycle()) {
        let line = LineSeries::new(curve.points.iter().copied(), colour.stroke_width(2)).point_size(4);
        let drawn = chart.draw_series(line).map_err(|error| said(&error))?;
        drawn
            .label(&curve.name)
            .legend(|(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(3)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(RGBColor(200, 200, 200))
        .draw()
        .map_err(|error| said(&error))
}

/// Draws bars, those of several names side by side, over two linear axes into a file.
///
/// # Errors
/// The file cannot be written.
pub fn draw_bars(path: &Path, title: &str, axes: [&str; 2], bars: &[Bars]) -> Result<(), String> {
    let said = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let mut svg = String::new();
    draw_bars_into(&mut svg, title, axes, bars).map_err(|error| said(&error))?;
    std::fs::write(path, svg).map_err(|error| said(&error))
}

fn draw_bars_into(svg: &mut String, title: &str, axes: [&str; 2], bars: &[Bars]) -> Result<(), String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE).map_err(|error| said(&error))?;
    let places: Vec<f64> = bars.iter().flat_map(|bars| &bars.bars).map(|(place, _)| *place).collect();
    let step = step(&places);
    let greatest = places.iter().copied().fold(0.0, f64::max);
    let least = places.iter().copied().fold(greatest, f64::min);
    let highest = bars.iter().flat_map(|bars| &bars.bars).map(|(_, height)| *height).fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 20))
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(76)
        .build_cartesian_2d(least - step / 2.0..greatest + step, 0.0..highest * 1.1)
        .map_err(|error| said(&error))?;
    let mesh = &mut chart.configure_mesh();
    let mesh = mesh.x_desc(axes[0]).y_desc(axes[1]).light_line_style(RGBColor(240, 240, 240));
    let mesh = mesh.x_label_formatter(&|x| tick(*x)).y_label_formatter(&|y| tick(*y));
    mesh.draw().map_err(|error| said(&error))?;
    // A tenth of each place stays free.
    let width = step * 0.9 / bars.len().max(1) as f64;
    for (place, (bars, colour)) in bars.iter().zip(COLOURS.iter().cycle()).enumerate() {
        let left = place as f64 * width - step * 0.45;
        let rectangles = bars.bars.iter().map(|(at, height)| {
            Rectangle::new([(at + left, 0.0), (at + left + width, *height)], colour.filled())
        });
        let drawn = chart.draw_series(rectangles).map_err(|error| said(&error))?;
        drawn
            .label(&bars.name)
            .legend(|(x, y)| Rectangle::new([(x, y - 5), (x + 18, y + 5)], colour.filled()));
        let middle = left + width / 2.0;
        let errors = bars.bars.iter().zip(&bars.deviations).map(|((at, height), deviation)| {
            let ends = [(height - deviation).max(0.0), height + deviation];
            PathElement::new(ends.map(|end| (at + middle, end)), BLACK.stroke_width(2))
        });
        chart.draw_series(errors).map_err(|error| said(&error))?;
        let tips = bars
            .bars
            .iter()
            .zip(&bars.deviations)
            .map(|((at, height), _)| Circle::new((at + middle, *height), 3, BLACK.filled()));
        chart.draw_series(tips).map_err(|error| said(&error))?;
    }
    let mut labels = chart.configure_series_labels();
    let labels = labels.position(SeriesLabelPosition::UpperRight).background_style(WHITE.mix(0.8));
    labels.border_style(RGBColor(200, 200, 200)).draw().map_err(|error| said(&error))?;
    root.present().map_err(|error| said(&error))
}

/// The least distance between two places: bars are so wide together.
fn step(places: &[f64]) -> f64 {
    let mut sorted = places.to_vec();
    sorted.sort_by(f64::total_cmp);
    let gaps = sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.0);
    let least = gaps.fold(f64::MAX, f64::min);
    if least == f64::MAX { 1.0 } else { least }
}

/// A number at an axis: without the digits that say nothing.
fn tick(number: f64) -> String {
    if number >= 1.0 {
        format!("{number:.0}")
    } else {
        format!("{number:.4}").trim_end_matches('0').to_owned()
    }
}

/// From a little below the least to a little above the greatest; values that a logarithm has not are left
/// out.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (least, greatest) = values
        .filter(|value| value.is_finite() && *value > 0.0)
        .fold((f64::MAX, f64::MIN_POSITIVE), |(least, greatest), value| {
            (least.min(value), greatest.max(value))
        });
    if least > greatest { (0.5, 2.0) } else { (least * 0.7, greatest * 1.4) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_are_drawn_with_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("curves.svg");
        let curve = |name: &str, by: f64| Curve {
            name: name.to_owned(),
            points: (0..4).map(|i| (1024.0 * 2f64.powi(i), by * f64::from(i + 1))).collect(),
        };
        for scale in [Scale::Logarithmic, Scale::Linear] {
            let curves = [curve("ours", 0.1), curve("published", 900.0)];
            draw(&path, "Time to the last mailbox", ["endpoints", "s"], scale, &curves).unwrap();
            let svg = std::fs::read_to_string(&path).unwrap();
            for word in ["<svg", "Time to the last mailbox", "ours", "published", "endpoints", "polyline"] {
                assert!(svg.contains(word), "{word}");
            }
            draw(&path, "nothing", ["x", "y"], scale, &[]).unwrap();
        }
        draw_bars(&path, "nothing", ["x", "y"], &[]).unwrap();
        assert!(draw(&folder.path().join("no/where.svg"), "x", ["x", "y"], Scale::Linear, &[]).is_err());
    }
    #[test]
    fn bars_stand_side_by_side_with_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bars.svg");
        let bars = |name: &str, by: f64| Bars {
            name: name.to_owned(),
            bars: (20..30).map(|place| (f64::from(place), by * f64::from(place))).collect(),
            deviations: if by < 1.0 { vec![1.5; 10] } else { Vec::new() },
        };
        let axes = ["messages in a second", "seconds"];
        draw_bars(&path, "Five carriers", axes, &[bars("ours", 1.0), bars("published", 0.5)]).unwrap();
        let svg = std::fs::read_to_string(&path).unwrap();
        for word in ["<svg", "Five carriers", "ours", "published", "messages in a second"] {
            assert!(svg.contains(word), "{word}");
        }
        assert!(svg.matches("<rect").count() >= 20);
        assert!(svg.matches("<circle").count() >= 10, "the middles of error bars");
        assert_eq!((step(&[3.0, 1.0, 1.5, 1.5]), step(&[4.0])), (0.5, 1.0));
    }
}

//! Curves, drawn as SVG.

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
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// Draws curves over two logarithmic axes into a file.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn draw(path: &Path, title: &str, axes: [&str; 2], curves: &[Curve]) -> Result<(), String> {
    let said = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let mut svg = String::new();
    draw_into(&mut svg, title, axes, curves).map_err(|error| said(&error))?;
    std::fs::write(path, svg).map_err(|error| said(&error))
}

fn draw_into(svg: &mut String, title: &str, axes: [&str; 2], curves: &[Curve]) -> Result<(), String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE).map_err(|error| said(&error))?;
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let xs = range(points().map(|(x, _)| *x));
    let ys = range(points().map(|(_, y)| *y));
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 20))
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(76)
        .build_cartesian_2d((xs.0..xs.1).log_scale(), (ys.0..ys.1).log_scale())
        .map_err(|error| said(&error))?;
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
        .map_err(|error| said(&error))?;
    root.present().map_err(|error| said(&error))
}

/// A number at an axis: without the digits that say nothing.
fn tick(number: f64) -> String {
    if number >= 1.0 {
        format!("{number:.0}")
    } else {
        format!("{number:.4}").trim_end_matches('0').to_owned()
    }
}

/// From a little below the least to a little above the greatest; values that a logarithm has not are left out.
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
        draw(
            &path,
            "Time to the last mailbox",
            ["endpoints", "s"],
            &[curve("ours", 0.1), curve("published", 900.0)],
        )
        .unwrap();
        let svg = std::fs::read_to_string(&path).unwrap();
        for word in ["<svg", "Time to the last mailbox", "ours", "published", "endpoints", "polyline"] {
            assert!(svg.contains(word), "{word}");
        }
        draw(&path, "nothing", ["x", "y"], &[]).unwrap();
        assert!(draw(&folder.path().join("no/where.svg"), "x", ["x", "y"], &[]).is_err());
    }
}

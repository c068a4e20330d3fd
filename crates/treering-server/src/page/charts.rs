//! Charts as SVG. Every bar has its value beside it or in its title, so that no chart needs colors
//! to be read.

use super::html::Html;
use treering_display::columns::fit_end;

/// A bar of a chart.
#[derive(Debug, Clone)]
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) value: f64,
    /// The value as text.
    pub(crate) words: String,
}

/// The width of a chart, in its own units.
const WIDTH: f64 = 860.0;

/// The columns of a name beside a bar. The end of a directory is more specific than its beginning.
const NAME: usize = 36;

fn largest(bars: &[Bar]) -> f64 {
    let most =
        bars.iter().map(|bar| bar.value).filter(|value| value.is_finite()).fold(0.0, f64::max);
    if most > 0.0 { most } else { 1.0 }
}

fn begin(page: &mut Html, title: &str, height: f64) {
    page.raw("<svg class=chart role=img").attr("aria-label", title);
    page.attr("viewBox", &format!("0 0 {WIDTH} {height:.0}")).raw(">");
}

/// Draws columns side by side, such as days.
pub(crate) fn columns(page: &mut Html, title: &str, bars: &[Bar]) {
    const HEIGHT: f64 = 220.0;
    const BASE: f64 = 192.0;
    const TOP: f64 = 20.0;
    begin(page, title, HEIGHT);
    let (most, count) = (largest(bars), bars.len().max(1) as f64);
    let step = WIDTH / count;
    let best = bars.iter().position(|bar| bar.value >= most);
    page.raw("<line class=axis").attr("x1", "0").attr("x2", &WIDTH.to_string());
    page.attr("y1", &BASE.to_string()).attr("y2", &BASE.to_string()).raw("/>");
    // There is a date at about every eighth of the width.
    let every = (bars.len() / 8).max(1);
    for (at, bar) in bars.iter().enumerate() {
        let height = (bar.value / most * (BASE - TOP)).max(if bar.value > 0.0 { 1.5 } else { 0.0 });
        let (x, width) = (at as f64 * step, (step * 0.72).min(56.0));
        page.raw("<g><title>").text(&format!("{}: {}", bar.name, bar.words)).raw("</title>");
        page.raw("<rect class=hit").attr("x", &format!("{x:.1}")).attr("y", "0");
        page.attr("width", &format!("{step:.1}")).attr("height", &BASE.to_string()).raw("/>");
        let left = x + (step - width) / 2.0;
        page.raw("<rect class=bar rx=2").attr("x", &format!("{left:.1}"));
        page.attr("y", &format!("{:.1}", BASE - height)).attr("width", &format!("{width:.1}"));
        page.attr("height", &format!("{height:.1}")).raw("/>");
        let middle = x + step / 2.0;
        if bar.value > 0.0 && (bars.len() <= 10 || Some(at) == best) {
            let middle = middle.clamp(24.0, WIDTH - 24.0);
            label(page, "value", middle, BASE - height - 6.0, "middle", &bar.words);
        }
        if at % every == 0 {
            let name = bar.name.get(5..).filter(|_| bar.name.len() == 10).unwrap_or(&bar.name);
            let anchor = if at == 0 { "start" } else { "middle" };
            let place = if at == 0 { left } else { middle };
            label(page, "name", place, BASE + 18.0, anchor, name);
        }
        page.raw("</g>");
    }
    page.raw("</svg>");
}

/// Draws bars below each other, with their names and values.
pub(crate) fn bars(page: &mut Html, title: &str, bars: &[Bar]) {
    const ROW: f64 = 26.0;
    const NAMES: f64 = 270.0;
    const VALUES: f64 = 80.0;
    begin(page, title, ROW * bars.len().max(1) as f64);
    let most = largest(bars);
    for (at, bar) in bars.iter().enumerate() {
        let y = at as f64 * ROW;
        let width = (bar.value / most * (WIDTH - NAMES - VALUES)).max(1.5);
        page.raw("<g><title>").text(&format!("{}: {}", bar.name, bar.words)).raw("</title>");
        label(page, "name", NAMES - 10.0, y + 17.0, "end", &fit_end(&bar.name, NAME));
        page.raw("<rect class=bar rx=2").attr("x", &NAMES.to_string());
        page.attr("y", &format!("{:.1}", y + 5.0)).attr("width", &format!("{width:.1}"));
        page.attr("height", "16").raw("/>");
        label(page, "value", NAMES + width + 8.0, y + 17.0, "start", &bar.words);
        page.raw("</g>");
    }
    page.raw("</svg>");
}

fn label(page: &mut Html, class: &str, x: f64, y: f64, anchor: &str, text: &str) {
    page.raw("<text").attr("class", class).attr("x", &format!("{x:.1}"));
    page.attr("y", &format!("{y:.1}")).attr("text-anchor", anchor).raw(">").text(text);
    page.raw("</text>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_say_their_values_and_escape_their_names() {
        let bar = |name: &str, value| Bar { name: name.into(), value, words: format!("${value}") };
        for draw in [columns, bars as fn(&mut Html, &str, &[Bar])] {
            let mut page = Html::default();
            draw(&mut page, "Cost", &[bar("<script>", 2.0), bar("b", 0.0), bar("c", f64::NAN)]);
            assert!(
                page.0.contains("&lt;script&gt;: $2") && !page.0.contains("<script>"),
                "{page:?}"
            );
            let mut empty = Html::default();
            draw(&mut empty, "Cost", &[]);
            assert!(empty.0.ends_with("</svg>"));
        }
    }
}

//! Draws a placement as SVG: nested boxes for the domains, ranks in the colour of their set.
//!
//! Boxes are measured from the ranks outwards, then positioned from the outermost inwards.

use std::fmt::{self, Display, Formatter, Write};

use super::Domain;
use super::placement::{Placement, PlacementScheme};

/// Of larger jobs only the first ranks are drawn.
const MOST_RANKS: usize = 2048;
const CELL: (usize, usize) = (34, 22);
const GAP: usize = 6;
const TITLE: usize = 16;
const LINE: usize = 20;
const LETTER: usize = 6;
const WIDEST: usize = 1100;
const NARROWEST: usize = 560;

impl Placement {
    pub fn picture(&self) -> String {
        SvgDrawing::new(self).draw()
    }
}

#[derive(Clone, Copy, Default)]
struct SvgBox {
    x: usize,
    y: usize,
    width: usize,
    height: usize,
}

/// Its attributes.
impl Display for SvgBox {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let [x, y, width, height] = [self.x, self.y, self.width, self.height];
        write!(f, r#"x="{x}" y="{y}" width="{width}" height="{height}""#)
    }
}

struct SvgDrawing<'p> {
    placement: &'p Placement,
    /// The number of ranks that are drawn.
    drawn: usize,
    /// The drawn domains, level by level.
    boxes: Vec<Vec<SvgBox>>,
    text: String,
}

impl<'p> SvgDrawing<'p> {
    fn new(placement: &'p Placement) -> Self {
        SvgDrawing {
            placement,
            drawn: placement.rank_count().min(MOST_RANKS),
            boxes: Vec::new(),
            text: String::new(),
        }
    }

    fn draw(mut self) -> String {
        self.measure();
        let caption = self.caption();
        let top = GAP + LINE * caption.len() + GAP;
        let (width, height) = self.arrange(0, 0..self.boxes[0].len(), (GAP, top), WIDEST);
        for level in 1..self.boxes.len() {
            for above in 0..self.boxes[level - 1].len() {
                let children = self.children(Domain::new(level - 1, above));
                let SvgBox { x, y, .. } = self.boxes[level - 1][above];
                let inside = (x + GAP, y + TITLE);
                self.arrange(level, children, inside, self.inner_width(level));
            }
        }
        let (width, height) = ((GAP + width).max(NARROWEST), top + height);
        let _ = writeln!(
            self.text,
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">
<rect width="{width}" height="{height}" fill="white"/>"#
        );
        for (line, caption) in caption.iter().enumerate() {
            let y = GAP + LINE * line + 14;
            let weight = [r#" font-weight="bold""#, ""][line.min(1)];
            let text = escaped(caption);
            let _ = writeln!(
                self.text,
                r#"<text x="{GAP}" y="{y}"{weight}>{text}</text>"#
            );
        }
        self.draw_domains();
        self.draw_ranks();
        self.text + "</svg>\n"
    }

    fn caption(&self) -> Vec<String> {
        let (sets, scheme) = (self.placement.sets(), self.placement.scheme());
        let mut lines = vec![format!(
            "{} ranks in {} sets of {}, {}: {}",
            sets.ranks(),
            sets.count(),
            match sets.larger() {
                0 => sets.smallest().to_string(),
                _ => format!("{} or {}", sets.smallest(), sets.largest()),
            },
            scheme.name(),
            match scheme {
                PlacementScheme::Single => "nothing is protected".into(),
                PlacementScheme::Partner { replicas } =>
                    format!("a rank's data are also on the next {replicas} of its set"),
                _ => format!("any {} of a set may be lost", scheme.most_lost()),
            }
        )];
        for (level, tolerance) in self.placement.tolerance().iter().enumerate() {
            let of = self.placement.tree().width(level);
            let name = match level + 1 == self.placement.tolerance().len() {
                true => "ranks".into(),
                false => format!("domains of level {level}"),
            };
            lines.push(match tolerance.any {
                0 => format!("not every loss of one of the {of} {name} is survived"),
                any => format!("survives the loss of any {any} of the {of} {name}"),
            });
        }
        let left = self.placement.rank_count() - self.drawn;
        if left > 0 {
            lines.push(format!("{left} more ranks are not drawn"));
        }
        lines
    }

    /// The children of a domain that are drawn.
    fn children(&self, domain: Domain) -> std::ops::Range<usize> {
        let children = self.placement.tree().children(domain);
        children.start..children.end.min(self.boxes[domain.level + 1].len())
    }

    /// The largest inner width of boxes of a level.
    fn inner_width(&self, level: usize) -> usize {
        WIDEST.saturating_sub(2 * GAP * level) / if level == 1 { 2 } else { 3 }
    }

    fn measure(&mut self) {
        let tree = self.placement.tree();
        let widths = (0..tree.depth()).map(|level| tree.ancestor(self.drawn - 1, level).index + 1);
        self.boxes = widths.map(|width| vec![SvgBox::default(); width]).collect();
        for level in (0..tree.depth()).rev() {
            for index in 0..self.boxes[level].len() {
                let (width, height) = match level + 1 == tree.depth() {
                    true => CELL,
                    false => {
                        let children = self.children(Domain { level, index });
                        let inside =
                            self.arrange(level + 1, children, (0, 0), self.inner_width(level + 1));
                        (inside.0 + GAP, inside.1 + TITLE)
                    }
                };
                let rect = &mut self.boxes[level][index];
                (rect.width, rect.height) = (width, height);
            }
        }
    }

    /// Positions boxes side by side, in as many rows as needed. Returns their total width and height, each with a gap.
    fn arrange(
        &mut self,
        level: usize,
        domains: std::ops::Range<usize>,
        (left, top): (usize, usize),
        room: usize,
    ) -> (usize, usize) {
        let (mut x, mut y, mut row, mut widest) = (left, top, 0, 0);
        for rect in &mut self.boxes[level][domains] {
            if x > left && x + rect.width > left + room {
                (x, y, row) = (left, y + row + GAP, 0);
            }
            (rect.x, rect.y) = (x, y);
            x += rect.width + GAP;
            row = row.max(rect.height);
            widest = widest.max(x - left);
        }
        (widest, y + row + GAP - top)
    }

    fn draw_domains(&mut self) {
        let tree = self.placement.tree();
        for level in 0..self.boxes.len() - 1 {
            let shade = 245 - (level * 14).min(70);
            for (index, rect) in self.boxes[level].iter().enumerate() {
                let name = cut(&tree.name(Domain { level, index }), rect.width - 2 * GAP);
                let (x, y) = (rect.x + GAP, rect.y + TITLE - 4);
                let _ = writeln!(
                    self.text,
                    r##"<rect {rect} rx="3" fill="rgb({shade},{shade},{shade})" stroke="#888"/>
<text x="{x}" y="{y}" font-size="11">{name}</text>"##
                );
            }
        }
    }

    fn draw_ranks(&mut self) {
        let tree = self.placement.tree();
        let bottom = self.boxes.len() - 1;
        for (leaf, rect) in self.boxes[bottom].iter().enumerate() {
            let set = self.placement.place_of_leaf(leaf).0;
            let rank = tree.name(Domain::new(bottom, leaf));
            let (colour, x, y) = (colour(set), rect.x + rect.width / 2, rect.y + 15);
            let _ = writeln!(
                self.text,
                r##"<g><title>rank {rank}, set {set}</title><rect {rect} rx="2" fill="{colour}" stroke="#444"/><text x="{x}" y="{y}" text-anchor="middle">{rank}</text></g>"##
            );
        }
    }
}

/// Steps the hue by the golden angle, so that consecutive sets get clearly different colours.
fn colour(set: usize) -> String {
    let hue = (set % 3600) as f64 * 137.508 % 360.0;
    format!("hsl({hue:.0},70%,{}%)", 78 - set % 3 * 9)
}

/// Truncates a name to a width.
fn cut(name: &str, room: usize) -> String {
    let letters = room / LETTER;
    match name.chars().count() <= letters {
        true => escaped(name),
        false => escaped(&name.chars().take(letters - 1).collect::<String>()) + "…",
    }
}

/// Escapes text for XML, which allows no control characters.
fn escaped(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|letter| if letter.is_control() { '?' } else { letter })
        .collect();
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

//! Takes the terminal and panics at the first key: the terminal must be as it was, and the panic be
//! read. `cargo run --example panic`
#![allow(clippy::panic, reason = "that is what it is for")]

use ratatui::Frame;
use treering_tui::canvas::{Canvas, Pen};
use treering_tui::runtime::{Desk, Office, Post};
use treering_tui::theme::{Theme, Tone};
use treering_tui::{Happening, Screen};

struct Fragile;

impl Screen for Fragile {
    type Event = Happening;
    type Effect = ();

    fn update(self, event: Happening) -> (Self, Vec<()>) {
        match event {
            Happening::Key(key) => panic!("{key} was pressed"),
            Happening::Stop => (self, vec![()]),
            _ => (self, vec![]),
        }
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let area = frame.area();
        Canvas::draw(frame, Theme::Dark, |canvas| {
            canvas.put(&mut Pen::new(area, 0), Tone::Plain, "any key panics");
        });
    }
}

struct Nobody;

impl Office<Fragile> for Nobody {
    type Outcome = ();

    fn perform(&mut self, (): (), _: &Fragile) -> Option<()> {
        Some(())
    }
}

fn main() -> std::io::Result<()> {
    Desk::open()?.run(Fragile, &mut Nobody, &Post::default())
}

//! Acquires the terminal and panics at the first key: the terminal must be restored and the panic
//! readable. `cargo run --example panic`
#![allow(clippy::panic, reason = "that is what it is for")]

use ratatui::Frame;
use treering_tui::draw::{DrawContext, LineCursor};
use treering_tui::runtime::{EffectHandler, EventChannel, Runner};
use treering_tui::theme::{Theme, Tone};
use treering_tui::{Screen, TerminalEvent};

struct Fragile;

impl Screen for Fragile {
    type Event = TerminalEvent;
    type Effect = ();

    fn update(self, event: TerminalEvent) -> (Self, Vec<()>) {
        match event {
            TerminalEvent::Key(key) => panic!("{key} was pressed"),
            TerminalEvent::Stop => (self, vec![()]),
            _ => (self, vec![]),
        }
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let area = frame.area();
        DrawContext::draw(frame, Theme::Dark, |draw| {
            draw.put(&mut LineCursor::new(area, 0), Tone::Plain, "any key panics");
        });
    }
}

struct NoEffects;

impl EffectHandler<Fragile> for NoEffects {
    type Outcome = ();

    fn perform(&mut self, (): (), _: &Fragile) -> Option<()> {
        Some(())
    }
}

fn main() -> std::io::Result<()> {
    Runner::open()?.run(Fragile, &mut NoEffects, &EventChannel::default())
}

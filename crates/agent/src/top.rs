// SPDX-License-Identifier: MIT OR Apache-2.0
//! The live table of an agent: queues, and the connections with the highest rates.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use crossterm::terminal::{self, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{cursor, execute, queue, style::Print};

use crate::attach::own_name;
use crate::control::{self, Request};
use crate::output::print;
use crate::sampler::Sampler;
use crate::status::{FlowStatus, Status};

/// How often it is written anew.
const EVERY: Duration = Duration::from_secs(1);
/// As wide as it is where no terminal says how wide it may be.
const WIDE: usize = 120;

/// Shows the agent of a device until `q` or Ctrl-C on a terminal; elsewhere once.
///
/// # Errors
/// If there is no agent, or it goes.
pub fn run(device: &str) -> Result<()> {
    let mut sampler = Sampler::default();
    sampler.rates(&ask(device)?);
    if !io::stdout().is_terminal() {
        thread::sleep(EVERY);
        return print(table(&ask(device)?, &mut sampler, WIDE, usize::MAX));
    }
    terminal::enable_raw_mode().context("cannot read single keys")?;
    let _screen = Screen;
    execute!(io::stdout(), EnterAlternateScreen, cursor::Hide)?;
    while !is_left()? {
        let (columns, rows) = terminal::size().unwrap_or((80, 24));
        let table = table(&ask(device)?, &mut sampler, columns.into(), rows.into());
        let mut out = io::stdout();
        queue!(
            out,
            cursor::MoveTo(0, 0),
            terminal::Clear(ClearType::All),
            Print(table.trim_end().replace('\n', "\r\n"))
        )?;
        out.flush()?;
    }
    Ok(())
}

/// Gives the terminal back as it was.
struct Screen;

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing back.
        let _ = execute!(io::stdout(), cursor::Show, LeaveAlternateScreen);
        let _ = terminal::disable_raw_mode();
    }
}

fn ask(device: &str) -> Result<Status> {
    serde_json::from_str(&control::ask(&own_name(device), Request::Status)?).context("the agent is of another version")
}

/// Waits for the next turn, or for whoever has seen enough.
fn is_left() -> Result<bool> {
    if !event::poll(EVERY)? {
        return Ok(false);
    }
    let Event::Key(KeyEvent { code, modifiers, .. }) = event::read()? else { return Ok(false) };
    let interrupts = modifiers.contains(KeyModifiers::CONTROL) && code == KeyCode::Char('c');
    Ok(interrupts || matches!(code, KeyCode::Char('q') | KeyCode::Esc))
}

/// The table, within so many columns and rows.
fn table(status: &Status, sampler: &mut Sampler, columns: usize, rows: usize) -> String {
    let rates = sampler.rates(status);
    let mut flows: Vec<_> = status.flows.iter().zip(rates).collect();
    flows.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let number = |value: Option<f64>, scale: f64| value.map_or("–".into(), |value| format!("{:.1}", value * scale));
    let mut text = status.line() + "\n";
    // Writing to text does not fail.
    let _ = writeln!(text, "{:<40} {:>9} {:>9} {:>9} {:>9}", "QUEUE", "kB", "ms", "Mbit/s", "PRICE ms");
    for queue in &status.queues {
        let _ = writeln!(
            text,
            "{:<40} {:>9.1} {:>9} {:>9} {:>9}",
            queue.client.as_deref().unwrap_or(&status.device),
            queue.bytes as f64 * 1e-3,
            number(queue.delay_s, 1e3),
            number(queue.rate_bps, 1e-6),
            queue.price_s.map_or("–".into(), |s| format!("{:.2}", s * 1e3))
        );
    }
    let heads = ["STATION", "SERVER", "STATE", "Mbit/s", "SHARE", "WINDOW kB", "RTT ms"];
    let [station, server, state, rate, share, window, rtt] = heads;
    let _ = writeln!(text, "{station:<24} {server:<24} {state:<9} {rate:>8} {share:>8} {window:>10} {rtt:>8}");
    for (flow, rate_bps) in flows {
        let FlowStatus { client, server, state, share_bps, window_bytes, rtt_s, .. } = flow;
        let _ = writeln!(
            text,
            "{client:<24} {server:<24} {state:<9} {:>8.2} {:>8.2} {:>10.1} {:>8}",
            rate_bps * 1e-6,
            share_bps * 1e-6,
            *window_bytes as f64 * 1e-3,
            number(*rtt_s, 1e3)
        );
    }
    let lines = text.lines().take(rows).map(|line| line.chars().take(columns).collect::<String>() + "\n");
    lines.collect()
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run from a scenario's text to its result.

use std::io::{self, Write};
use std::path::Path;

use lasthop_core::packet::Parcel;

use crate::assemble::{Shortcuts, simulation};
use crate::capture::{Capture, Point};
use crate::probe::Recorder;
use crate::scenario::{ScenarioError, effective, parse};
use crate::summary::{CountedRun, Labels, Summary, summarise, system_table};
use crate::table::Table;
use crate::worlds::Worlds;

/// A run that has been set up and not yet ended.
#[derive(Debug)]
pub struct Run {
    text: String,
    worlds: Worlds,
    labels: Labels,
    threads: usize,
}

/// What a run gave.
#[derive(Debug)]
pub struct Outcome {
    /// The scenario's full text, overrides put in.
    pub scenario: String,
    /// The figures.
    pub summary: Summary,
    pub(crate) system: Table,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) capture: Option<Capture>,
}

impl Run {
    /// Sets up the run of the scenario `text` with `overrides` put in. Without a `seed` the scenario's holds. Files that
    /// the scenario names are looked for in `directory`.
    ///
    /// # Errors
    /// One line that names the key, its value and what is wanted.
    pub fn new(
        text: &str,
        directory: &Path,
        overrides: &[(String, String)],
        seed: Option<u64>,
    ) -> Result<Self, ScenarioError> {
        let text = if overrides.is_empty() { text.to_owned() } else { effective(text, overrides)? };
        let scenario = parse(&text)?;
        let (worlds, labels) = simulation(&scenario, seed.unwrap_or(scenario.seed), directory, Shortcuts::ALL)?;
        Ok(Self { text, worlds, labels, threads: 1 })
    }

    /// Takes so many threads, of which there is one at least, for parts of the network that share nothing. The results are the same
    /// bits.
    pub fn on_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Goes on for at most `events` events on each thread; false when the run is over.
    ///
    /// # Errors
    /// If so many packets are under way, or have been recorded, that more would fill the memory.
    pub fn advance(&mut self, events: u64) -> Result<bool, ScenarioError> {
        let goes_on = self.worlds.advance(self.threads, events);
        self.worlds.check_memory()?;
        Ok(goes_on)
    }

    /// How far the run has come, from 0 to 1.
    pub fn progress(&self) -> f64 {
        self.worlds.progress()
    }

    /// Whether anything in the run depends on the seed.
    pub fn is_random(&self) -> bool {
        self.labels.is_random
    }

    /// Goes on to the end, whatever memory it takes.
    pub fn finish(mut self) -> Outcome {
        while self.worlds.advance(self.threads, u64::MAX) {}
        let (recorder, mut capture) = self.worlds.take_records();
        if let Some(capture) = &mut capture {
            capture.sort();
        }
        Outcome { capture, ..Outcome::new(self.text, &self.worlds.counted(), &self.labels, recorder) }
    }
}

impl Outcome {
    /// What the run of the scenario `text` gave; what was recorded over time is in the `recorder`.
    pub fn new<P: Parcel>(
        text: String,
        counted: &CountedRun<'_, P>,
        labels: &Labels,
        recorder: Option<Recorder>,
    ) -> Self {
        let (summary, system) = (summarise(counted, labels), system_table(counted, labels));
        Self { scenario: text, summary, system, recorder, capture: None }
    }

    /// What was recorded over time: `system`, and `flows`, `queues` and `packets` as far as the scenario's probe asked for
    /// them.
    pub fn tables(&self) -> Vec<(&'static str, Table)> {
        let mut tables = vec![("system", self.system.clone())];
        if let Some(recorder) = &self.recorder {
            tables.push(("flows", recorder.flow_table()));
            tables.push(("queues", recorder.queue_table()));
        }
        if let Some(capture) = &self.capture {
            tables.push(("packets", capture.table()));
        }
        tables
    }

    /// Whether packets were recorded.
    pub fn has_packets(&self) -> bool {
        self.capture.is_some()
    }

    /// Writes the packets recorded at one `end` of the flows as pcapng; nothing if none were recorded.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_pcapng(&self, out: &mut dyn Write, end: Point) -> io::Result<()> {
        match &self.capture {
            Some(capture) => capture.write_pcapng(out, end),
            None => Ok(()),
        }
    }
}

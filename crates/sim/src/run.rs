// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run from a scenario's text to its result.

use std::io::{self, Write};
use std::path::Path;

use crate::build::build;
use crate::scenario::{Scenario, ScenarioError, effective, parse};
use crate::summary::{Labels, Summary, summarise, system_table};
use crate::table::Table;
use crate::world::World;

/// A run that has been set up and not yet ended.
#[derive(Debug)]
pub struct Run {
    text: String,
    world: World,
    labels: Labels,
}

/// What a run gave.
#[derive(Debug)]
pub struct Outcome {
    /// The scenario's full text, overrides put in.
    pub scenario: String,
    /// The figures.
    pub summary: Summary,
    world: World,
    labels: Labels,
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
        let text = effective(text, overrides)?;
        let scenario: Scenario = parse(&text)?;
        let (world, labels) = build(&scenario, seed.unwrap_or(scenario.seed), directory)?;
        Ok(Self { text, world, labels })
    }

    /// Goes on for at most `events` events; false when the run is over.
    pub fn advance(&mut self, events: u64) -> bool {
        self.world.advance(events)
    }

    /// How far the run has come, from 0 to 1.
    pub fn progress(&self) -> f64 {
        self.world.progress()
    }

    /// Goes on to the end.
    pub fn finish(mut self) -> Outcome {
        self.world.run();
        if let Some(capture) = &mut self.world.capture {
            capture.sort();
        }
        let summary = summarise(&self.world, &self.labels);
        Outcome { scenario: self.text, summary, world: self.world, labels: self.labels }
    }
}

impl Outcome {
    /// What was recorded over time: `system`, and `flows`, `queues` and `packets` as far as the scenario's probe asked for
    /// them.
    pub fn tables(&self) -> Vec<(&'static str, Table)> {
        let mut tables = vec![("system", system_table(&self.world, &self.labels))];
        if let Some(recorder) = &self.world.recorder {
            tables.push(("flows", recorder.flow_table()));
            tables.push(("queues", recorder.queue_table()));
        }
        if let Some(capture) = &self.world.capture {
            tables.push(("packets", capture.table()));
        }
        tables
    }

    /// Whether packets were recorded.
    pub fn has_packets(&self) -> bool {
        self.world.capture.is_some()
    }

    /// Writes the recorded packets as pcapng; nothing if none were recorded.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_pcapng(&self, out: &mut dyn Write) -> io::Result<()> {
        match &self.world.capture {
            Some(capture) => capture.write_pcapng(out),
            None => Ok(()),
        }
    }
}

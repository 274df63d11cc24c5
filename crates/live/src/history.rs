// SPDX-License-Identifier: MIT OR Apache-2.0
//! The last minutes, as the page draws them.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

/// Most samples that are kept: five minutes of one a second.
const KEPT: usize = 300;
/// Most queues, and most stations, of one sample: those with the highest rates.
const SHOWN: usize = 64;

/// How it stood at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sample {
    /// Since the start \[s\].
    pub t_s: f64,
    /// Queues.
    pub queues: Vec<LiveQueue>,
    /// Who is served.
    pub stations: Vec<LiveStation>,
}

/// A queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LiveQueue {
    /// Whose it is, or its own name.
    pub name: String,
    /// What it holds \[B\].
    pub bytes: u64,
    /// How long that lasts \[s\]; none where the rate is unknown.
    pub delay_s: Option<f64>,
    /// Its rate \[bit/s\].
    pub rate_bps: Option<f64>,
    /// Its price \[s\], where the law has one.
    pub price_s: Option<f64>,
}

/// Who is served, all flows together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LiveStation {
    /// Its address or name.
    pub name: String,
    /// How many flows.
    pub flows: u64,
    /// What they delivered since the sample before \[bit/s\].
    pub rate_bps: f64,
    /// Their windows' sum \[B\].
    pub window_bytes: u64,
    /// The largest of their last round trips \[s\].
    pub rtt_s: Option<f64>,
}

/// The last minutes of something that runs.
#[derive(Debug)]
pub struct History {
    title: String,
    target_s: Option<f64>,
    samples: Mutex<VecDeque<Sample>>,
}

/// What the page asks for.
#[derive(Serialize)]
struct Shown<'a> {
    title: &'a str,
    target_s: Option<f64>,
    /// When the last sample is from: before what the page has, something else runs by now.
    last_s: Option<f64>,
    samples: Vec<&'a Sample>,
}

impl History {
    /// An empty one, of something by this title whose queue is to last `target_s`, if that is known.
    pub fn new(title: impl Into<String>, target_s: Option<f64>) -> Self {
        Self { title: title.into(), target_s, samples: Mutex::default() }
    }

    /// Adds how it stands now. Of very many queues and stations the fastest are kept.
    pub fn add(&self, mut sample: Sample) {
        sample.queues.sort_by(|a, b| b.rate_bps.unwrap_or(0.0).total_cmp(&a.rate_bps.unwrap_or(0.0)));
        sample.stations.sort_by(|a, b| b.rate_bps.total_cmp(&a.rate_bps));
        sample.queues.truncate(SHOWN);
        sample.stations.truncate(SHOWN);
        let mut samples = self.lock();
        if samples.len() >= KEPT {
            samples.pop_front();
        }
        samples.push_back(sample);
    }

    /// The samples after a moment \[s\], in JSON.
    pub fn json(&self, after_s: f64) -> String {
        let samples = self.lock();
        let shown = Shown {
            title: &self.title,
            target_s: self.target_s,
            last_s: samples.back().map(|sample| sample.t_s),
            samples: samples.iter().filter(|sample| sample.t_s > after_s).collect(),
        };
        // Text and numbers: they have a form in JSON.
        serde_json::to_string(&shown).unwrap_or_default()
    }

    /// Whoever panicked within left whole samples.
    fn lock(&self) -> MutexGuard<'_, VecDeque<Sample>> {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(t_s: f64) -> Sample {
        Sample { t_s, ..Sample::default() }
    }

    #[test]
    fn what_is_asked_for_is_what_is_new() {
        let history = History::new("eth1", Some(0.025));
        for t in 0..400 {
            history.add(at(f64::from(t)));
        }
        let shown = |after| serde_json::from_str::<serde_json::Value>(&history.json(after)).unwrap();
        let all = shown(-1.0);
        assert_eq!(all["samples"].as_array().unwrap().len(), KEPT);
        assert_eq!((&all["samples"][0]["t_s"], &all["target_s"]), (&100.0.into(), &0.025.into()));
        assert_eq!(shown(397.0)["samples"].as_array().unwrap().len(), 2);
        assert!(shown(399.0)["samples"].as_array().unwrap().is_empty());
        assert_eq!(shown(500.0)["last_s"], 399.0);
    }

    #[test]
    fn of_very_many_stations_the_fastest_are_kept() {
        let stations = (0..200).map(|i| LiveStation { rate_bps: f64::from(i), ..LiveStation::default() });
        let history = History::new("", None);
        history.add(Sample { stations: stations.collect(), ..at(1.0) });
        let kept = history.lock().pop_back().unwrap().stations;
        assert_eq!((kept.len(), kept[0].rate_bps, kept[SHOWN - 1].rate_bps), (SHOWN, 199.0, 136.0));
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The keys of a scenario, where the core calls them otherwise.

use lasthop_core::error::ParameterError;

/// The core's keys, and the scenario's.
const KEYS: [(&str, &str); 4] = [
    // A law's parameters stand beside all others.
    ("law.", ""),
    ("queue.price.", "price."),
    ("queue.feedback.", "feedback."),
    ("radio.fading.", "radio."),
];

/// The same, where a receiver's whole key is another.
const OF_RECEIVERS: [(&str, &str); 2] = [("law.alpha", "packets"), ("delayed_ack", "delayed_acks.timeout")];

/// The error with the key as a scenario writes it.
pub(super) fn written(mut error: ParameterError) -> ParameterError {
    for (core, scenario) in KEYS {
        error.key = error.key.replace(core, scenario);
    }
    error
}

/// The same of a receiver.
pub(super) fn of_receiver(mut error: ParameterError) -> ParameterError {
    if let Some((_, scenario)) = OF_RECEIVERS.iter().find(|(core, _)| *core == error.key) {
        error.key = (*scenario).to_owned();
    }
    written(error)
}

/// The same of one of several `stations`: those that the scenario does not list have the keys of all.
pub(super) fn of_station(mut error: ParameterError, stations: &[String], listed: &[&str]) -> ParameterError {
    if let Some((name, rest)) = error.key.split_once('.')
        && stations.iter().any(|station| station == name)
    {
        error.key = match listed.iter().position(|station| *station == name) {
            Some(i) => format!("station[{i}].{rest}"),
            None => rest.to_owned(),
        };
    }
    written(error)
}

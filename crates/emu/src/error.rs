// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can go wrong before a run.

use lasthop_scenario::ScenarioError;

/// Why an emulation did not take place.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The scenario or an option cannot be emulated.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The system does not give what it takes.
    #[error(transparent)]
    System(#[from] lasthop_linux::Error),
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! `lasthop-agent cc`: the command line.

use anyhow::{Result, bail};
use clap::{Args, Subcommand};

use super::{CcLaw, found, load, set, unload};
use crate::output::print;
use crate::service::note;

/// Congestion controls for this machine's senders.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Add a law to the kernel as a congestion control for as long as the command runs.
    Load(Load),
    /// Show the controls, their parameters and what they have done.
    Status {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// Print metrics for Prometheus, such as the textfile collector of its node exporter reads.
        #[arg(long, conflicts_with = "json")]
        metrics: bool,
    },
    /// Change parameters of a control while it runs.
    Set {
        /// The control.
        name: String,
        /// Such as beta=0.75 or gamma.threshold=0.4.
        #[arg(required = true, value_name = "KEY=VALUE")]
        keys: Vec<String>,
    },
    /// Remove a control from the kernel; connections that use it keep it until they end.
    Unload {
        /// The control.
        name: String,
    },
}

/// What is put into the kernel.
#[derive(Debug, Args)]
pub struct Load {
    /// gamma, gamma-delta, gaimd, drain or delta.
    law: String,
    /// Segments that the window gains in a round trip; 4(1 − β²)/3 by default.
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    alpha: Option<String>,
    /// The share of the window that is left after a loss.
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    beta: Option<String>,
    /// The share of the greatest queue at which γ cuts.
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    gamma: Option<String>,
    /// Segments that the window gains in a round trip while the queue is short.
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    delta: Option<String>,
    /// Any other parameter, such as delta.threshold=0.2.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    keys: Vec<String>,
    /// The control's name in the kernel, up to 15 characters; lasthop_gamma, _gdelta, _gaimd, _drain or _delta by default.
    #[arg(long)]
    name: Option<String>,
    /// Leave the control in the kernel when the command ends.
    #[arg(long)]
    keep: bool,
}

impl Load {
    fn run(self) -> Result<()> {
        let own = [
            ("alpha", self.alpha),
            ("beta", self.beta),
            ("gamma.threshold", self.gamma),
            ("delta.increase", self.delta),
        ];
        let mut keys: Vec<_> = own.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
        keys.extend(pairs(&self.keys)?);
        load(CcLaw::named(&self.law)?, &keys, (self.name.as_deref(), self.keep))
    }
}

impl Command {
    /// Does what is asked.
    ///
    /// # Errors
    /// What is wrong, in one line.
    pub fn run(self) -> Result<()> {
        match self {
            Self::Load(load) => load.run()?,
            Self::Status { json, metrics } => {
                let controls = found()?;
                print(if metrics {
                    super::metrics::text(&controls)
                } else if json {
                    serde_json::to_string_pretty(&controls)? + "\n"
                } else if controls.is_empty() {
                    "no control of lasthop's is in the kernel\n".into()
                } else {
                    controls.iter().map(ToString::to_string).collect()
                })?;
            }
            Self::Set { name, keys } => set(&name, &pairs(&keys)?)?,
            Self::Unload { name } => match unload(&name)? {
                0 => note(format_args!("{name} is taken away")),
                left => note(format_args!("{name} is taken away; connections that keep it until they end: {left}")),
            },
        }
        Ok(())
    }
}

/// Keys and values.
///
/// # Errors
/// What is no pair.
pub fn pairs(texts: &[String]) -> Result<Vec<(String, String)>> {
    let pair = |text: &String| match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => bail!("{text}: wanted KEY=VALUE"),
    };
    texts.iter().map(pair).collect()
}

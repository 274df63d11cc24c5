// SPDX-License-Identifier: MIT OR Apache-2.0
//! `lasthop-agent qfcp` and `lasthop-agent xcp`: the command line.

use std::fmt::Debug;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{ArgGroup, Args, Subcommand};

use super::host::{self, HostOptions};
use super::router::{self, RouterOptions};
use super::{FeedbackLaw, lines};
use crate::cc::cli::pairs;
use crate::control::{self, Request};
use crate::output::print;
use crate::service;

/// Routers that tell senders what they may have, and hosts that obey.
#[derive(Debug, Subcommand)]
pub enum FeedbackCommand<C: CapacityArgs, L: LossArgs> {
    /// Tell what passes a device what it may have.
    Router(RouterArgs<C>),
    /// Have the connections of a control group ask routers, echo what those say, and obey.
    Host(HostArgs<L>),
    /// Tell how a router or a host is.
    Status {
        /// Which.
        #[command(flatten)]
        place: AtDevice,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// End a router or a host.
    Detach {
        /// Which.
        #[command(flatten)]
        place: AtDevice,
    },
}

/// What a router is told.
#[derive(Debug, Args)]
pub struct RouterArgs<C: CapacityArgs> {
    /// The device whose queue it is.
    #[arg(long = "dev", value_name = "DEV")]
    device: String,
    /// C.
    #[command(flatten)]
    capacity: C,
    /// Any other parameter, such as alpha=0.2; they are those of a scenario's router.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    keys: Vec<String>,
    /// Watch only: packets pass as they are.
    #[arg(long)]
    dry_run: bool,
    /// Have a page and metrics for Prometheus at an address of this machine alone.
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<String>,
}

/// What a router is told of its capacity.
pub trait CapacityArgs: Args + Debug {
    /// As keys and values of a file.
    fn keys(self) -> Vec<(String, String)>;
}

/// A capacity that is probed for.
#[derive(Debug, Args)]
pub struct ProbedCapacity {
    /// C at the start, such as "10 Mbit/s"; 1 Mbit/s unless told. It is probed for from there.
    #[arg(long, value_name = "RATE")]
    capacity: Option<String>,
    /// The most that C is probed up to; the device's speed unless told, or 10 Gbit/s where it tells none.
    #[arg(long, value_name = "RATE")]
    max_capacity: Option<String>,
}

/// A capacity that is held.
#[derive(Debug, Args)]
pub struct ToldCapacity {
    /// C, such as "10 Mbit/s"; the device's speed unless told, which must not be more than it can send.
    #[arg(long, value_name = "RATE")]
    capacity: Option<String>,
}

fn given<const N: usize>(keys: [(&str, Option<String>); N]) -> Vec<(String, String)> {
    keys.into_iter().filter_map(|(key, value)| Some((key.to_owned(), format!("{:?}", value?)))).collect()
}

impl CapacityArgs for ProbedCapacity {
    fn keys(self) -> Vec<(String, String)> {
        given([("capacity", self.capacity), ("max_capacity", self.max_capacity)])
    }
}

impl CapacityArgs for ToldCapacity {
    fn keys(self) -> Vec<(String, String)> {
        given([("capacity", self.capacity)])
    }
}

/// What a host is told of losses.
pub trait LossArgs: Args + Debug {
    /// Whether they are heeded where that is a choice.
    fn heed_loss(&self) -> bool;
}

/// Losses tell nothing unless that is chosen.
#[derive(Debug, Args)]
pub struct LossChoice {
    /// Halve the window after a loss until it is repaired.
    #[arg(long)]
    heed_loss: bool,
}

/// The law says what losses tell.
#[derive(Debug, Args)]
pub struct NoChoice {}

impl LossArgs for LossChoice {
    fn heed_loss(&self) -> bool {
        self.heed_loss
    }
}

impl LossArgs for NoChoice {
    fn heed_loss(&self) -> bool {
        false
    }
}

/// What a host is told.
#[derive(Debug, Args)]
pub struct HostArgs<L: LossArgs> {
    /// The control group, a folder of cgroup2.
    #[arg(long, value_name = "PATH")]
    cgroup: PathBuf,
    /// The congestion control's name in the kernel, up to 15 characters; lasthop_ and the law's unless told.
    #[arg(long)]
    name: Option<String>,
    /// Offer the option on connections alone that have chosen the congestion control by themselves.
    #[arg(long)]
    chosen_only: bool,
    /// Losses.
    #[command(flatten)]
    loss: L,
    /// Send as the window lets, in bursts where it grows; otherwise at most 1.25 as fast as the rate.
    #[arg(long)]
    unpaced: bool,
    /// Have a page and metrics for Prometheus at an address of this machine alone.
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<String>,
}

/// Which router or host.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("place").required(true)))]
pub struct AtDevice {
    /// The router at this device.
    #[arg(long = "dev", value_name = "DEV", group = "place")]
    device: Option<String>,
    /// The host of this control group.
    #[arg(long, value_name = "PATH", group = "place")]
    cgroup: Option<PathBuf>,
    /// The control of a host that serves those alone who choose it.
    #[arg(long, requires = "cgroup")]
    name: Option<String>,
}

impl AtDevice {
    fn address(&self, law: FeedbackLaw) -> String {
        match (&self.device, &self.cgroup) {
            (Some(device), _) => router::address(law, device),
            (None, Some(cgroup)) => host::address(law, cgroup, self.name.as_deref()),
            // One of them is demanded.
            (None, None) => String::new(),
        }
    }
}

impl<C: CapacityArgs, L: LossArgs> FeedbackCommand<C, L> {
    /// Does what is asked.
    ///
    /// # Errors
    /// What is wrong, in one line.
    pub fn run(self, law: FeedbackLaw) -> Result<()> {
        match self {
            Self::Router(args) => {
                let keys = args.capacity.keys().into_iter().chain(pairs(&args.keys)?).collect();
                router::run(
                    law,
                    &RouterOptions { device: args.device, keys, dry_run: args.dry_run, metrics: args.metrics },
                )
            }
            Self::Host(args) => host::run(
                law,
                &HostOptions {
                    cgroup: args.cgroup,
                    name: args.name,
                    chosen_only: args.chosen_only,
                    heed_loss: args.loss.heed_loss(),
                    unpaced: args.unpaced,
                    metrics: args.metrics,
                },
            ),
            Self::Status { place, json } => {
                let answer = control::ask(&place.address(law), Request::Status)?;
                if json {
                    print(format!("{answer}\n"))?;
                } else {
                    print(lines(&serde_json::from_str(&answer).context("the agent is of another version")?))?;
                }
                Ok(())
            }
            Self::Detach { place } => {
                control::ask(&place.address(law), Request::Detach)?;
                service::note(format_args!("{}: it has left", place.address(law)));
                Ok(())
            }
        }
    }
}

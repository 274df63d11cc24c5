// SPDX-License-Identifier: MIT OR Apache-2.0
//! `lasthop-agent qfcp`: the command line.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{ArgGroup, Args, Subcommand};

use super::host::{self, HostOptions};
use super::router::{self, RouterOptions};
use super::{FeedbackLaw, lines};
use crate::cc::cli::pairs;
use crate::control::{self, Request};

/// Routers that tell senders what they may have, and hosts that obey.
#[derive(Debug, Subcommand)]
pub enum FeedbackCommand {
    /// Tell what passes a device what it may have.
    Router(RouterArgs),
    /// Have the connections of a control group ask routers, echo what those say, and obey.
    Host(HostArgs),
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
pub struct RouterArgs {
    /// The device whose queue it is.
    #[arg(long = "dev", value_name = "DEV")]
    device: String,
    /// C at the start, such as "10 Mbit/s"; 1 Mbit/s unless told. It is probed for from there.
    #[arg(long, value_name = "RATE")]
    capacity: Option<String>,
    /// The most that C is probed up to; the device's speed unless told, or 10 Gbit/s where it tells none.
    #[arg(long, value_name = "RATE")]
    max_capacity: Option<String>,
    /// Any other parameter, such as probing=false; they are those of a scenario's router.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    keys: Vec<String>,
    /// Watch only: packets pass as they are.
    #[arg(long)]
    dry_run: bool,
    /// Have a page and metrics for Prometheus at an address of this machine alone.
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<String>,
}

/// What a host is told.
#[derive(Debug, Args)]
pub struct HostArgs {
    /// The control group, a folder of cgroup2.
    #[arg(long, value_name = "PATH")]
    cgroup: PathBuf,
    /// The congestion control's name in the kernel, up to 15 characters; lasthop_ and the law's unless told.
    #[arg(long)]
    name: Option<String>,
    /// Offer the option on connections alone that have chosen the congestion control by themselves.
    #[arg(long)]
    chosen_only: bool,
    /// Halve the window after a loss until it is repaired.
    #[arg(long)]
    heed_loss: bool,
    /// Send as the window lets, in bursts where it grows; otherwise at most twice as fast as the rate.
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

impl FeedbackCommand {
    /// Does what is asked.
    ///
    /// # Errors
    /// What is wrong, in one line.
    pub fn run(self, law: FeedbackLaw) -> Result<()> {
        match self {
            Self::Router(args) => {
                let text = |value: String| format!("{value:?}");
                let own = [("capacity", args.capacity.map(text)), ("max_capacity", args.max_capacity.map(text))];
                let own = own.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
                let keys = own.chain(pairs(&args.keys)?).collect();
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
                    heed_loss: args.heed_loss,
                    unpaced: args.unpaced,
                    metrics: args.metrics,
                },
            ),
            Self::Status { place, json } => {
                let answer = control::ask(&place.address(law), Request::Status)?;
                if json {
                    println!("{answer}");
                } else {
                    print!("{}", lines(&serde_json::from_str(&answer).context("the agent is of another version")?));
                }
                Ok(())
            }
            Self::Detach { place } => {
                control::ask(&place.address(law), Request::Detach)?;
                eprintln!("lasthop-agent: {}: it leaves", place.address(law));
                Ok(())
            }
        }
    }
}

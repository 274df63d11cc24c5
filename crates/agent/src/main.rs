// SPDX-License-Identifier: MIT OR Apache-2.0
//! `lasthop-agent`: the command line.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, Parser, Subcommand};
use lasthop_agent::config::{Config, Law, Queue};
use lasthop_agent::control::{self, Request};
use lasthop_agent::doctor::{self, Verdict};
use lasthop_agent::status::Status;
use lasthop_agent::watch;
use lasthop_core::parameter::Parameter;
use lasthop_core::units::Duration;

/// Short queues for the clients of a device, whatever their servers send by.
#[derive(Debug, Parser)]
#[command(name = "lasthop-agent", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Lower the windows of the clients' ACKs, so that what is queued for them stays short.
    Proxy(Proxy),
    /// Tell whether this machine can run it, and why not.
    Doctor {
        /// The device towards the clients.
        #[arg(long = "dev", value_name = "DEV")]
        device: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Tell how the agent of a device is.
    Status {
        /// The device.
        #[arg(long = "dev", value_name = "DEV")]
        device: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// End the agent of a device.
    Detach {
        /// The device.
        #[arg(long = "dev", value_name = "DEV")]
        device: String,
    },
}

#[derive(Debug, Args)]
struct Proxy {
    /// The device towards the clients.
    #[arg(long = "dev", value_name = "DEV")]
    device: Option<String>,
    /// A file of settings; what the command line says goes before it.
    #[arg(long, value_name = "FILE.toml")]
    config: Option<PathBuf>,
    /// The standing queue that is wanted, e.g. "20 ms".
    #[arg(long, value_name = "TIME")]
    target: Option<String>,
    /// Where the queue is: in the device's qdisc, or downstream and known from ACKs alone.
    #[arg(long, value_name = "auto|qdisc|outstanding")]
    queue: Option<String>,
    /// Watch only: packets pass as they are.
    #[arg(long)]
    dry_run: bool,
}

impl Proxy {
    fn config(self) -> Result<Config> {
        let mut config = self.config.as_deref().map(Config::read).transpose()?.unwrap_or_default();
        if let Some(device) = self.device {
            config.device = device;
        }
        let Law::Share(law) = &mut config.law;
        if let Some(text) = &self.target {
            law.target =
                text.parse::<Duration>().map_err(|error| anyhow!("--target {text}: wanted {}", error.wanted))?;
        }
        config.queue = match self.queue.as_deref() {
            None => config.queue,
            Some("auto") => Queue::Auto,
            Some("qdisc") => Queue::Qdisc,
            Some("outstanding") => Queue::Outstanding,
            Some(other) => bail!("--queue {other}: wanted auto, qdisc or outstanding"),
        };
        config.dry_run |= self.dry_run;
        config.validate().map_err(|error| anyhow!("{error}"))?;
        Ok(config)
    }
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("lasthop-agent: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Proxy(proxy) => watch::run(&proxy.config()?)?,
        Command::Doctor { device, json } => {
            let found = doctor::diagnose(device.as_deref());
            if json {
                println!("{}", serde_json::to_string_pretty(&found)?);
            } else {
                print!("{found}");
            }
            return Ok(ExitCode::from(u8::from(found.verdict == Verdict::No)));
        }
        Command::Status { device, json } => {
            let answer = control::ask(&device, Request::Status)?;
            if json {
                println!("{answer}");
            } else {
                let status: Status = serde_json::from_str(&answer).context("the agent is of another version")?;
                print!("{status}");
            }
        }
        Command::Detach { device } => {
            control::ask(&device, Request::Detach)?;
            eprintln!("lasthop-agent: {device}: the agent leaves");
        }
    }
    Ok(ExitCode::SUCCESS)
}

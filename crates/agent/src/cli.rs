// SPDX-License-Identifier: MIT OR Apache-2.0
//! `lasthop-agent`: the command line.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

use crate::control::{self, Request};
use crate::doctor::{self, Readiness};
use crate::options::{self, Options};
use crate::status::Status;
use crate::{top, watch};

/// Short queues for the clients of a device, whatever their servers send by.
#[derive(Debug, Parser)]
#[command(name = "lasthop-agent", version)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Lower the windows of the clients' ACKs, so that what is queued for them stays short.
    Proxy(Options),
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
    /// Show the queues and connections of a device, anew each second; once where the output is no terminal.
    Top {
        /// The device.
        #[arg(long = "dev", value_name = "DEV")]
        device: String,
    },
    /// Files of settings.
    #[command(subcommand)]
    Config(ConfigCommand),
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Check a file; exit status 2 if it is wrong.
    Check {
        /// The file.
        #[arg(value_name = "FILE", default_value = options::FILE)]
        file: PathBuf,
    },
    /// Print a file with every key as it is by default, and what it means.
    Default,
}

impl Cli {
    /// Does what is asked.
    ///
    /// # Errors
    /// What is wrong, in one line.
    pub fn run(self) -> Result<ExitCode> {
        match self.command {
            Command::Proxy(options) => watch::run(&options.config()?)?,
            Command::Doctor { device, json } => {
                let found = doctor::diagnose(device.as_deref());
                if json {
                    println!("{}", serde_json::to_string_pretty(&found)?);
                } else {
                    print!("{found}");
                }
                return Ok(ExitCode::from(u8::from(found.verdict == Readiness::No)));
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
            Command::Top { device } => top::run(&device)?,
            Command::Config(ConfigCommand::Check { file }) => {
                options::check(&file)?;
                println!("{}: valid", file.display());
            }
            Command::Config(ConfigCommand::Default) => print!("{}", options::default_file()),
        }
        Ok(ExitCode::SUCCESS)
    }
}

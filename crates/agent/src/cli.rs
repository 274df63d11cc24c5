// SPDX-License-Identifier: MIT OR Apache-2.0
//! `lasthop-agent`: the command line.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::attach::own_name;
use crate::cc;
use crate::control::{self, Request};
use crate::doctor::{self, Readiness};
use crate::feedback::FeedbackLaw;
use crate::feedback::cli::{FeedbackCommand, LossChoice, NoChoice, ProbedCapacity, ToldCapacity};
use crate::mode::Mode;
use crate::options::{self, ApOptions, ClientOptions, ProxyOptions};
use crate::output::print;
use crate::service;
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
    Proxy(ProxyOptions),
    /// Write the price of the queue for the stations into their packets, for `client` at each of them.
    Ap(ApOptions),
    /// Lower the windows of this station's ACKs by the price that the access point's `ap` writes.
    Client(ClientOptions),
    /// Check whether this machine can run the agent, and say why not.
    Doctor {
        /// The device towards the clients.
        #[arg(long = "dev", value_name = "DEV")]
        device: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show the state of a device's agent.
    Status {
        /// The device.
        #[arg(long = "dev", value_name = "DEV")]
        device: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Stop the agent of a device.
    Detach {
        /// The device.
        #[arg(long = "dev", value_name = "DEV")]
        device: String,
    },
    /// Show the queues and connections of a device, renewed every second, or once if the output is not a terminal.
    Top {
        /// The device.
        #[arg(long = "dev", value_name = "DEV")]
        device: String,
    },
    /// Congestion controls for this machine's senders.
    #[command(subcommand)]
    Cc(cc::cli::Command),
    /// QFCP: routers tell all flows one fair rate, and hosts obey it.
    #[command(subcommand)]
    Qfcp(FeedbackCommand<ProbedCapacity, LossChoice>),
    /// XCP: routers tell each flow by how much its rate is to change, and hosts obey.
    #[command(subcommand)]
    Xcp(FeedbackCommand<ToldCapacity, NoChoice>),
    /// Files of settings.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Write the manual and the completion for shells, laid out as /usr/share is.
    #[command(hide = true)]
    Manual {
        /// The folder.
        #[arg(value_name = "SHARE")]
        share: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Check a file; exit status 2 if it is wrong.
    Check {
        /// The file.
        #[arg(value_name = "FILE", default_value = options::FILE)]
        file: PathBuf,
    },
    /// Print a file with every key, its meaning and its default.
    Default,
}

impl Cli {
    /// What the command line asks for; it ends here where that is help or the version.
    ///
    /// # Errors
    /// What is wrong with it, in one line.
    pub fn read() -> Result<Self> {
        Self::try_parse().map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => error.exit(),
            _ => anyhow!("{}", one_line(&error)),
        })
    }

    /// Does what is asked.
    ///
    /// # Errors
    /// What is wrong, in one line.
    pub fn run(self) -> Result<ExitCode> {
        match self.command {
            Command::Proxy(ProxyOptions(options)) => watch::run(Mode::Proxy, &options.config()?)?,
            Command::Ap(ApOptions(options)) => watch::run(Mode::Ap, &options.config()?)?,
            Command::Client(ClientOptions(options)) => watch::run(Mode::Client, &options.config()?)?,
            Command::Doctor { device, json } => {
                let found = doctor::diagnose(device.as_deref());
                print(if json { serde_json::to_string_pretty(&found)? + "\n" } else { found.to_string() })?;
                return Ok(ExitCode::from(u8::from(found.verdict == Readiness::No)));
            }
            Command::Status { device, json } => {
                let answer = control::ask(&own_name(&device), Request::Status)?;
                let status = || serde_json::from_str::<Status>(&answer).context("the agent is of another version");
                print(if json { format!("{answer}\n") } else { status()?.to_string() })?;
            }
            Command::Detach { device } => {
                control::ask(&own_name(&device), Request::Detach)?;
                service::note(format_args!("{device}: the agent has left"));
            }
            Command::Cc(command) => command.run()?,
            Command::Qfcp(command) => command.run(FeedbackLaw::Qfcp)?,
            Command::Xcp(command) => command.run(FeedbackLaw::Xcp)?,
            Command::Top { device } => top::run(&device)?,
            Command::Config(ConfigCommand::Check { file }) => {
                let config = options::check(&file)?;
                let lacks = if config.device.is_empty() { "; it names no device: proxy wants --dev" } else { "" };
                print(format!("{}: valid{lacks}\n", file.display()))?;
            }
            Command::Manual { share } => manual(&share)?,
            Command::Config(ConfigCommand::Default) => print(options::default_file())?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What is wrong with a command line, without the usage that clap would print below it.
fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let (wrong, usage) = text.split_once("Usage:").unwrap_or((&text, ""));
    let words = usage.split_whitespace().take_while(|word| !word.starts_with(['[', '<', '-']));
    let command = words.collect::<Vec<_>>().join(" ");
    let command = if command.is_empty() { "lasthop-agent" } else { &command };
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return format!("wanted a command (see {command} --help)");
    }
    let lines =
        wrong.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("For more information"));
    let wrong = lines.collect::<Vec<_>>().join(" ").replace(" tip: ", ": ");
    format!("{} (see {command} --help)", wrong.trim_start_matches("error: "))
}

/// Writes the manual, a page each command, and the completion for shells.
fn manual(share: &Path) -> Result<()> {
    let mut command = Cli::command();
    let mut files = vec![];
    for (path, shell) in [
        ("bash-completion/completions/lasthop-agent", Shell::Bash),
        ("zsh/vendor-completions/_lasthop-agent", Shell::Zsh),
        ("fish/vendor_completions.d/lasthop-agent.fish", Shell::Fish),
    ] {
        let mut text = vec![];
        clap_complete::generate(shell, &mut command, "lasthop-agent", &mut text);
        files.push((path.to_owned(), text));
    }
    // By now commands within commands know their whole names.
    pages(&command, "lasthop-agent", &mut files)?;
    for (path, text) in files {
        let path = share.join(path);
        let folder = path.parent().unwrap_or(share);
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// The pages of a command and those within it.
fn pages(command: &clap::Command, name: &str, files: &mut Vec<(String, Vec<u8>)>) -> Result<()> {
    let mut text = vec![];
    Man::new(command.clone()).section("8").manual("lasthop's manual").render(&mut text)?;
    files.push((format!("man/man8/{name}.8"), text));
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help") {
        pages(inner, &format!("{name}-{}", inner.get_name()), files)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(words: &[&str]) -> String {
        one_line(&Cli::try_parse_from([&["lasthop-agent"], words].concat()).unwrap_err())
    }

    #[test]
    fn a_wrong_command_line_is_told_in_one_line() {
        for (words, told) in [
            (&[][..], "wanted a command (see lasthop-agent --help)"),
            (&["cc"], "wanted a command (see lasthop-agent cc --help)"),
            (
                &["prxy"],
                "unrecognized subcommand 'prxy': a similar subcommand exists: 'proxy' (see lasthop-agent --help)",
            ),
            (
                &["status"],
                "the following required arguments were not provided: --dev <DEV> (see lasthop-agent status --help)",
            ),
            (&["proxy", "--set", "x"], "wanted KEY=VALUE"),
            (
                &["proxy", "--tagret", "1"],
                "unexpected argument '--tagret' found: a similar argument exists: '--target'",
            ),
        ] {
            let found = refused(words);
            assert!(found.contains(told) && found.lines().count() == 1, "{words:?}: {found}");
        }
    }
}

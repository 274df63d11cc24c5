// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line's part of the settings. Options stand for keys of the file; what they mean is said where the keys are
//! declared, in [`crate::config`].

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, value_parser};
use lasthop_core::law::kernel::RECEIVER_REFILL;
use lasthop_core::parameter::text::schemars::schema_for;
use lasthop_core::parameter::text::serde_json::Value;
use lasthop_scenario::ScenarioError;

use crate::config::{ClampConfig, Config, Law, QueuePlace};
use crate::mode::Mode;

/// Where the settings of a machine are.
pub const FILE: &str = "/etc/lasthop/agent.toml";

/// An option that stands for a key: its name, the key, and what its value is called, or may be; none if it takes none.
type Short = (&'static str, &'static str, Option<&'static [&'static str]>);

/// A kind stands before its keys.
const SHORT: [Short; 8] = [
    ("dev", "device", Some(&["DEV"])),
    ("law", "law.kind", Some(Law::KINDS)),
    ("a", "law.a", Some(&["SIZE"])),
    ("tau", "law.tau", Some(&["SIZE"])),
    ("target", "law.target", Some(&["TIME"])),
    ("queue", "queue", Some(QueuePlace::KINDS)),
    ("dry-run", "dry_run", None),
    ("metrics", "metrics", Some(&["ADDRESS:PORT"])),
];

/// Those that a mode has.
fn short(mode: Mode) -> impl Iterator<Item = &'static Short> {
    SHORT.iter().filter(move |(name, ..)| match mode {
        Mode::Proxy => *name != "tau",
        Mode::Ap => !matches!(*name, "law" | "tau" | "target" | "queue"),
        Mode::Client => !matches!(*name, "law" | "a" | "target" | "queue"),
    })
}

/// What the command line says: a file, and keys over it.
#[derive(Clone, Debug)]
pub struct Options {
    mode: Mode,
    file: Option<PathBuf>,
    /// Option, key and value in TOML.
    given: Vec<(String, String, String)>,
}

impl Options {
    /// All settings.
    ///
    /// # Errors
    /// File or option, key, value and what is wanted.
    pub fn config(&self) -> Result<Config> {
        let text = self.file.as_deref().map(read).transpose()?.unwrap_or_default();
        let mut overrides: Vec<_> = self.given.iter().map(|(_, key, value)| (key.clone(), value.clone())).collect();
        let is_clamps = self.mode != Mode::Proxy;
        if is_clamps && self.given.iter().any(|(_, key, _)| key.starts_with("law.") && key != "law.kind") {
            overrides.insert(0, ("law.kind".into(), "\"clamp\"".into()));
        }
        self.demand_one_word()?;
        let mut config: Config = lasthop_scenario::effective(&text, &overrides)
            .and_then(|text| lasthop_scenario::read(&text))
            .map_err(|error| self.told(error))?;
        let says = self.given.iter().any(|(_, key, _)| key.starts_with("law"));
        if is_clamps && !says && config.law == Config::default().law {
            config.law = Law::Clamp(ClampConfig::default());
        }
        if is_clamps && !matches!(config.law, Law::Clamp(_)) {
            let file = self.file.as_ref().map_or(String::new(), |file| format!("{}: ", file.display()));
            let name = config.law.name();
            bail!("{file}law.kind = \"{name}\": wanted \"clamp\", the law of `{}`", self.mode.name());
        }
        if let (Mode::Client, Law::Clamp(clamp)) = (self.mode, &mut config.law) {
            clamp.refill.get_or_insert(RECEIVER_REFILL);
        }
        Ok(config)
    }

    /// No `--set` says what an option says as well, or all of the table in which that is: one of them would be lost.
    fn demand_one_word(&self) -> Result<()> {
        for (_, key, value) in self.given.iter().filter(|(option, ..)| option == "--set") {
            let is_in =
                |own: &str| own == key || own.strip_prefix(key.as_str()).is_some_and(|rest| rest.starts_with('.'));
            if let Some((option, own, _)) = self.given.iter().find(|(option, own, _)| option != "--set" && is_in(own)) {
                bail!("--set {key}={value}: {option} says {own} already: wanted one of them");
            }
        }
        Ok(())
    }

    /// Names the option whose key is wrong, or the file.
    fn told(&self, error: ScenarioError) -> anyhow::Error {
        let option = self.given.iter().rfind(|(_, key, _)| *key == error.path).map(|(option, ..)| option);
        match (option, &self.file) {
            (Some(option), _) if option != "--set" => match &error.value {
                Some(value) => anyhow!("{option} {}: {}", value.trim_matches('"'), error.wanted),
                // There is a key for each option, but not in each law.
                None if option == "--target" => anyhow!(
                    "{option} is an option of the laws \"share\" and \"station\": wanted --law share or --law station with it"
                ),
                None if error.path.starts_with("law.") => {
                    anyhow!("{option} is an option of the law \"clamp\": wanted --law clamp with it")
                }
                None => anyhow!("{option}: {}", error.wanted),
            },
            (Some(option), _) => anyhow!("{option} {error}"),
            (None, Some(file)) => anyhow!("{}: {error}{}", file.display(), hint(&error)),
            (None, None) => anyhow!("{error}"),
        }
    }
}

/// Keys that no option stands for.
const OTHERS: [&str; 4] = ["law.g", "law.theta", "law.kappa", "law.clock"];

/// Where a key that is not known belongs, or would if it were spelt so; empty if that is nowhere.
fn hint(error: &ScenarioError) -> String {
    let written = error.path.rsplit('.').next().unwrap_or_default();
    let is_unknown = error.to_string().contains("unknown key");
    let known = SHORT.iter().map(|(_, key, _)| *key).chain(OTHERS).find(|key| {
        let last = key.rsplit('.').next().unwrap_or_default();
        *key != error.path && (last == written || is_near(last, written))
    });
    known.filter(|_| is_unknown).map_or(String::new(), |key| format!("; did you mean {key}?"))
}

/// Whether one character more, less or other makes one word of the other.
fn is_near(one: &str, other: &str) -> bool {
    let longest = one.len().max(other.len());
    let front = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let back = one.bytes().rev().zip(other.bytes().rev()).take_while(|(a, b)| a == b).count();
    longest > 3 && one.len().abs_diff(other.len()) <= 1 && front + back + 1 >= longest
}

/// Reads a file and checks it.
///
/// # Errors
/// File, key, value and what is wanted.
pub fn check(file: &Path) -> Result<Config> {
    if !file.exists() {
        bail!("{}: no such file; `lasthop-agent config default` prints one with every key", file.display());
    }
    Options { mode: Mode::Proxy, file: Some(file.to_owned()), given: vec![] }.config()
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

impl Options {
    fn of(mode: Mode, matches: &ArgMatches) -> Self {
        let mut given = vec![];
        for (name, key, value) in short(mode) {
            let value = match value {
                None => matches.get_flag(name).then(|| "true".to_owned()),
                // Where a number is wanted it is one; all else is text.
                Some(_) => matches.get_one::<String>(name).map(|text| match text.parse::<f64>() {
                    Ok(_) if is_number(key) => text.clone(),
                    _ => Value::from(text.as_str()).to_string(),
                }),
            };
            given.extend(value.map(|value| (format!("--{name}"), (*key).to_owned(), value)));
        }
        for pair in matches.get_many::<(String, String)>("set").into_iter().flatten() {
            given.push(("--set".into(), pair.0.clone(), pair.1.clone()));
        }
        Self { mode, file: matches.get_one::<PathBuf>("config").cloned(), given }
    }

    fn augment(mode: Mode, command: Command) -> Command {
        let config = Arg::new("config").long("config").value_name("FILE").value_parser(value_parser!(PathBuf));
        let set = Arg::new("set").long("set").value_name("KEY=VALUE").action(ArgAction::Append).value_parser(pair);
        let command = command
            .arg(config.help(format!("A file of settings, such as {FILE}; options on the command line override it")));
        let command = short(mode).fold(command, |command, (name, key, value)| {
            let action = if value.is_some() { ArgAction::Set } else { ArgAction::SetTrue };
            let mut arg = Arg::new(*name).long(*name).action(action).help(about(key));
            if let Some(value) = value {
                arg = arg.value_name(value.join("|"));
            }
            command.arg(arg)
        });
        command.arg(set.help("Any other key of the file, such as law.g=0.9; may be repeated"))
    }
}

/// The options of a mode, as clap takes them.
macro_rules! options_of {
    ($(#[$about:meta] $name:ident = $mode:expr;)+) => {$(
        #[$about]
        #[derive(Clone, Debug)]
        pub struct $name(pub Options);

        impl FromArgMatches for $name {
            fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
                Ok(Self(Options::of($mode, matches)))
            }

            fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
                self.0 = Options::of($mode, matches);
                Ok(())
            }
        }

        impl Args for $name {
            fn augment_args(command: Command) -> Command {
                Options::augment($mode, command)
            }

            fn augment_args_for_update(command: Command) -> Command {
                Options::augment($mode, command)
            }
        }
    )+};
}

options_of! {
    /// Those of `proxy`.
    ProxyOptions = Mode::Proxy;
    /// Those of `ap`.
    ApOptions = Mode::Ap;
    /// Those of `client`.
    ClientOptions = Mode::Client;
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("wanted KEY=VALUE, such as law.g=0.9")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// The schema of the file.
fn schema() -> Value {
    schema_for!(Config).to_value()
}

/// What the schema says of a key, wherever in a kind's table that is.
fn entry<'s>(schema: &'s Value, key: &str) -> Option<&'s Value> {
    key.split('.').try_fold(schema, |table, part| {
        let table = resolved(schema, table);
        let own = table.get("properties").and_then(|keys| keys.get(part));
        own.or_else(|| {
            let kinds = table.get("oneOf")?.as_array()?;
            kinds.iter().find_map(|kind| resolved(schema, kind).get("properties")?.get(part))
        })
    })
}

/// What stands where a reference leads.
fn resolved<'s>(schema: &'s Value, found: &'s Value) -> &'s Value {
    let place = found.get("$ref").and_then(Value::as_str).and_then(|place| place.strip_prefix('#'));
    place.and_then(|place| schema.pointer(place)).unwrap_or(found)
}

fn is_number(key: &str) -> bool {
    let schema = schema();
    let of = entry(&schema, key).and_then(|entry| resolved(&schema, entry).get("type")).and_then(Value::as_str);
    matches!(of, Some("number" | "integer"))
}

/// A key's description, as help is written: without the stop at its end. A kind's is that of its table.
fn about(key: &str) -> String {
    let key = key.strip_suffix(".kind").unwrap_or(key);
    let schema = schema();
    let text = entry(&schema, key).and_then(|entry| entry.get("description")).and_then(Value::as_str);
    text.unwrap_or_default().replace('\n', " ").trim_end_matches('.').to_owned()
}

/// The file with every key, each as it is by default, behind what it means: what `lasthop-agent config default` prints.
pub fn default_file() -> String {
    let schema = schema();
    let mut text = format!(
        "# SPDX-License-Identifier: MIT OR Apache-2.0\n# {FILE}: the settings of lasthop-agent. Each key has its default; remove the # \
         in front of it to change it.\n"
    );
    let keys = schema.get("properties").and_then(Value::as_object);
    for (key, entry) in keys.into_iter().flatten() {
        text.push('\n');
        comment(&mut text, entry, "");
        let kinds = resolved(&schema, entry).get("oneOf").and_then(Value::as_array);
        let mut written = entry.get("default").map(Value::to_string).unwrap_or_else(|| "[]".into());
        for kind in kinds.into_iter().flatten() {
            let kind = resolved(&schema, kind);
            let name = kind.pointer("/properties/kind/const").or_else(|| kind.get("const")).and_then(Value::as_str);
            let Some(name) = name else { continue };
            comment(&mut text, kind, &format!("  \"{name}\": "));
            let own = kind.get("properties").and_then(Value::as_object);
            let own: Vec<_> = own.into_iter().flatten().filter(|(key, _)| *key != "kind").collect();
            for (key, entry) in &own {
                comment(&mut text, entry, &format!("    {key}: "));
            }
            if entry.get("default").and_then(Value::as_str) == Some(name) && !own.is_empty() {
                let given = own.iter().filter_map(|(key, entry)| Some(format!("{key} = {}", entry.get("default")?)));
                let given: Vec<_> = [format!("kind = \"{name}\"")].into_iter().chain(given).collect();
                written = format!("{{ {} }}", given.join(", "));
            }
        }
        let each = resolved(&schema, entry).get("items").map(|each| resolved(&schema, each));
        for (key, entry) in each.and_then(|each| each.get("properties")?.as_object()).into_iter().flatten() {
            comment(&mut text, entry, &format!("  {key}: "));
        }
        // Writing to text does not fail.
        let _ = writeln!(text, "#{key} = {written}");
    }
    text
}

fn comment(text: &mut String, entry: &Value, lead: &str) {
    let about = entry.get("description").and_then(Value::as_str).unwrap_or_default().replace('\n', " ");
    let domain = entry.get("domain").and_then(Value::as_str).map(|domain| format!(" Wanted: {domain}."));
    // What stands in a table has its default here.
    let default = entry.get("default").filter(|default| !lead.is_empty() && !default.is_null());
    let default = default.map(|default| format!(" By default {default}."));
    let _ = writeln!(text, "# {lead}{about}{}{}", domain.unwrap_or_default(), default.unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use lasthop_core::units::{Bytes, Duration};

    use super::*;

    fn options_of(mode: Mode, words: &[&str]) -> Options {
        let command = Options::augment(mode, Command::new("x"));
        Options::of(mode, &command.try_get_matches_from([&["x"], words].concat()).unwrap())
    }

    fn options(words: &[&str]) -> Options {
        options_of(Mode::Proxy, words)
    }

    fn refused(words: &[&str]) -> String {
        options(words).config().unwrap_err().to_string()
    }

    #[test]
    fn an_option_says_what_its_key_is() {
        for (name, key, _) in SHORT {
            assert!(!about(key).is_empty(), "--{name} stands for {key}, which is none");
        }
    }

    #[test]
    fn a_key_in_the_wrong_place_is_told_where_it_belongs() {
        let file = std::env::temp_dir().join(format!("lasthop-places-{}.toml", std::process::id()));
        let wrong = |text: &str| {
            fs::write(&file, text).unwrap();
            check(&file).unwrap_err().to_string()
        };
        assert!(wrong("target = \"25 ms\"").ends_with("; did you mean law.target?"));
        assert!(wrong("targett = \"25 ms\"").ends_with("; did you mean law.target?"));
        assert!(wrong("devise = \"eth1\"").ends_with("; did you mean device?"));
        assert!(!wrong("colour = 1").contains("did you mean"));
        fs::remove_file(&file).unwrap();
        let missing = check(&file).unwrap_err().to_string();
        assert!(
            missing.ends_with("no such file; `lasthop-agent config default` prints one with every key"),
            "{missing}"
        );
    }

    #[test]
    fn options_go_before_the_file_and_what_is_wrong_is_named() {
        let folder = std::env::temp_dir().join(format!("lasthop-options-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("agent.toml");
        let path = file.to_str().unwrap();
        fs::write(&file, "device = \"eth1\"\nlaw = { kind = \"share\", target = \"10 ms\", theta = \"20 ms\" }")
            .unwrap();
        let words = ["--config", path, "--target", "40 ms", "--set", "law.g=0.5", "--dry-run"];
        let config = options(&words).config().unwrap();
        let written = lasthop_scenario::read::<Config>(
            "device = \"eth1\"\ndry_run = true\nlaw = { kind = \"share\", target = \"40 ms\", theta = \"20 ms\", g = 0.5 }",
        );
        assert_eq!(config, written.unwrap());
        let wrong = refused(&["--config", path, "--target", "20"]);
        assert!(wrong.starts_with("--target 20: wanted a time"), "{wrong}");
        assert_eq!(refused(&["--config", path, "--set", "law.g=1.5"]), "--set law.g = 1.5: wanted from 0 to 1");
        assert_eq!(refused(&["--a", "20 kB"]), "--a is an option of the law \"clamp\": wanted --law clamp with it");
        let wrong = refused(&["--law", "clamp", "--target", "20 ms"]);
        assert_eq!(
            wrong,
            "--target is an option of the laws \"share\" and \"station\": wanted --law share or --law station with it"
        );
        let station = options(&["--law", "station", "--target", "12 ms", "--set", "law.kappa=0.5"]).config().unwrap();
        let written = lasthop_scenario::read::<Config>("law = { kind = \"station\", target = \"12 ms\", kappa = 0.5 }");
        assert_eq!(station, written.unwrap());
        assert_eq!(
            refused(&["--target", "3 ms", "--set", "law=\"share\""]),
            "--set law=\"share\": --target says law.target already: wanted one of them"
        );
        assert!(refused(&["--dry-run", "--set", "dry_run=false"]).contains("--dry-run says dry_run already"));
        // Keys of the law that the file names are not taken over to another one.
        assert_eq!(
            refused(&["--law", "station", "--set", "law.theta=\"20 ms\""]).split(':').next(),
            Some("--set law.theta")
        );
        fs::write(&file, "devise = \"eth1\"").unwrap();
        assert_eq!(check(&file).unwrap_err().to_string().split(": ").next(), Some(path));
        fs::write(&file, "dry_run = true\ndry_run").unwrap();
        let wrong = check(&file).unwrap_err().to_string();
        assert!(wrong.starts_with(path) && wrong.contains("line 2") && wrong.lines().count() == 1, "{wrong}");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_access_point_and_the_client_are_clamps() {
        let law = |mode, words: &[&str]| options_of(mode, words).config().map(|config| config.law);
        let clamp = |tau, refill| {
            Law::Clamp(ClampConfig { tau: Bytes::new(tau), refill: Some(refill), ..ClampConfig::default() })
        };
        let priced = |a, ms| {
            let average = Duration::from_millis(ms);
            Law::Clamp(ClampConfig { a: Bytes::new(a), average, ..ClampConfig::default() })
        };
        assert_eq!(law(Mode::Ap, &["--dev", "x"]).unwrap(), priced(20_000, 100));
        assert_eq!(law(Mode::Ap, &["--a", "5.5 kB"]).unwrap(), priced(5500, 100));
        assert_eq!(law(Mode::Ap, &["--set", "law.average=\"50 ms\""]).unwrap(), priced(20_000, 50));
        assert_eq!(law(Mode::Client, &["--tau", "1 kB"]).unwrap(), clamp(1000, RECEIVER_REFILL));
        assert_eq!(law(Mode::Client, &["--set", "law.kind=\"clamp\""]).unwrap(), clamp(500, RECEIVER_REFILL));
        assert_eq!(law(Mode::Client, &["--set", "law.refill=0"]).unwrap(), clamp(500, 0.0));
        let file = std::env::temp_dir().join(format!("lasthop-law-{}.toml", std::process::id()));
        fs::write(&file, "law = { kind = \"share\", target = \"40 ms\" }").unwrap();
        let wrong = law(Mode::Ap, &["--config", file.to_str().unwrap()]).unwrap_err().to_string();
        fs::remove_file(&file).unwrap();
        assert_eq!(wrong, format!("{}: law.kind = \"share\": wanted \"clamp\", the law of `ap`", file.display()));
    }

    #[test]
    fn the_default_file_says_every_key_as_it_is_by_default() {
        let text = default_file();
        let bare = text.lines().filter_map(|line| line.strip_prefix('#')).filter(|line| !line.starts_with(' '));
        let bare: Vec<_> = bare.collect();
        for told in ["#   prefix: The first bits", "kappa: κ", "By default \"20 kB\"."] {
            assert!(text.contains(told), "{told}");
        }
        assert!(bare.iter().any(|line| line.starts_with("law = { kind = \"share\", ")), "{text}");
        assert_eq!(lasthop_scenario::read::<Config>(&bare.join("\n")).unwrap(), Config::default());
        assert_eq!(lasthop_scenario::read::<Config>(&text).unwrap(), Config::default());
    }
}

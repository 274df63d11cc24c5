// SPDX-License-Identifier: MIT OR Apache-2.0
//! From text to a scenario, with errors that name the key.

use serde::de::{DeserializeOwned, Deserializer, Error as _};
use serde::{Deserialize, de};
use serde_json::Value;
use toml_edit::{DocumentMut, InlineTable, Item, TableLike};

use super::Scenario;

/// What is wrong with a scenario, in one line: key, value, what is wanted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ScenarioError(String);

impl ScenarioError {
    /// Says it of a key.
    pub fn at(key: &str, message: impl std::fmt::Display) -> Self {
        Self(format!("{key}: {message}"))
    }

    /// Says what is wanted of a key in place of its value.
    pub fn refused(key: &str, value: impl std::fmt::Display, wanted: impl std::fmt::Display) -> Self {
        Self(format!("{key} = {value}: wanted {wanted}"))
    }

    /// Puts the enclosing table in front: `rate: …` within `link[0]` is `link[0].rate: …`.
    #[must_use]
    pub fn within(self, table: &str) -> Self {
        Self(format!("{table}.{}", self.0))
    }

    /// Puts the place in front of what a constructor refused: `radio.slot` becomes `ap[0].radio.slot`.
    pub fn parameter(place: &str, error: lasthop_core::error::ParameterError) -> Self {
        Self(if place.is_empty() { error.to_string() } else { error.within(place).to_string() })
    }
}

/// The JSON Schema of scenario files.
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Scenario).to_value();
    if let Some(definitions) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
        definitions.values_mut().for_each(admit_names);
    }
    schema
}

/// Where a table with a `kind` stands, the bare name of a kind may stand, if the table needs no other key.
fn admit_names(definition: &mut serde_json::Value) {
    let Some(variants) = definition.get_mut("oneOf").and_then(Value::as_array_mut) else { return };
    let required = |variant: &Value| variant.get("required").and_then(Value::as_array).map_or(0, Vec::len);
    let kind = |variant: &Value| variant.pointer("/properties/kind/const").cloned();
    let names: Vec<Value> = variants.iter().filter(|v| required(v) <= 1).filter_map(kind).collect();
    if !names.is_empty() {
        variants.push(serde_json::json!({ "type": "string", "enum": names }));
    }
}

/// The text with `overrides` put in: each a key such as `ap[0].price.a` and a TOML value (or bare text, taken as a
/// string).
///
/// # Errors
/// Text that is no TOML, or a key that leads nowhere.
pub fn effective(text: &str, overrides: &[(String, String)]) -> Result<String, ScenarioError> {
    let mut document: DocumentMut = text.parse().map_err(|e: toml_edit::TomlError| {
        let line = e.span().map_or(1, |span| 1 + text[..span.start.min(text.len())].matches('\n').count());
        ScenarioError(format!("line {line}: {}", one_line(e.message())))
    })?;
    for (key, value) in overrides {
        set(document.as_item_mut(), key, value)?;
    }
    Ok(document.to_string())
}

/// Reads a scenario.
///
/// # Errors
/// One line that names the key, its value and what is wanted.
pub fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    let table: toml::Table = text.parse().map_err(|e: toml::de::Error| ScenarioError(one_line(e.message())))?;
    within(toml::Value::Table(table)).map_err(ScenarioError)
}

/// Deserializes, and says where it failed: `path: message`, or `path = value: wanted …`.
fn within<T: DeserializeOwned>(value: toml::Value) -> Result<T, String> {
    let root = value.clone();
    serde_path_to_error::deserialize(value).map_err(|e| {
        let path = e.path().to_string();
        let message = one_line(e.inner().message());
        let path = if path == "." { String::new() } else { path };
        match message.strip_prefix(MARK) {
            // An inner table has named its own key already.
            Some(inner) if path.is_empty() => inner.to_owned(),
            Some(inner) if inner.starts_with(' ') => format!("{path}{}", &inner[1..]),
            Some(inner) => format!("{path}.{inner}"),
            None => describe(&root, &path, &message),
        }
    })
}

/// Marks a message that starts with a key of its own, for the table around it to complete.
const MARK: char = '\u{1}';

fn describe(root: &toml::Value, path: &str, message: &str) -> String {
    let message = plain_words(path, message);
    match (path.is_empty(), message.split_once(": wanted ")) {
        // A quantity's own error opens with the value.
        (false, Some((value, wanted))) => format!("{path} = {value}: wanted {wanted}"),
        (false, None) => match lookup(root, path) {
            Some(value) if !value.is_table() && !value.is_array() && !message.starts_with(UNKNOWN_KEY) => {
                format!("{path} = {value}: {message}")
            }
            _ => format!("{path}: {message}"),
        },
        (true, _) => message,
    }
}

/// How a complaint about a key starts that no table has.
const UNKNOWN_KEY: &str = "unknown key";

/// What the parser says, in the words of the scenario reference.
fn plain_words(path: &str, message: &str) -> String {
    if let Some(rest) = message.strip_prefix("unknown field ") {
        return format!("{UNKNOWN_KEY} {}", rest.replace(", expected ", ", wanted "));
    }
    if let Some(rest) = message.strip_prefix("missing field ") {
        return format!("missing key {rest}");
    }
    if let Some((_, names)) = message.strip_prefix("unknown variant ").and_then(|rest| rest.split_once(", expected ")) {
        let names: Vec<_> = names.split('`').skip(1).step_by(2).map(|name| format!("\"{name}\"")).collect();
        return format!("wanted {}", names.join(" or "));
    }
    let mistaken = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    let Some((found, wanted)) = mistaken.and_then(|rest| rest.split_once(", expected ")) else {
        return message.to_owned();
    };
    let wanted = type_name(wanted);
    // Any other value is shown.
    match found {
        "map" if wanted == "a list" && !path.contains(['.', '[']) => format!("wanted a list, [[{path}]], not a table"),
        "map" => format!("wanted {wanted}, not a table"),
        "sequence" => format!("wanted {wanted}, not a list"),
        _ => format!("wanted {wanted}"),
    }
}

/// What the parser calls a type, as a person would.
fn type_name(wanted: &str) -> &str {
    match wanted {
        "u32" => "a whole number from 0 to 4294967295",
        "u8" | "u16" | "u64" | "usize" => "a whole number of 0 or more",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a string" => "a text",
        "string only" => "a name",
        "a sequence" => "a list",
        "a map" => "a table",
        structure if structure.starts_with("struct ") => "a table",
        other => other,
    }
}

fn lookup<'v>(root: &'v toml::Value, path: &str) -> Option<&'v toml::Value> {
    let mut at = root;
    for step in steps(path)? {
        at = match step {
            Step::Key(key) => at.get(key)?,
            Step::Index(index) => at.get(index)?,
        };
    }
    Some(at)
}

fn one_line(message: &str) -> String {
    message.lines().map(str::trim).collect::<Vec<_>>().join(", ")
}

/// The kind and the rest of a table with the key `kind` (or of the default kind), or of the bare name of a kind.
pub(super) fn kind_of<'de, D: Deserializer<'de>>(
    deserializer: D,
    default: Option<&str>,
) -> Result<(String, toml::Value), D::Error> {
    match toml::Value::deserialize(deserializer)? {
        toml::Value::String(kind) => Ok((kind, toml::Value::Table(toml::Table::new()))),
        toml::Value::Table(mut table) => match (table.remove("kind"), default) {
            (Some(toml::Value::String(kind)), _) => Ok((kind, toml::Value::Table(table))),
            (Some(other), _) => Err(D::Error::custom(format!("{MARK}kind = {other}: wanted a name"))),
            (None, Some(kind)) => Ok((kind.into(), toml::Value::Table(table))),
            (None, None) => Err(D::Error::custom("missing key `kind`")),
        },
        other => Err(D::Error::custom(format!("{other}: wanted a name or a table with the key `kind`"))),
    }
}

/// Deserializes the rest of a table with the key `kind`.
pub(super) fn rest<T: DeserializeOwned, E: de::Error>(value: toml::Value) -> Result<T, E> {
    let empty = value.as_table().is_some_and(toml::Table::is_empty);
    within(value).map_err(|message| {
        let own_key = message.split([':', '=']).next().is_some_and(|key| !key.trim().contains(' '));
        if own_key && !empty { E::custom(format!("{MARK}{message}")) } else { E::custom(message) }
    })
}

/// The keys that a table may have.
pub(super) fn field_names<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut names: &[&str] = &[];
    // It fails by design, with what it was told.
    let _ = T::deserialize(Names(&mut names)).is_err();
    names
}

/// Takes down what keys a struct asks for, and fails.
struct Names<'n>(&'n mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Names<'_> {
    type Error = de::value::Error;

    fn deserialize_any<V: de::Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(Self::Error::custom("no struct"))
    }

    fn deserialize_struct<V: de::Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        Err(Self::Error::custom("only the names"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// What is said of a key that is none of `names`.
pub(super) fn unknown_field<'n, E: de::Error>(key: &str, names: impl Iterator<Item = &'n &'static str>) -> E {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    E::custom(format!("{MARK}{key}: {UNKNOWN_KEY} `{key}`, wanted one of {}", names.join(", ")))
}

/// A kind that takes no further keys.
pub(super) fn nothing<E: de::Error>(value: &toml::Value) -> Result<(), E> {
    match value.as_table().and_then(|table| table.keys().next()) {
        Some(key) => Err(E::custom(format!("{MARK}{key}: {UNKNOWN_KEY} `{key}`, this kind takes none"))),
        None => Ok(()),
    }
}

/// Deserializes an enum from `{ kind = "name", … }` or from `"name"`.
macro_rules! kinds {
    ($type:ident $(or $default:literal)?: $($name:literal => $variant:ident $(($hole:tt))?),+) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let default = None$(.or(Some($default)))?;
                let (kind, value) = crate::read::kind_of(deserializer, default)?;
                match kind.as_str() {
                    $($name => kinds!(@variant $type $variant value $(($hole))?),)+
                    _ => Err(serde::de::Error::custom(format!(
                        "{kind:?}: wanted {}", [$(concat!("\"", $name, "\"")),+].join(" or ")
                    ))),
                }
            }
        }

        /// For the schema, which writes nothing but defaults; and a default is the bare name of a kind.
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(match self {
                    $($type::$variant { .. } => $name,)+
                })
            }
        }
    };
    (@variant $type:ident $variant:ident $value:ident (_)) => {
        Ok($type::$variant(crate::read::rest($value)?))
    };
    (@variant $type:ident $variant:ident $value:ident) => {{
        crate::read::nothing::<D::Error>(&$value)?;
        Ok($type::$variant)
    }};
}
pub(super) use kinds;

enum Step<'k> {
    Key(&'k str),
    Index(usize),
}

/// `flow[0].sender.kind` as steps; none if it does not parse.
fn steps(key: &str) -> Option<Vec<Step<'_>>> {
    let mut steps = vec![];
    for part in key.split('.') {
        let (name, mut indices) = part.split_at(part.find('[').unwrap_or(part.len()));
        if name.is_empty() {
            return None;
        }
        steps.push(Step::Key(name));
        while let Some(rest) = indices.strip_prefix('[') {
            let (index, tail) = rest.split_once(']')?;
            steps.push(Step::Index(index.parse().ok()?));
            indices = tail;
        }
        if !indices.is_empty() {
            return None;
        }
    }
    Some(steps)
}

/// Puts `value` at `key`. `flow[near].rtt` reaches a table by its name, `flow[0].rtt` by its place,
/// `flow[*].rtt` all of them.
fn set(root: &mut Item, key: &str, value: &str) -> Result<(), ScenarioError> {
    let value: toml_edit::Value = value.parse().unwrap_or_else(|_| value.into());
    let parts: Vec<&str> = key.split('.').collect();
    let Some(table) = root.as_table_like_mut() else { return Ok(()) };
    put(table, &parts, &value).map_err(|message| ScenarioError::at(key, message))
}

fn put(table: &mut dyn TableLike, parts: &[&str], value: &toml_edit::Value) -> Result<(), String> {
    let (part, rest) = match parts {
        [] | [""] => return Err("wanted a key such as duration or flow[0].rtt".into()),
        [last] if !last.contains('[') => {
            write(table, last, value);
            return Ok(());
        }
        [_] => return Err("leads to a whole table, wanted a key within it".into()),
        [part, rest @ ..] => (part, rest),
    };
    let Some((name, selector)) = part.split_once('[') else {
        if table.get(part).is_some_and(Item::is_array_of_tables) {
            return Err(format!("which {part}? wanted {part}[0], {part}[NAME] or {part}[*]"));
        }
        return put(child(table, part)?, rest, value);
    };
    let selector = selector.strip_suffix(']').ok_or_else(|| format!("{part}: wanted ] at its end"))?;
    let tables = elements(table.get_mut(name)).ok_or_else(|| format!("there is no [[{name}]]"))?;
    let count = tables.len();
    let mut found = false;
    for (i, table) in tables.into_iter().enumerate() {
        let named = table.get("name").and_then(Item::as_str) == Some(selector);
        if selector == "*" || named || selector.parse() == Ok(i) {
            put(table, rest, value)?;
            found = true;
        }
    }
    if found { Ok(()) } else { Err(format!("there is no {name}[{selector}], there are {count}")) }
}

fn write(table: &mut dyn TableLike, key: &str, value: &toml_edit::Value) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            let decor = old.decor().clone();
            *old = value.clone();
            *old.decor_mut() = decor;
        }
        None => {
            table.insert(key, Item::Value(value.clone()));
        }
    }
}

/// The table under `name`, made if there is none; the bare name of a kind becomes the table that it stands for.
fn child<'t>(table: &'t mut dyn TableLike, name: &str) -> Result<&'t mut dyn TableLike, String> {
    let item = table.entry(name).or_insert_with(|| Item::Value(toml_edit::Value::InlineTable(InlineTable::new())));
    if let Some(kind) = item.as_str().map(str::to_owned) {
        let mut kinded = InlineTable::new();
        kinded.insert("kind", kind.into());
        *item = Item::Value(toml_edit::Value::InlineTable(kinded));
    }
    item.as_table_like_mut().ok_or_else(|| format!("{name} is no table"))
}

/// The tables of a list.
fn elements(item: Option<&mut Item>) -> Option<Vec<&mut dyn TableLike>> {
    match item? {
        Item::ArrayOfTables(array) => Some(array.iter_mut().map(|table| table as &mut dyn TableLike).collect()),
        Item::Value(toml_edit::Value::Array(array)) => {
            array.iter_mut().map(|value| value.as_inline_table_mut().map(|table| table as &mut dyn TableLike)).collect()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = r#"
        duration = "10 s"
        [[ap]]
        name = "ap"
        radio = { kind = "jakes", doppler = "60 Hz", bandwidth = "4.3 MHz", max_rate = "10 Mbit/s", attempts = 15 }
        price = { kind = "linear", a = "6.5 kB" }
        [[flow]]
        name = "near"
        station = "m1"
        sender = "newreno"
        [[flow]]
        name = "far"
        station = "m2"
    "#;

    fn refuse(key: &str, value: &str) -> String {
        Scenario::from_toml(SCENARIO, &[(key.into(), value.into())]).unwrap_err().to_string()
    }

    #[test]
    fn an_error_names_key_value_and_what_is_wanted() {
        for (key, value, message) in [
            ("duration", "3 parsecs", "duration = \"3 parsecs\": wanted a time with its unit, e.g. \"3 ms\""),
            ("ap[0].radio.slot", "fast", "ap[0].radio.slot = \"fast\": wanted a time with its unit, e.g. \"3 ms\""),
            (
                "ap[0].radio.doppler",
                "-1 Hz",
                "ap[0].radio.doppler = \"-1 Hz\": wanted a frequency that is not negative",
            ),
            ("flow[1].rtt", "7", "flow[1].rtt = 7: wanted a time with its unit, e.g. \"3 ms\""),
            (
                "ap[0].scheduler",
                "fifo",
                "ap[0].scheduler = \"fifo\": wanted \"proportional-fair\" or \"best-snr\" or \"round-robin\"",
            ),
            ("flow[0].sender.rto_min", "1", "flow[0].sender.rto_min = 1: wanted a time with its unit, e.g. \"3 ms\""),
            ("seed", "-1", "seed = -1: wanted a whole number of 0 or more"),
            ("flow[0].rtt", "{ a = 1 }", "flow[0].rtt: wanted a time with its unit, e.g. \"3 ms\", not a table"),
            ("flow[0].path", "near", "flow[0].path = \"near\": wanted a list"),
            ("flow[0].path", "[1]", "flow[0].path[0] = 1: wanted a text"),
            ("flow[0].name", "7", "flow[0].name = 7: wanted a text"),
            ("flow[0].count", "1.5", "flow[0].count = 1.5: wanted a whole number from 0 to 4294967295"),
            ("flow[0].app", "cbr", "flow[0].app = \"cbr\": missing key `rate`"),
            ("flow[0].sender.gamma", "0.5", "flow[0].sender.gamma: unknown key `gamma`, wanted one of"),
            ("flow[0].sender.sack", "1", "flow[0].sender.sack = 1: wanted true or false"),
            ("ap[0].queue", "20 kB", "ap[0].queue = \"20 kB\": wanted a table"),
            ("ap[0].radio.snr", "high", "ap[0].radio.snr = \"high\": wanted a number"),
            (
                "ap[0].radio.frames",
                "hole",
                "ap[0].radio.frames = \"hole\": wanted \"shared\" or \"per-packet\" or \"whole\"",
            ),
            ("ap[0].radio.frames", "1", "ap[0].radio.frames = 1: wanted a name"),
            (
                "ap[0].scheduler",
                "{ kind = \"best-snr\", memory = 0.9 }",
                "ap[0].scheduler.memory: unknown key `memory`, this kind takes none",
            ),
            ("probe", "true", "probe = true: wanted a table"),
            ("link", "{ name = \"l\" }", "link: wanted a list, [[link]], not a table"),
        ] {
            let said = refuse(key, value);
            // A list of all keys would be long.
            assert!(if message.ends_with("one of") { said.starts_with(message) } else { said == message }, "{said}");
        }
        let unknown = refuse("ap[0].radio.dopler", "60 Hz");
        assert!(unknown.starts_with("ap[0].radio.dopler: unknown key `dopler`, wanted one of `doppler`"), "{unknown}");
        let unknown = refuse("flw", "1");
        assert!(unknown.starts_with("flw: unknown key `flw`, wanted one of"), "{unknown}");
        let missing = Scenario::from_toml(&SCENARIO.replace("attempts = 15", ""), &[]).unwrap_err();
        assert!(missing.to_string().contains("attempts"), "{missing}");
        let syntax = Scenario::from_toml("duration = \"1 s\"\n[[flow\n", &[]).unwrap_err().to_string();
        assert!(syntax.starts_with("line 2: ") && !syntax.contains('\n'), "{syntax}");
        let twice = Scenario::from_toml("duration = \"1 s\"\nduration = \"2 s\"\n", &[]).unwrap_err().to_string();
        assert_eq!(twice, "line 2: duplicate key");
    }

    #[test]
    fn the_defaults_of_the_schema_are_those_of_the_simulator() {
        let link = "[[link]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\n";
        let wlan = "[[wlan]]\nname = \"w\"\n";
        let text = format!("{SCENARIO}{link}{wlan}");
        let outcome = |change: Option<(String, String)>| {
            let tables = [("probe.packets", "false"), ("ap[0].scheduler", "proportional-fair")];
            let tables = tables.map(|(key, value)| (key.to_owned(), value.to_owned()));
            let overrides: Vec<_> = tables.into_iter().chain(change).collect();
            format!("{:?}", Scenario::from_toml(&text, &overrides).unwrap())
        };
        let usual = outcome(None);
        let schema = schema();
        let mut tried = 0;
        for (place, pointer) in [
            ("", "/properties"),
            ("probe.", "/$defs/Probe/properties"),
            ("link[0].", "/$defs/Link/properties"),
            ("ap[0].", "/$defs/AccessPoint/properties"),
            ("ap[0].radio.", "/$defs/Radio/oneOf/0/properties"),
            ("ap[0].scheduler.", "/$defs/Scheduler/oneOf/0/properties"),
            ("ap[0].price.", "/$defs/Price/oneOf/0/properties"),
            ("wlan[0].", "/$defs/Wlan/properties"),
            ("flow[0].", "/$defs/Flow/properties"),
            ("flow[0].sender.", "/$defs/Sender/oneOf/0/properties"),
        ] {
            for (key, property) in schema.pointer(pointer).and_then(Value::as_object).unwrap() {
                let Some(default) = property.get("default").filter(|value| !value.is_null()) else { continue };
                let change = (format!("{place}{key}"), default.to_string());
                assert_eq!(outcome(Some(change)), usual, "{place}{key} = {default}");
                tried += 1;
            }
        }
        assert!(tried > 30, "{tried}");
    }

    #[test]
    fn overrides_reach_every_key() {
        let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let overrides = [
            set("seed", "7"),
            set("title", "Two flows"),
            set("flow[*].rtt", "80 ms"),
            set("flow[far].sender.rto_min", "200 ms"),
            set("flow[0].sender.timestamps", "true"),
            set("ap[ap].price.b", "0.5"),
            set("probe.every", "10 ms"),
        ];
        let scenario = Scenario::from_toml(SCENARIO, &overrides).unwrap();
        assert_eq!((scenario.seed, scenario.title.as_str()), (7, "Two flows"));
        assert!(scenario.flow.iter().all(|flow| flow.rtt == "80 ms".parse().unwrap()));
        assert!(matches!(&scenario.flow[0].sender, crate::Sender::Newreno(o) if o.timestamps == Some(true)));
        assert!(scenario.probe.is_some());
    }

    #[test]
    fn an_override_that_leads_nowhere_is_refused() {
        assert_eq!(refuse("flow[2].rtt", "1 s"), "flow[2].rtt: there is no flow[2], there are 2");
        assert_eq!(refuse("flow.rtt", "1 s"), "flow.rtt: which flow? wanted flow[0], flow[NAME] or flow[*]");
        assert_eq!(refuse("link[0].rate", "1 s"), "link[0].rate: there is no [[link]]");
        assert!(refuse("duration.x", "1 s").starts_with("duration: wanted a time"));
    }
}

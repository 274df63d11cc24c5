// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values that are put into a scenario's text.

use toml_edit::{DocumentMut, InlineTable, Item, TableLike};

use crate::ScenarioError;

/// The text with `overrides` put in: each a key such as `ap[0].price.a` and a TOML value (or bare text, taken as a
/// string).
///
/// # Errors
/// Text that is no TOML, or a key that leads nowhere.
pub fn effective(text: &str, overrides: &[(String, String)]) -> Result<String, ScenarioError> {
    if let Some(found) = above_tables(text, overrides) {
        return Ok(found);
    }
    let mut document: DocumentMut = text.parse().map_err(|e: toml_edit::TomlError| {
        let line = e.span().map_or(1, |span| 1 + text[..span.start.min(text.len())].matches('\n').count());
        ScenarioError::syntax(e.message(), Some(line))
    })?;
    for (key, value) in overrides {
        set(document.as_item_mut(), key, value)?;
    }
    Ok(document.to_string())
}

/// The same where all keys stand above the first table: a large network's tables are not looked at, which would take longer than all
/// else. None where that would not give the same text, or an error.
fn above_tables(text: &str, overrides: &[(String, String)]) -> Option<String> {
    // A document writes line ends anew.
    if overrides.is_empty() || text.contains('\r') || !text.ends_with('\n') {
        return None;
    }
    // Of a text or list that goes on behind the cut, the head is no TOML.
    let (head, tables) = text.split_at(text.find("\n[")? + 1);
    let mut document: DocumentMut = head.parse().ok()?;
    for (key, value) in overrides {
        document.get(key).filter(|item| item.is_value() && !key.contains(['.', '[']))?;
        set(document.as_item_mut(), key, value).ok()?;
    }
    Some(document.to_string() + tables)
}

/// Puts `value` at `key`. `flow[near].rtt` reaches a table by its name, `flow[0].rtt` by its place,
/// `flow[*].rtt` all of them.
fn set(root: &mut Item, key: &str, value: &str) -> Result<(), ScenarioError> {
    let value: toml_edit::Value = match value.parse() {
        Ok(value) => value,
        // A text may stand without quotes; a table or list that is not whole is meant as none.
        Err(_) if value.trim_start().starts_with(['{', '[']) => {
            return Err(ScenarioError::refused(key, value, "a table or list in TOML, whole to its last bracket"));
        }
        Err(_) => value.into(),
    };
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
    let names: Vec<_> = tables.iter().filter_map(|table| table.get("name")?.as_str().map(str::to_owned)).collect();
    let mut found = false;
    for (i, table) in tables.into_iter().enumerate() {
        let named = table.get("name").and_then(Item::as_str) == Some(selector);
        if selector == "*" || named || selector.parse() == Ok(i) {
            put(table, rest, value)?;
            found = true;
        }
    }
    if found { Ok(()) } else { Err(format!("there is no {name}[{selector}], {}", there_are(count, &names))) }
}

/// What there is in the place of what there is not.
fn there_are(count: usize, names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<_> = names.iter().take(SHOWN).map(|name| format!("\"{name}\"")).collect();
    let more = if names.len() > SHOWN { " …" } else { "" };
    let named = if shown.is_empty() { String::new() } else { format!(": wanted {}{more}", shown.join(" or ")) };
    format!("there are {count}{named}")
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

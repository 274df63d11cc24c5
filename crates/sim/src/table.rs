// SPDX-License-Identifier: MIT OR Apache-2.0
//! Columns: what a run recorded over time.

/// A column of numbers; its name ends in its unit.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Whole numbers.
    Ints(Vec<i64>),
    /// Real numbers; not-a-number where nothing applies.
    Floats(Vec<f64>),
}

impl Column {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Column::Ints(values) => values.len(),
            Column::Floats(values) => values.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Columns of equal length, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: Vec<(&'static str, Column)>,
}

impl Table {
    /// Adds a column of whole numbers.
    pub fn ints(&mut self, name: &'static str, values: impl IntoIterator<Item = i64>) {
        self.columns.push((name, Column::Ints(values.into_iter().collect())));
    }

    /// Adds a column of real numbers.
    pub fn floats(&mut self, name: &'static str, values: impl IntoIterator<Item = f64>) {
        self.columns.push((name, Column::Floats(values.into_iter().collect())));
    }

    /// The columns and their names.
    pub fn columns(&self) -> impl Iterator<Item = (&'static str, &Column)> {
        self.columns.iter().map(|(name, column)| (*name, column))
    }
}

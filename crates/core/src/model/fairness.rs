// SPDX-License-Identifier: MIT OR Apache-2.0
//! How equally things are shared.

/// Jain's index `(Σx)² / (n Σx²)`: 1 if all are equal, 1/n if one has all. None without a positive value.
pub fn jain(values: &[f64]) -> Option<f64> {
    //= qfcp#12  J = (Σx_i)²/(n Σx_i²)
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index_at_its_ends() {
        //= qfcp#12
        assert_eq!(jain(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[5.0, 0.0, 0.0, 0.0]), Some(0.25));
        // (1 + 3)² / (2 · (1 + 9)) = 0.8.
        assert_eq!(jain(&[1.0, 3.0]), Some(0.8));
        assert_eq!(jain(&[0.0]), None);
        assert_eq!(jain(&[]), None);
    }
}

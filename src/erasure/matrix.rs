//! The code of redset: which multiples of the data make up each parity, and how to turn that around.

use super::gf;

/// The `k` parity rows over `ranks` columns; `None` when either is zero or both exceed 256 together.
///
/// redset brings the top of the Vandermonde matrix `V[i][j] = i^j` to the identity by column
/// operations. A row of the result evaluates, at the row's number, the polynomial that takes the
/// data as its values at `0..ranks`; so its coefficients are Lagrange's.
pub fn parity_rows(ranks: usize, k: usize) -> Option<Vec<Vec<u8>>> {
    if ranks == 0 || k == 0 || ranks.checked_add(k)? > 256 {
        return None;
    }
    let row = |at| (0..ranks).map(|point| lagrange(ranks, point, at)).collect();
    (ranks..ranks + k).map(row).collect()
}

/// The value at `at` of the polynomial that is 1 at `point` and 0 at all others of `0..points`.
fn lagrange(points: usize, point: usize, at: usize) -> Option<u8> {
    let mut value = 1;
    for other in (0..points).filter(|&other| other != point) {
        let factor = gf::mul((at ^ other) as u8, gf::inv((point ^ other) as u8)?);
        value = gf::mul(value, factor);
    }
    Some(value)
}

/// How to rebuild the data of the `lost` columns from as many `parity` rows.
///
/// The result has one row per lost column. Its coefficients go with the columns' data, except that
/// in the place of column `lost[i]` stands the parity made by `parity[i]`. `None` when the numbers
/// of rows and columns differ, a column does not exist or is named twice, or the rows do not suffice.
pub fn rebuild_rows(parity: &[&[u8]], lost: &[usize]) -> Option<Vec<Vec<u8>>> {
    let of_lost: Option<Vec<Vec<u8>>> = parity.iter().map(|row| pick(row, lost)).collect();
    let inverse = invert(&of_lost?)?;
    Some(inverse.iter().map(|row| solve(row, parity, lost)).collect())
}

fn pick(row: &[u8], columns: &[usize]) -> Option<Vec<u8>> {
    columns.iter().map(|&c| row.get(c).copied()).collect()
}

/// One row of the inverse, applied to the parity rows; the lost columns take that row itself.
fn solve(inverse: &[u8], parity: &[&[u8]], lost: &[usize]) -> Vec<u8> {
    let mut row = vec![0; parity[0].len()];
    for (&factor, parity) in inverse.iter().zip(parity) {
        add_multiple(&mut row, factor, parity);
    }
    for (&column, &factor) in lost.iter().zip(inverse) {
        row[column] = factor;
    }
    row
}

/// The inverse of a square matrix; `None` if it is empty, not square, or singular.
pub fn invert(matrix: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    let size = matrix.len();
    if size == 0 || matrix.iter().any(|row| row.len() != size) {
        return None;
    }
    let mut work: Vec<Vec<u8>> = (0..size).map(|i| with_identity(matrix, i)).collect();
    for column in 0..size {
        let pivot = (column..size).find(|&row| work[row][column] != 0)?;
        work.swap(column, pivot);
        eliminate(&mut work, column)?;
    }
    Some(work.into_iter().map(|row| row[size..].to_vec()).collect())
}

/// Row `i` of the matrix with the identity at its right.
fn with_identity(matrix: &[Vec<u8>], i: usize) -> Vec<u8> {
    let unit = (0..matrix.len()).map(|j| u8::from(i == j));
    matrix[i].iter().copied().chain(unit).collect()
}

/// Makes the column of the pivot `work[at][at]` a column of the identity.
fn eliminate(work: &mut [Vec<u8>], at: usize) -> Option<()> {
    let scale = gf::inv(work[at][at])?;
    work[at].iter_mut().for_each(|v| *v = gf::mul(*v, scale));
    let pivot = work[at].clone();
    for (_, row) in work.iter_mut().enumerate().filter(|(i, _)| *i != at) {
        let factor = row[at];
        add_multiple(row, factor, &pivot);
    }
    Some(())
}

fn add_multiple(row: &mut [u8], factor: u8, other: &[u8]) {
    for (value, &other) in row.iter_mut().zip(other) {
        *value ^= gf::mul(factor, other);
    }
}

#[cfg(test)]
mod tests;

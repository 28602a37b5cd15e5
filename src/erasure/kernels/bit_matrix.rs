//! Multiplication as the instruction `gf2p8affineqb` does it: by a matrix over bits.

use super::tables::bit_products;

/// One matrix for each coefficient.
pub(in crate::erasure) static BIT_MATRICES: [u64; 256] = bit_matrices();

const fn bit_matrices() -> [u64; 256] {
    let mut table = [0; 256];
    let mut c = 0;
    while c < 256 {
        table[c] = bit_matrix(c as u8);
        c += 1;
    }
    table
}

/// Byte `7 - i` of the matrix selects the bits of a factor whose parity is bit `i` of the product.
const fn bit_matrix(c: u8) -> u64 {
    let columns = bit_products(c);
    let mut matrix = 0;
    let mut from = 0;
    while from < 8 {
        let mut to = 0;
        while to < 8 {
            let bit = ((columns[from] >> to) & 1) as u64;
            matrix |= bit << (8 * (7 - to) + from);
            to += 1;
        }
        from += 1;
    }
    matrix
}

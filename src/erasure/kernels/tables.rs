//! What the instruction sets want to know about multiplication by a coefficient.

use crate::erasure::gf;

/// The products of a coefficient with `0x00..=0x0F` and with `0x00, 0x10, ..=0xF0`.
pub(super) type NibbleProducts = [[u8; 16]; 2];

/// For instructions that look up 16 bytes at once: `c * x` is a sum of two entries.
pub(super) static NIBBLE_PRODUCTS: [NibbleProducts; 256] = nibble_products();

const fn nibble_products() -> [NibbleProducts; 256] {
    let mut table = [[[0; 16]; 2]; 256];
    let mut c = 0;
    while c < 256 {
        let mut nibble = 0;
        while nibble < 16 {
            table[c][0][nibble] = gf::mul(c as u8, nibble as u8);
            table[c][1][nibble] = gf::mul(c as u8, (nibble << 4) as u8);
            nibble += 1;
        }
        c += 1;
    }
    table
}

/// The products of `c` with each single bit.
pub(super) const fn bit_products(c: u8) -> [u8; 8] {
    let mut products = [0; 8];
    let mut bit = 0;
    while bit < 8 {
        products[bit] = gf::mul(c, 1 << bit);
        bit += 1;
    }
    products
}

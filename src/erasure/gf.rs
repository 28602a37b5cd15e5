//! The field GF(2^8) of redset: polynomial 0x11D, generator 2. Addition is XOR.

const POLYNOMIAL: u16 = 0x11D;
const ORDER: usize = 255;

/// Powers of the generator, twice over, so that a sum of two logarithms needs no reduction.
const EXP: [u8; 2 * ORDER] = powers();
/// `LOG[EXP[i]] == i`; the entry of 0 has no meaning.
const LOG: [u8; 256] = logarithms();

const fn powers() -> [u8; 2 * ORDER] {
    let mut table = [0; 2 * ORDER];
    let mut power = 1;
    let mut i = 0;
    while i < table.len() {
        table[i] = power as u8;
        power <<= 1;
        if power > 0xFF {
            power ^= POLYNOMIAL;
        }
        i += 1;
    }
    table
}

const fn logarithms() -> [u8; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < ORDER {
        table[EXP[i] as usize] = i as u8;
        i += 1;
    }
    table
}

pub const fn mul(a: u8, b: u8) -> u8 {
    static POWERS: [u8; 2 * ORDER] = EXP;
    static LOGARITHMS: [u8; 256] = LOG;
    if a == 0 || b == 0 {
        return 0;
    }
    POWERS[LOGARITHMS[a as usize] as usize + LOGARITHMS[b as usize] as usize]
}

/// `None` for 0, which has no inverse.
pub const fn inv(a: u8) -> Option<u8> {
    match a {
        0 => None,
        _ => Some(EXP[ORDER - LOG[a as usize] as usize]),
    }
}

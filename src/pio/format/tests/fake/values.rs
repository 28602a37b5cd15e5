//! The values of all variables.

use std::collections::BTreeMap;

use super::{EINVALCOORDS, fail};
use crate::pio::convert::convert;
use crate::pio::format::Transfer;
use crate::pio::{Hyperslabs, Kind, Result};

const ERANGE: i32 = -60;

#[derive(Default)]
pub(super) struct FakeValues {
    values: BTreeMap<(i32, Vec<u64>), Cell>,
    pub(super) records: u64,
}

struct Cell {
    value: Vec<u8>,
    /// The number of the call that wrote it.
    call: usize,
}

impl FakeValues {
    pub(super) fn forget_calls(&mut self) {
        self.values.values_mut().for_each(|cell| cell.call = 0);
    }

    /// # Panics
    /// If one call writes the same place twice, or has not as much data as its regions are long.
    pub(super) fn write(
        &mut self,
        write: &Transfer,
        stored: Kind,
        lengths: &[Option<u64>],
        call: usize,
    ) -> Result<()> {
        let size = write.kind.size();
        assert_eq!(
            write.data.len() as u64,
            write.regions.elements() * size as u64
        );
        let mut data = write.data.chunks(size);
        for at in indices(write.regions) {
            check(&at, lengths, u64::MAX)?;
            let value = data.next().expect("as long as the regions");
            let Some(value) = convert(value, write.kind, stored) else {
                return fail("write", ERANGE);
            };
            if lengths.first() == Some(&None) {
                self.records = self.records.max(at[0] + 1);
            }
            let place = (write.var, at);
            let old = self.values.insert(place, Cell { value, call });
            assert!(
                old.is_none_or(|old| old.call != call),
                "written twice at once"
            );
        }
        Ok(())
    }

    pub(super) fn read(
        &self,
        read: &mut Transfer,
        (stored, fill): (Kind, &[u8]),
        lengths: &[Option<u64>],
    ) -> Result<()> {
        let size = read.kind.size();
        let elements = read.regions.elements();
        assert_eq!(read.data.len() as u64, elements * size as u64);
        let mut data = read.data.chunks_mut(size);
        for at in indices(read.regions) {
            check(&at, lengths, self.records)?;
            let found = self.values.get(&(read.var, at));
            let value = found.map_or(fill, |cell| &cell.value);
            let into = data.next().expect("as long as the regions");
            match convert(value, stored, read.kind) {
                Some(value) => into.copy_from_slice(&value),
                None => return fail("read", ERANGE),
            }
        }
        Ok(())
    }
}

pub(super) fn convert_all(values: &[u8], from: Kind, to: Kind) -> Result<Vec<u8>> {
    let each = values
        .chunks(from.size())
        .map(|value| convert(value, from, to));
    let all: Option<Vec<_>> = each.collect();
    all.map_or_else(|| fail("convert", ERANGE), |all| Ok(all.concat()))
}

fn check(at: &[u64], lengths: &[Option<u64>], records: u64) -> Result<()> {
    assert_eq!(at.len(), lengths.len(), "a region has other dimensions");
    let mut all = at.iter().zip(lengths);
    match all.all(|(at, length)| *at < length.unwrap_or(records)) {
        true => Ok(()),
        false => fail("check", EINVALCOORDS),
    }
}

/// Every place of every region, in the order of the data.
fn indices(regions: &Hyperslabs) -> impl Iterator<Item = Vec<u64>> {
    regions.iter().flat_map(|(start, count)| {
        (0..count.iter().product::<u64>()).map(move |mut number| {
            let mut at = start.to_vec();
            for dimension in (0..at.len()).rev() {
                at[dimension] += number % count[dimension];
                number /= count[dimension];
            }
            at
        })
    })
}

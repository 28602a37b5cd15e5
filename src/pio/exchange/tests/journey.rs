//! What the I/O tasks read comes to the ranks, on each of its ways.

use super::*;

pub(super) struct Journey<'a> {
    system: &'a IoSystem<LocalComm>,
    plan: &'a Plan,
    element: usize,
}

impl<'a> Journey<'a> {
    pub(super) fn new(system: &'a IoSystem<LocalComm>, plan: &'a Plan, element: usize) -> Self {
        Self {
            system,
            plan,
            element,
        }
    }

    fn homeward(&self, taking: Taking) -> Result<Homeward<'a>> {
        Homeward::new(self.system, self.plan, self.element, taking)
    }

    pub(super) fn as_a_whole(&self, read: &[u8], array: &mut [u8]) -> Result<()> {
        let mut homeward = self.homeward(Taking::Whole)?;
        homeward.take(read, array)?;
        self.end(homeward, read, array)
    }

    /// In pieces of different lengths where that can be.
    pub(super) fn in_pieces(&self, read: &[u8], array: &mut [u8]) -> Result<()> {
        if !comes_in_pieces(self.plan) {
            return self.as_a_whole(read, array);
        }
        let mut source = Slices(self.system.comm.rank(), read, self.element);
        let room = &mut [0; 7 * 8];
        if self.plan.streams {
            let mut homeward = self.homeward(Taking::Stream(room.len()))?;
            homeward.stream(self.system, &mut source, room, array)?;
            return homeward.arrive(self.system, &[], array);
        }
        let mut homeward = self.homeward(Taking::Pieces)?;
        homeward.take_pieces(&mut source, room, array)?;
        self.end(homeward, &[], array)
    }

    fn end(&self, homeward: Homeward, read: &[u8], array: &mut [u8]) -> Result<()> {
        let homeward = match &self.system.io {
            Some(io) if self.plan.reads_blocks => Homeward::cross(Ok(homeward), io, read, array)?,
            _ => homeward,
        };
        homeward.arrive(self.system, read, array)
    }
}

/// What is left of a buffer, in elements of that length; the first number makes pieces differ.
struct Slices<'a>(usize, &'a [u8], usize);

impl Source for Slices<'_> {
    fn next(&self) -> Option<u64> {
        let left = self.1.len() / self.2;
        (left > 0).then(|| left.min(1 + self.0 % 7) as u64)
    }

    fn read(&mut self, place: &mut [u8]) -> Result<()> {
        let (now, later) = self.1.split_at(place.len());
        place.copy_from_slice(now);
        (self.0, self.1) = (self.0 + 3, later);
        Ok(())
    }
}

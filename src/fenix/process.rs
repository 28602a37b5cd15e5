//! Process recovery: which process has which rank, and how that is repaired after a failure.
//!
//! All living processes are in one private communicator, the *world*. Each has a place: first come those that work
//! for the user (the active ones, in the order of their ranks), then the spares. After a failure the active survivors leave the
//! user's communicator ([`Process::recover`]), the spares follow when the world is revoked, and together they
//! [`establish`] a new world: survivors keep their ranks, spares take those of the dead. What fails meanwhile
//! is left out of the next attempt. Nothing of a process changes before all living ones agree on the new world.

#[cfg(test)]
mod hopeless;
mod places;
#[cfg(test)]
mod tests;

use std::thread::sleep;
use std::time::Duration;

use super::{Error, Result};
use crate::comm::{self, Agreement, Resilient};
use places::{Claim, Places};

/// What became of a rank in the last repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Initial,
    Recovered,
    Survivor,
}

/// Where a process waits for the others. Each is one bit, so that an agreement on different ones is none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meeting {
    Recovery = 1,
    Finalize = 2,
    Commit = 4,
}

/// The bits of all meetings.
const MEETINGS: u32 = 7;
/// Given by those who can do what they meet for.
const WILLING: u32 = 8;

/// How a meeting went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// All living active processes are here; one has died since the last repair if `someone_failed`. `willing` if
    /// none has come to say that it cannot do what they meet for.
    AllHere { someone_failed: bool, willing: bool },
    /// Others are elsewhere, some of them in recovery.
    Elsewhere,
}

/// Why a spare stops waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// It has become active.
    Active,
    /// The job is done.
    Finalized,
    /// No active process is left that could end the job.
    Abandoned,
}

/// What [`Process::detect`] sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    Failed,
    Revoked,
}

/// Rounds of a meeting before recovery is given up: two are enough when every process does what it should.
const ROUNDS: usize = 64;

/// So many active processes tell the spares that the job is done, since some may die meanwhile.
const HERALDS: usize = 4;

const SHORTEST_NAP: Duration = Duration::from_micros(20);
const LONGEST_NAP: Duration = Duration::from_millis(1);

/// An active process has a seat: the communicator that its user sees, and a private one of the same ranks.
struct Seat<C> {
    user: C,
    private: C,
}

pub struct Process<C: Resilient> {
    world: C,
    places: Places,
    place: usize,
    /// Absent on spares.
    seat: Option<Seat<C>>,
    /// The seats before each repair: the user may still ask about requests on them.
    retired: Vec<Seat<C>>,
    repaired: bool,
}

impl<C: Resilient> Process<C> {
    /// Sets the last `spares` processes of `given` aside; ranks that are dead already count as failed.
    ///
    /// # Collective
    /// Called by all living ranks of `given`; all return the same verdict about `spares`.
    pub fn start(given: &C, spares: i64) -> Result<Self> {
        let claim = Claim::at_start(given.rank(), given.size(), spares);
        let world = establish(given, claim)?;
        Ok(Self {
            world: world.world,
            places: world.places,
            place: world.place,
            seat: world.seat,
            retired: Vec::new(),
            repaired: false,
        })
    }

    pub fn is_spare(&self) -> bool {
        self.seat.is_none()
    }

    /// The user's communicator.
    pub fn user(&self) -> Option<&C> {
        self.seat.as_ref().map(|seat| &seat.user)
    }

    /// The role of an active rank.
    pub fn role(&self, rank: usize) -> Option<Role> {
        let recovered = self.places.recovered.get(rank)?;
        Some(match (self.repaired, recovered) {
            (false, _) => Role::Initial,
            (true, true) => Role::Recovered,
            (true, false) => Role::Survivor,
        })
    }

    pub fn own_role(&self) -> Option<Role> {
        self.role(self.place)
    }

    pub fn active(&self) -> usize {
        self.places.recovered.len()
    }

    /// The processes lost in the last repair, by their places in the world before it.
    pub fn failed(&self) -> &[usize] {
        &self.places.failed
    }

    /// Whether the last repair found too few spares, so that the user's communicator has shrunk.
    pub fn depleted(&self) -> bool {
        self.places.depleted
    }

    // ---- meetings ----

    /// # Collective
    /// Called by all active processes, in one meeting or another.
    pub fn meet(&self, meeting: Meeting, willing: bool) -> Result<Met> {
        let seat = self.seat.as_ref().ok_or(Error::Uninitialized)?;
        let own = meeting as u32 | if willing { WILLING } else { 0 };
        let agreed = seat.private.agree(own)?;
        Ok(match agreed.flag & MEETINGS == meeting as u32 {
            true => Met::AllHere {
                someone_failed: agreed.someone_failed,
                willing: agreed.flag & WILLING != 0,
            },
            false => Met::Elsewhere,
        })
    }

    fn rendezvous(&self) -> Result<()> {
        for _ in 0..ROUNDS {
            if let Met::AllHere { .. } = self.meet(Meeting::Recovery, true)? {
                return Ok(());
            }
        }
        let waited = format!("not all ranks came to recovery in {ROUNDS} rounds");
        Err(Error::Unrepairable(waited))
    }

    /// Looks for failures without waiting. What was seen once is seen again until it is repaired.
    pub fn detect(&self) -> Result<Option<Trouble>> {
        let seat = self.seat.as_ref().ok_or(Error::Uninitialized)?;
        // Lets MPI take in what has happened.
        let looked = seat.private.signalled();
        if matches!(looked, Err(comm::Error::Revoked { .. })) || seat.user.is_revoked() {
            return Ok(Some(Trouble::Revoked));
        }
        let failed = seat.private.failed()?;
        Ok((!failed.is_empty()).then_some(Trouble::Failed))
    }

    // ---- repair ----

    /// Leaves the broken communicators together with all other active processes, and comes back with new ones.
    ///
    /// # Collective
    /// Called by all living active processes; spares join by [`Process::wait_as_spare`].
    pub fn recover(&mut self) -> Result<()> {
        if let Some(seat) = &self.seat {
            seat.user.revoke();
            seat.private.revoke();
        }
        self.world.revoke();
        self.rendezvous()?;
        self.repair()
    }

    fn repair(&mut self) -> Result<()> {
        let claim = Claim::again(self.place, self.world.size(), self.active());
        let new = establish(&self.world, claim)?;
        self.retired.extend(self.seat.take());
        self.seat = new.seat;
        self.world = new.world;
        self.places = new.places;
        self.place = new.place;
        self.repaired = true;
        Ok(())
    }

    /// Waits until this spare is needed, or the job is done.
    pub fn wait_as_spare(&mut self) -> Result<Wake> {
        let mut nap = SHORTEST_NAP;
        while self.is_spare() {
            match self.world.signalled() {
                Ok(true) => return Ok(Wake::Finalized),
                Ok(false) => {
                    sleep(nap);
                    nap = (2 * nap).min(LONGEST_NAP);
                }
                Err(comm::Error::Revoked { .. }) => self.repair()?,
                Err(comm::Error::ProcessFailed { .. }) => {
                    let failed = self.world.failed()?;
                    let active = &self.places.ranks[..self.active()];
                    if active.iter().all(|rank| failed.contains(rank)) {
                        return Ok(Wake::Abandoned);
                    }
                }
                Err(cause) => return Err(cause.into()),
            }
        }
        Ok(Wake::Active)
    }

    // ---- the end ----

    /// Lets the spares go, once all active processes have met in [`Meeting::Finalize`].
    pub fn dismiss_spares(&self) {
        if self.place < HERALDS.min(self.active()) {
            let spares = &self.places.ranks[self.active()..];
            spares.iter().for_each(|&spare| self.world.signal(spare));
        }
    }

    /// Ends with or without freeing the communicators. Where MPI makes one in its finalize, they keep their ids until
    /// then: a spare leaves at the first of several signals, and takes a later one, or what the user sent to
    /// nobody, for a message of the next communicator with the same id.
    pub fn end(self, frees: bool) {
        if !frees {
            std::mem::forget(self);
        }
    }
}

/// What one attempt has built.
struct Built<C> {
    world: C,
    places: Places,
    place: usize,
    seat: Option<Seat<C>>,
}

/// Builds a new world from the living processes of an old one. Ends after as many attempts as there are processes
/// to lose, and a few more.
///
/// # Collective
/// Called by all living processes of `old`.
fn establish<C: Resilient>(old: &C, claim: Claim) -> Result<Built<C>> {
    let mut cause = None;
    for _ in 0..old.size() + 3 {
        match shrink(old).and_then(|living| attempt(living, claim)) {
            Ok(built) => return Ok(built),
            Err(Error::Comm(lost)) => cause = Some(lost),
            Err(verdict) => return Err(verdict),
        }
    }
    let last = cause.map_or_else(String::new, |cause| cause.to_string());
    Err(Error::Unrepairable(format!(
        "too many attempts failed, the last with: {last}"
    )))
}

/// No process goes on with the new communicator before all have it: to revoke one that others are still making
/// does them no good.
fn shrink<C: Resilient>(old: &C) -> Result<C> {
    let living = old.shrink();
    let agreed = old.agree(u32::from(living.is_ok()))?;
    match agreed.flag {
        1 => Ok(living?),
        _ => Err(given_up()),
    }
}

fn given_up() -> Error {
    comm::Error::Revoked { call: "the repair" }.into()
}

/// All living processes get their communicators, or none of them uses what it got. A verdict about the claims is
/// the same on all.
fn attempt<C: Resilient>(living: C, claim: Claim) -> Result<Built<C>> {
    let parts = build(&living, claim);
    let lost = matches!(parts, Err(Error::Comm(_)));
    if lost {
        // Others may be blocked in what this process has left.
        living.revoke();
    }
    let agreed = living.agree(u32::from(!lost));
    let all_have = matches!(agreed, Ok(Agreement { flag: 1, .. }));
    if !all_have {
        // So it keeps its id: messages of those who left it may still be under way.
        living.revoke();
    }
    agreed?;
    let (places, place, seat) = parts?;
    match all_have {
        true => Ok(Built {
            world: living,
            places,
            place,
            seat,
        }),
        false => Err(given_up()),
    }
}

type Parts<C> = (Places, usize, Option<Seat<C>>);

/// Makes the communicators without using them, since others may not have got theirs.
fn build<C: Resilient>(living: &C, claim: Claim) -> Result<Parts<C>> {
    let claims = claim.gather(living)?;
    let places = Places::from_claims(&claims)?;
    let place = places.place_of(living.rank())?;
    let joins = place < places.recovered.len();
    let seat = living.split_for_user(joins, place as i32)?;
    let seat = seat.map(|(user, private)| Seat { user, private });
    Ok((places, place, seat))
}

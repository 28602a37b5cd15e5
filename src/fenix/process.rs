//! Process recovery: which process has which rank, and how a job is repaired after a failure.
//!
//! All living processes are in one private communicator, the *world*. Each has a slot there: first the active
//! processes, which have a rank in the user's communicator, in the order of these ranks; then the spares. A repair goes
//! through these steps:
//!
//! ```text
//! recover: revoke all communicators → rendezvous of the active survivors → establish
//! spares:  wait_as_spare sees the revoked world                          → establish
//! establish: shrink the world → gather claims → assign slots → split communicators → agree, or try again
//! ```
//!
//! Survivors keep their ranks and spares take those of the dead. Processes that fail during the repair are left out of
//! the next attempt. The state of a process changes only after all living processes have agreed on the new world.
//!
//! A process that cannot be reached counts as dead but may be alive: a node whose cable is pulled takes all others for
//! dead, as they take its own processes, and both sides would repair themselves and go on. With a quorum, only the side
//! that has most of the old world does; on the other the repair fails.

mod assignment;
#[cfg(test)]
mod assignment_tests;
#[cfg(test)]
mod unrepairable_tests;

use std::thread::sleep;
use std::time::Duration;

use super::{Error, Result};
use crate::comm::{self, Agreement, Resilient};
use assignment::{MembershipClaim, RankAssignment};

/// What the last repair meant for a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessRole {
    Initial,
    Recovered,
    Survivor,
}

/// The points at which active processes synchronize. One bit each: the AND over processes at different points is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncPoint {
    Recovery = 1,
    Finalize = 2,
    Commit = 4,
}

/// The bits of all points.
const SYNC_POINTS: u32 = 7;
/// Set by processes that can do what the point is for.
const WILLING: u32 = 8;

/// The result of [`Process::meet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncOutcome {
    /// All living active processes are at this point. `someone_failed`: a process has died since the last repair.
    /// `willing`: all of them can do what the point is for.
    AllHere { someone_failed: bool, willing: bool },
    /// Some processes are at another point, for example in recovery.
    Elsewhere,
}

/// Why a spare stops waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// It has become active.
    Active,
    /// The active processes have finalized.
    Finalized,
    /// All active processes are dead.
    Abandoned,
}

/// What [`Process::detect`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    Failed,
    Revoked,
}

/// Limit on the rounds of a rendezvous. Two suffice if every process behaves.
const ROUNDS: usize = 64;

/// This many active processes signal the end of the job to the spares, in case some of them die meanwhile.
const HERALDS: usize = 4;

const SHORTEST_NAP: Duration = Duration::from_micros(20);
const LONGEST_NAP: Duration = Duration::from_millis(1);

/// The communicators of an active process: the user's, and a private one with the same ranks.
struct ActiveComms<C> {
    user: C,
    private: C,
}

/// A process in a world on which all living processes have agreed.
struct Membership<C> {
    world: C,
    assignment: RankAssignment,
    slot: usize,
    /// `None` on spares.
    active: Option<ActiveComms<C>>,
}

pub struct Process<C: Resilient> {
    membership: Membership<C>,
    /// The communicators before each repair: the user may still test or wait for requests on them.
    retired: Vec<ActiveComms<C>>,
    repaired: bool,
    quorum: bool,
}

impl<C: Resilient> Process<C> {
    /// Makes the last `spares` processes of `given` spares. Ranks that are already dead count as failed. If `quorum` is
    /// true on any rank, a repair needs more than half of the processes, or half of them with the first one.
    ///
    /// # Collective
    /// Called by all living ranks of `given`; all return the same verdict about `spares`.
    pub fn start(given: &C, spares: i64, quorum: bool) -> Result<Self> {
        let claim = MembershipClaim::at_start(given.rank(), given.size(), spares);
        Ok(Self {
            membership: establish(given, claim.with_quorum(quorum))?,
            retired: Vec::new(),
            repaired: false,
            quorum,
        })
    }

    pub fn is_spare(&self) -> bool {
        self.membership.active.is_none()
    }

    /// The user's communicator; `None` on spares.
    pub fn user(&self) -> Option<&C> {
        self.membership.active.as_ref().map(|active| &active.user)
    }

    /// The role of a rank of the user's communicator.
    pub fn role(&self, rank: usize) -> Option<ProcessRole> {
        let recovered = self.membership.assignment.recovered.get(rank)?;
        Some(match (self.repaired, recovered) {
            (false, _) => ProcessRole::Initial,
            (true, true) => ProcessRole::Recovered,
            (true, false) => ProcessRole::Survivor,
        })
    }

    pub fn own_role(&self) -> Option<ProcessRole> {
        self.role(self.membership.slot)
    }

    /// The number of active processes.
    pub fn active(&self) -> usize {
        self.membership.assignment.recovered.len()
    }

    /// The processes lost in the last repair, by their slots in the world before it.
    pub fn failed(&self) -> &[usize] {
        &self.membership.assignment.failed
    }

    /// Whether spares ran out in the last repair, so that the user's communicator has shrunk.
    pub fn depleted(&self) -> bool {
        self.membership.assignment.depleted
    }

    // ---- synchronization ----

    /// Synchronizes with the other active processes at a point.
    ///
    /// # Collective
    /// Called by all active processes, at this or another point.
    pub fn meet(&self, point: SyncPoint, willing: bool) -> Result<SyncOutcome> {
        let own = point as u32 | if willing { WILLING } else { 0 };
        let agreed = self.active_comms()?.private.agree(own)?;
        Ok(match agreed.flag & SYNC_POINTS == point as u32 {
            true => SyncOutcome::AllHere {
                someone_failed: agreed.someone_failed,
                willing: agreed.flag & WILLING != 0,
            },
            false => SyncOutcome::Elsewhere,
        })
    }

    fn active_comms(&self) -> Result<&ActiveComms<C>> {
        self.membership.active.as_ref().ok_or(Error::Uninitialized)
    }

    fn rendezvous(&self) -> Result<()> {
        for _ in 0..ROUNDS {
            if let SyncOutcome::AllHere { .. } = self.meet(SyncPoint::Recovery, true)? {
                return Ok(());
            }
        }
        let waited = format!("not all ranks came to recovery in {ROUNDS} rounds");
        Err(Error::Unrepairable(waited))
    }

    /// Looks for failures without blocking. A failure is reported until it is repaired.
    pub fn detect(&self) -> Result<Option<Trouble>> {
        let active = self.active_comms()?;
        // Also lets MPI make progress, so that it learns of failures.
        let probed = active.private.signalled();
        if matches!(probed, Err(comm::Error::Revoked { .. })) || active.user.is_revoked() {
            return Ok(Some(Trouble::Revoked));
        }
        let failed = active.private.failed()?;
        Ok((!failed.is_empty()).then_some(Trouble::Failed))
    }

    // ---- repair ----

    /// Revokes the broken communicators and gets new ones, together with all other active processes.
    ///
    /// # Collective
    /// Called by all living active processes; spares join in [`Process::wait_as_spare`].
    pub fn recover(&mut self) -> Result<()> {
        if let Some(active) = &self.membership.active {
            active.user.revoke();
            active.private.revoke();
        }
        self.membership.world.revoke();
        self.rendezvous()?;
        self.repair()
    }

    fn repair(&mut self) -> Result<()> {
        let Membership { world, slot, .. } = &self.membership;
        let claim = MembershipClaim::again(*slot, world.size(), self.active());
        let new = establish(world, claim.with_quorum(self.quorum))?;
        let old = std::mem::replace(&mut self.membership, new);
        self.retired.extend(old.active);
        self.repaired = true;
        Ok(())
    }

    /// Waits until this spare becomes active or the job ends.
    pub fn wait_as_spare(&mut self) -> Result<Wake> {
        let mut nap = SHORTEST_NAP;
        while self.is_spare() {
            let world = &self.membership.world;
            match world.signalled() {
                Ok(true) => return Ok(Wake::Finalized),
                Ok(false) => {
                    sleep(nap);
                    nap = (2 * nap).min(LONGEST_NAP);
                }
                Err(comm::Error::Revoked { .. }) => self.repair()?,
                Err(comm::Error::ProcessFailed { .. }) => {
                    let failed = world.failed()?;
                    let active = &self.membership.assignment.ranks[..self.active()];
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

    /// Signals the end of the job to the spares, after all active processes have met at [`SyncPoint::Finalize`].
    pub fn dismiss_spares(&self) {
        let membership = &self.membership;
        if membership.slot < HERALDS.min(self.active()) {
            let spares = membership.assignment.ranks[self.active()..].iter();
            spares.for_each(|&spare| membership.world.signal(spare));
        }
    }

    /// Ends with or without freeing the communicators. If MPI creates a communicator in `MPI_Finalize`, ours must keep
    /// their ids until then: a spare leaves at the first of several signals, and would take a later one, or a message
    /// that nobody received, for a message of the new communicator with the reused id.
    pub fn end(self, frees: bool) {
        if !frees {
            std::mem::forget(self);
        }
    }
}

/// Builds a new world from the living processes of an old one. Each failed attempt means that another process has died,
/// so their number is limited by the number of processes, with a few to spare.
///
/// # Collective
/// Called by all living processes of `old`.
fn establish<C: Resilient>(old: &C, claim: MembershipClaim) -> Result<Membership<C>> {
    let mut cause = None;
    for _ in 0..old.size() + 3 {
        match shrink(old).and_then(|living| attempt(living, claim)) {
            Ok(membership) => return Ok(membership),
            Err(Error::Comm(lost)) => cause = Some(lost),
            Err(verdict) => return Err(verdict),
        }
    }
    let last = cause.map_or_else(String::new, |cause| cause.to_string());
    Err(Error::Unrepairable(format!(
        "too many attempts failed, the last with: {last}"
    )))
}

/// Shrinks the old world. Returns the new communicator only if all processes have it: revoking a communicator does not
/// interrupt processes that are still creating it.
fn shrink<C: Resilient>(old: &C) -> Result<C> {
    let living = old.shrink();
    let agreed = old.agree(u32::from(living.is_ok()))?;
    match agreed.flag {
        1 => Ok(living?),
        _ => Err(attempt_failed()),
    }
}

fn attempt_failed() -> Error {
    comm::Error::Revoked { call: "the repair" }.into()
}

/// Assigns slots and creates communicators. Succeeds on all living processes or on none. Errors in the claims are the
/// same on all of them.
fn attempt<C: Resilient>(living: C, claim: MembershipClaim) -> Result<Membership<C>> {
    let joined = join(&living, claim);
    let lost = matches!(joined, Err(Error::Comm(_)));
    if lost {
        // Others may be blocked in a collective that this process has left.
        living.revoke();
    }
    let agreed = living.agree(u32::from(!lost));
    let all_have = matches!(agreed, Ok(Agreement { flag: 1, .. }));
    if !all_have {
        // Keeps its id from being reused: messages of processes that left it may still arrive.
        living.revoke();
    }
    agreed?;
    let (assignment, slot, active) = joined?;
    match all_have {
        true => Ok(Membership {
            world: living,
            assignment,
            slot,
            active,
        }),
        false => Err(attempt_failed()),
    }
}

/// Creates the communicators without using them: other processes may have failed to create theirs.
fn join<C: Resilient>(
    living: &C,
    claim: MembershipClaim,
) -> Result<(RankAssignment, usize, Option<ActiveComms<C>>)> {
    let claims = claim.gather(living)?;
    let assignment = RankAssignment::from_claims(&claims)?;
    let slot = assignment.slot_of(living.rank())?;
    let is_active = slot < assignment.recovered.len();
    let active = living.split_for_user(is_active, slot as i32)?;
    let active = active.map(|(user, private)| ActiveComms { user, private });
    Ok((assignment, slot, active))
}

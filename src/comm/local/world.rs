//! What the threads of one [`run`](super::run) share: mailboxes, boards of collectives, and who waits for what.
//!
//! A thread that has to wait records what it awaits and sleeps. If the last thread goes to sleep while nothing that any
//! thread awaits can come any more, it has found a deadlock: every wait ends with an error.
//! With a [`RankSchedule`](super::RankSchedule) only one thread runs at a time, and `turns` decides which.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

use super::schedule::{Turns, die};
use super::{Error, Result, Tag};

/// The envelope of a message; names a mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Address {
    pub(super) context: u64,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) tag: Tag,
}

/// Messages of one address, received in the order in which they were sent.
#[derive(Default)]
struct Mailbox {
    unreceived: VecDeque<Arc<[u8]>>,
    received: u64,
    /// Receives that were posted and have not completed.
    posted: u64,
}

/// A communicator and the number of one of its collectives.
pub(super) type Collective = (u64, u64);

/// Senders and their messages.
pub(super) type Delivered = Vec<(usize, Vec<u8>)>;

/// What the ranks of a communicator contribute to one collective.
pub(super) type Contributions = Arc<Vec<Arc<[u8]>>>;

struct Board {
    /// The thread behind each rank, and what the rank contributes.
    members: Arc<[usize]>,
    given: Vec<Option<Arc<[u8]>>>,
    missing: usize,
    whole: Option<Contributions>,
    taken: usize,
}

impl Board {
    fn new(members: &Arc<[usize]>) -> Board {
        Board {
            members: members.clone(),
            given: vec![None; members.len()],
            missing: members.len(),
            whole: None,
            taken: 0,
        }
    }

    /// The first rank that has left without contributing.
    fn deserter(&self, gone: &[bool]) -> Option<usize> {
        let mut ranks = self.members.iter().zip(&self.given);
        ranks.position(|(thread, given)| given.is_none() && gone[*thread])
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Awaited {
    Message(Address),
    Collective(Collective),
    /// More than `seen` events of a thread.
    Event {
        thread: usize,
        seen: u64,
    },
}

#[derive(Default)]
pub(super) struct State {
    mail: HashMap<Address, Mailbox>,
    /// Deliveries by communicator and receiver.
    pub(super) delivered: HashMap<(u64, usize), Delivered>,
    boards: HashMap<Collective, Board>,
    /// What each thread waits for, and whether it has ended.
    waiting: Vec<Option<Awaited>>,
    gone: Vec<bool>,
    /// For each thread: messages sent to it, messages of its own that were received, and threads that have ended.
    events: Vec<u64>,
    /// How many threads are neither waiting nor gone.
    awake: usize,
    contexts: u64,
    /// Who waited for what when nobody could go on.
    deadlock: Option<String>,
    turns: Option<Turns>,
}

impl State {
    /// Whether a thread that awaits this can proceed.
    fn is_there(&self, awaited: &Awaited) -> bool {
        let all_die = self.turns.as_ref().is_some_and(Turns::all_die);
        if all_die || self.deadlock.is_some() {
            return true;
        }
        match awaited {
            Awaited::Message(from) => {
                let mailbox = self.mail.get(from);
                mailbox.is_some_and(|mail| !mail.unreceived.is_empty()) || self.gone[from.from]
            }
            Awaited::Event { thread, seen } => self.events[*thread] > *seen,
            Awaited::Collective(key) => {
                let board = self.boards.get(key);
                board.is_none_or(|b| b.whole.is_some() || b.deserter(&self.gone).is_some())
            }
        }
    }

    /// Whether the thread can proceed.
    fn is_ready(&self, thread: usize) -> bool {
        let awaited = &self.waiting[thread];
        !self.gone[thread] && awaited.as_ref().is_none_or(|a| self.is_there(a))
    }

    /// Called when no thread is awake. After a collective each thread is woken by the one before, so the search begins
    /// behind the thread that went to sleep last.
    fn find_deadlock(&mut self, last: usize) -> bool {
        let threads = self.gone.len();
        let mut others = (1..=threads).map(|distance| (last + distance) % threads);
        let found = self.gone.contains(&false) && !others.any(|thread| self.is_ready(thread));
        if found {
            self.deadlock = Some(self.describe_waits());
        }
        found
    }

    fn describe_waits(&self) -> String {
        let waits = self.waiting.iter().enumerate();
        let waits = waits.filter_map(|(thread, awaited)| Some((thread, (*awaited)?)));
        let text = waits.map(|(thread, awaited)| match awaited {
            Awaited::Message(Address { from, tag, .. }) => {
                format!("thread {thread}: a message of {from} with tag {tag}")
            }
            Awaited::Event { .. } => {
                let boxes = self.mail.iter().filter(|(_, mail)| mail.posted > 0);
                let own = boxes.filter(|(address, _)| address.to == thread);
                let own: Vec<_> = own.map(|(address, _)| (address.from, address.tag)).collect();
                format!("thread {thread}: messages of threads with tags {own:?}, or its own to be received")
            }
            Awaited::Collective(key) => {
                let given = self.boards.get(&key).map_or(&[][..], |b| &b.given);
                let came: Vec<_> = given.iter().map(|part| u8::from(part.is_some())).collect();
                format!("thread {thread}: collective {key:?}, given by {came:?}")
            }
        });
        text.collect::<Vec<_>>().join("; ")
    }

    /// The error of every wait once there is a deadlock.
    fn deadlock(&self) -> Result<()> {
        let Some(waits) = &self.deadlock else {
            return Ok(());
        };
        Err(Error::Transport {
            call: "wait",
            code: 0,
            text: format!("every rank waits for another: {waits}"),
        })
    }

    /// Chooses the thread whose turn is next; none if all have ended.
    fn next_turn(&mut self, last: usize) -> Option<usize> {
        let ready: Vec<usize> = (0..self.gone.len()).filter(|t| self.is_ready(*t)).collect();
        if ready.is_empty() {
            // If it is no deadlock, everybody has ended.
            return self.find_deadlock(last).then(|| self.next_turn(last))?;
        }
        self.turns.as_mut().map(|turns| turns.choose(last, &ready))
    }
}

pub(super) struct World {
    state: Mutex<State>,
    /// One for each thread.
    news: Vec<Condvar>,
    /// The node of each thread.
    pub(super) nodes: Vec<u64>,
    is_scheduled: bool,
}

impl World {
    pub(super) fn new(nodes: Vec<u64>, turns: Option<Turns>) -> World {
        let size = nodes.len();
        World {
            news: (0..size).map(|_| Condvar::new()).collect(),
            nodes,
            is_scheduled: turns.is_some(),
            state: Mutex::new(State {
                waiting: vec![None; size],
                gone: vec![false; size],
                events: vec![0; size],
                awake: size,
                turns,
                ..State::default()
            }),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// What is told of a run that has ended: the deadlock, if there was one, and how many calls each thread made.
    pub(super) fn end(&self) -> (Option<String>, Vec<u64>) {
        let mut state = self.lock();
        let turns = state.turns.take();
        (
            state.deadlock.take(),
            turns.map_or(Vec::new(), |turns| turns.calls()),
        )
    }

    // ---- turns ----

    /// A thread of a schedule begins when it is its turn.
    pub(super) fn begin(&self, thread: usize) {
        if self.is_scheduled {
            let state = self.lock();
            drop(self.await_turn(thread, state));
        }
    }

    /// A call of a scheduled thread: it may die here, or another may go first.
    pub(super) fn point(&self, thread: usize) {
        if !self.is_scheduled || thread::panicking() {
            return;
        }
        let mut state = self.lock();
        let Some(turns) = &mut state.turns else {
            return;
        };
        if turns.count(thread) {
            drop(state);
            die();
        }
        if turns.is_endless() && state.deadlock.is_none() {
            state.deadlock = Some("no end of calls".into());
        }
        self.pass_turn(thread, &mut state);
        drop(self.await_turn(thread, state));
    }

    fn pass_turn(&self, last: usize, state: &mut State) {
        if let Some(next) = state.next_turn(last).filter(|next| *next != last) {
            self.news[next].notify_one();
        }
    }

    /// # Unwinds
    /// If all ranks die meanwhile.
    fn await_turn<'a>(
        &self,
        thread: usize,
        mut state: MutexGuard<'a, State>,
    ) -> MutexGuard<'a, State> {
        while state
            .turns
            .as_ref()
            .is_some_and(|turns| turns.now() != thread)
        {
            let woken = self.news[thread].wait(state);
            state = woken.unwrap_or_else(|e| e.into_inner());
        }
        if state.turns.as_ref().is_some_and(Turns::all_die) {
            drop(state);
            die();
        }
        state
    }

    // ---- waiting ----

    fn wake(&self, state: &State, thread: usize) {
        if state.waiting[thread].is_some() && !self.is_scheduled {
            self.news[thread].notify_one();
        }
    }

    fn wait<'a>(
        &'a self,
        thread: usize,
        awaited: Awaited,
        mut state: MutexGuard<'a, State>,
    ) -> MutexGuard<'a, State> {
        state.waiting[thread] = Some(awaited);
        state.awake -= 1;
        if self.is_scheduled {
            self.pass_turn(thread, &mut state);
            state = self.await_turn(thread, state);
        } else if state.awake == 0 && state.find_deadlock(thread) {
            self.news.iter().for_each(Condvar::notify_one);
        } else {
            let woken = self.news[thread].wait(state);
            state = woken.unwrap_or_else(|e| e.into_inner());
        }
        state.waiting[thread] = None;
        state.awake += 1;
        state
    }

    /// Wakes the threads that wait for one that has ended.
    pub(super) fn leave(&self, thread: usize) {
        let mut state = self.lock();
        state.gone[thread] = true;
        state.events.iter_mut().for_each(|events| *events += 1);
        // A thread that died while it waited is noted as waiting.
        if state.waiting[thread].take().is_none() {
            state.awake -= 1;
        }
        if self.is_scheduled {
            return self.pass_turn(thread, &mut state);
        }
        if state.awake == 0 && state.find_deadlock(thread) {
            return self.news.iter().for_each(Condvar::notify_one);
        }
        let others = (0..self.nodes.len()).filter(|other| state.is_ready(*other));
        others.for_each(|other| self.wake(&state, other));
    }

    // ---- messages ----

    /// Sends a message and returns its number in its mailbox.
    pub(super) fn post(&self, to: Address, bytes: Arc<[u8]>) -> u64 {
        self.point(to.from);
        let mut state = self.lock();
        let mailbox = state.mail.entry(to).or_default();
        let number = mailbox.received + mailbox.unreceived.len() as u64;
        mailbox.unreceived.push_back(bytes);
        self.note_event(&mut state, to.to);
        self.wake(&state, to.to);
        number
    }

    /// Waits for the next message. `from` is the rank of the sender, which may have left without sending one.
    pub(super) fn take(&self, address: Address, from: usize) -> Result<Arc<[u8]>> {
        self.point(address.to);
        let mut state = self.lock();
        loop {
            if let Some(bytes) = self.take_now(&mut state, address) {
                return Ok(bytes);
            }
            // A thread that unwinds does not wait for anybody.
            if state.gone[address.from] || thread::panicking() {
                return Err(Error::PeerGone(from));
            }
            state.deadlock()?;
            state = self.wait(address.to, Awaited::Message(address), state);
        }
    }

    fn take_now(&self, state: &mut State, address: Address) -> Option<Arc<[u8]>> {
        let mailbox = state.mail.get_mut(&address)?;
        let bytes = mailbox.unreceived.pop_front()?;
        mailbox.received += 1;
        self.note_event(state, address.from);
        Some(bytes)
    }

    fn note_event(&self, state: &mut State, thread: usize) {
        state.events[thread] += 1;
        if let Some(Awaited::Event { .. }) = state.waiting[thread] {
            self.wake(state, thread);
        }
    }

    // ---- non-blocking messages ----

    /// Posts a receive and returns the number of the message that it is for.
    pub(super) fn post_recv(&self, address: Address) -> u64 {
        self.point(address.to);
        let mut state = self.lock();
        let mailbox = state.mail.entry(address).or_default();
        mailbox.posted += 1;
        mailbox.received + mailbox.posted - 1
    }

    /// Completes a posted receive, if its message has come.
    pub(super) fn test_recv(
        &self,
        address: Address,
        number: u64,
        from: usize,
    ) -> Option<Result<Arc<[u8]>>> {
        let mut state = self.lock();
        if state.mail.get(&address)?.received != number {
            return None;
        }
        let ended = match self.take_now(&mut state, address) {
            Some(bytes) => Ok(bytes),
            None if state.gone[address.from] => Err(Error::PeerGone(from)),
            None => return None,
        };
        state.mail.get_mut(&address)?.posted -= 1;
        Some(ended)
    }

    /// Whether a message has been received; an error if it never will be.
    pub(super) fn test_send(&self, address: Address, number: u64, to: usize) -> Option<Result<()>> {
        let state = self.lock();
        match state.mail.get(&address)?.received > number {
            true => Some(Ok(())),
            false => state.gone[address.to].then_some(Err(Error::PeerGone(to))),
        }
    }

    /// Whether a receive has been posted for the next message.
    pub(super) fn is_awaited(&self, address: Address) -> bool {
        let state = self.lock();
        let mailbox = state.mail.get(&address);
        mailbox.is_some_and(|mail| mail.posted > mail.unreceived.len() as u64)
    }

    pub(super) fn events(&self, thread: usize) -> u64 {
        self.point(thread);
        self.lock().events[thread]
    }

    pub(super) fn wait_for_event(&self, thread: usize, seen: u64) -> Result<()> {
        let mut state = self.lock();
        while state.events[thread] == seen {
            state.deadlock()?;
            state = self.wait(thread, Awaited::Event { thread, seen }, state);
        }
        Ok(())
    }

    /// Whether [`World::take`] would return at once for each of `from`.
    pub(super) fn would_take(&self, from: impl Iterator<Item = Address>) -> bool {
        let mut wanted: HashMap<Address, usize> = HashMap::new();
        from.for_each(|address| *wanted.entry(address).or_default() += 1);
        if let Some(own) = wanted.keys().next() {
            self.point(own.to);
        }
        let state = self.lock();
        wanted.into_iter().all(|(address, number)| {
            let mailbox = state.mail.get(&address);
            let come = mailbox.map_or(0, |mail| mail.unreceived.len());
            come >= number || state.gone[address.from] || state.deadlock.is_some()
        })
    }

    // ---- collectives ----

    /// Contributes `mine` as `rank` of `members` and returns what `join`, called once, makes of all contributions.
    pub(super) fn meet(
        &self,
        key: Collective,
        (members, rank): (&Arc<[usize]>, usize),
        mine: &[u8],
        join: impl FnOnce(Vec<Arc<[u8]>>) -> Vec<Arc<[u8]>>,
    ) -> Result<Contributions> {
        self.point(members[rank]);
        let mut state = self.lock();
        let new = || Board::new(members);
        let board = state.boards.entry(key).or_insert_with(new);
        board.given[rank] = Some(mine.into());
        board.missing -= 1;
        if board.missing == 0 {
            let given = std::mem::take(&mut board.given);
            board.whole = Some(Arc::new(join(given.into_iter().flatten().collect())));
            self.wake(&state, members[0]);
        }
        loop {
            let board = state.boards.entry(key).or_insert_with(new);
            if let Some(whole) = board.whole.clone() {
                board.taken += 1;
                if board.taken == members.len() {
                    state.boards.remove(&key);
                }
                if let Some(next) = members.get(rank + 1) {
                    self.wake(&state, *next);
                }
                return Ok(whole);
            }
            if let Some(rank) = state.boards[&key].deserter(&state.gone) {
                return Err(Error::PeerGone(rank));
            }
            if thread::panicking() {
                return Err(Error::PeerGone(rank));
            }
            state.deadlock()?;
            state = self.wait(members[rank], Awaited::Collective(key), state);
        }
    }

    pub(super) fn new_context(&self) -> u64 {
        let mut state = self.lock();
        state.contexts += 1;
        state.contexts
    }
}

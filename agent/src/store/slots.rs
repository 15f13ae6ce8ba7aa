//! Limits the number of tasks that act at a time, and each person's share of it.
//!
//! Waiting tasks are served round robin by person, so that one person's hundred tasks delay another person no more
//! than one does. A task that waits for a person or for an approval gives its slot back meanwhile.

use crate::protocol::owner::Owner;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// The slots of one service.
#[derive(Debug)]
pub struct Slots {
    all: usize,
    each: usize,
    /// Those who act or wait, in the order in which they are served next.
    people: Mutex<VecDeque<Person>>,
}

#[derive(Debug)]
struct Person {
    owner: Owner,
    acting: usize,
    waiting: VecDeque<oneshot::Sender<Permit>>,
}

/// A task's place among the others.
#[derive(Debug)]
pub struct Slot {
    slots: Arc<Slots>,
    owner: Owner,
    held: Option<Permit>,
}

/// The right to act, given back when it is dropped.
#[derive(Debug)]
struct Permit {
    slots: Arc<Slots>,
    owner: Owner,
}

/// How many tasks act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Of everybody.
    pub all: usize,
    /// Of this person.
    pub own: usize,
}

impl Slots {
    /// So many slots. One person has at most half of them, where there is more than one.
    #[must_use]
    pub fn new(all: usize) -> Arc<Self> {
        Arc::new(Self { all, each: all.div_ceil(2).max(1), people: Mutex::default() })
    }

    /// How many tasks act now.
    #[must_use]
    pub fn crowd(&self, owner: Owner) -> Load {
        let people = self.people();
        let own = people.iter().find(|person| person.owner == owner).map_or(0, |person| person.acting);
        Load { all: people.iter().map(|person| person.acting).sum(), own }
    }

    fn people(&self) -> MutexGuard<'_, VecDeque<Person>> {
        self.people.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(self: &Arc<Self>, owner: Owner) -> oneshot::Receiver<Permit> {
        let (sender, receiver) = oneshot::channel();
        let mut people = self.people();
        if let Some(person) = people.iter_mut().find(|person| person.owner == owner) {
            person.waiting.push_back(sender);
        } else {
            people.push_back(Person { owner, acting: 0, waiting: VecDeque::from([sender]) });
        }
        drop(people);
        self.serve();
        receiver
    }

    /// Gives out what is free.
    fn serve(self: &Arc<Self>) {
        let mut unwanted = Vec::new();
        let mut people = self.people();
        while people.iter().map(|person| person.acting).sum::<usize>() < self.all {
            for person in people.iter_mut() {
                person.waiting.retain(|waiting| !waiting.is_closed());
            }
            let next =
                people.iter().position(|person| person.acting < self.each && !person.waiting.is_empty());
            let Some(mut person) = next.and_then(|index| people.remove(index)) else { break };
            if let Some(waiting) = person.waiting.pop_front() {
                person.acting += 1;
                let permit = Permit { slots: Arc::clone(self), owner: person.owner };
                unwanted.extend(waiting.send(permit).err());
            }
            people.push_back(person);
        }
        people.retain(|person| person.acting > 0 || !person.waiting.is_empty());
        drop(people);
        // Dropping a permit that nobody waits for takes the lock again.
        drop(unwanted);
    }
}

impl Slot {
    /// Of a task that is alone in its process.
    #[must_use]
    pub fn alone() -> Self {
        Self::of(&Slots::new(1), Owner::Token)
    }

    /// Of a person's task.
    #[must_use]
    pub fn of(slots: &Arc<Slots>, owner: Owner) -> Self {
        Self { slots: Arc::clone(slots), owner, held: None }
    }

    /// Waits until the task may act.
    pub async fn take(&mut self) {
        if self.held.is_none() {
            // The sender is kept until it sends.
            self.held = self.slots.wait(self.owner).await.ok();
        }
    }

    /// Lets others act.
    pub fn give(&mut self) {
        self.held = None;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut people = self.slots.people();
        if let Some(person) = people.iter_mut().find(|person| person.owner == self.owner) {
            person.acting = person.acting.saturating_sub(1);
        }
        drop(people);
        self.slots.serve();
    }
}

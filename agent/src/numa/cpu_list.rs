//! Lists of CPUs and of NUMA nodes, as the kernel reads and writes them: `0-3,8`, and as a mask.

mod text;

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use device_attributes::NodeId;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use text::{mask, parse, parse_mask, ranges};

/// A list of CPUs.
pub type CpuList = List<Cpu>;

/// A list of NUMA nodes.
pub type NodeList = List<Node>;

/// What a [`List`] is of.
pub trait Kind {
    /// One of them.
    type Id: Copy;
    /// Every number is below this.
    const LIMIT: u32;
    /// As in "CPU 3".
    const NOUN: &'static str;
    /// The number of one.
    fn number(id: Self::Id) -> u32;
    /// The one with this number; none beyond the limit.
    fn id(number: u32) -> Option<Self::Id>;
}

/// CPUs, by the kernel's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cpu {}

impl Kind for Cpu {
    type Id = u32;
    /// Eight times what any architecture's `CONFIG_NR_CPUS` allows (x86, `MAXSMP`: 8192).
    const LIMIT: u32 = 65_536;
    const NOUN: &'static str = "CPU";

    fn number(id: u32) -> u32 {
        id
    }

    fn id(number: u32) -> Option<u32> {
        (number < Self::LIMIT).then_some(number)
    }
}

/// NUMA nodes, by the guest kernel's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {}

impl Kind for Node {
    type Id = NodeId;
    /// `MAX_NUMNODES`: `CONFIG_NODES_SHIFT` is at most 10.
    const LIMIT: u32 = 1024;
    const NOUN: &'static str = "NUMA node";

    fn number(id: NodeId) -> u32 {
        id.get().into()
    }

    fn id(number: u32) -> Option<NodeId> {
        NodeId::try_from(i64::from(number)).ok()
    }
}

/// Numbers of one kind, each once. Takes as many bits as its highest number.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct List<K> {
    /// Bit `n % 64` of word `n / 64` is number `n`; the last word is not zero.
    words: Vec<u64>,
    kind: PhantomData<K>,
}

/// Why a text is no list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// It is not in the kernel's form.
    #[error("\"{0}\" is no list of {1}s: write it like 0-3,8 or 0-15:2/4")]
    Form(String, &'static str),
    /// A range that ends before it begins, a group of none, or more of a group than it has.
    #[error(
        "\"{0}\" is no range: its end is not after its beginning, or it takes more of a group than there are"
    )]
    Range(String),
    /// A number beyond what any kernel has.
    #[error("\"{0}\" is beyond the highest {1} that a kernel can have, {2}")]
    Beyond(String, &'static str, u32),
    /// It is no mask.
    #[error("\"{0}\" is no mask: write hexadecimal words of 32 bits with commas between them")]
    Mask(String),
}

impl<K: Kind> List<K> {
    /// None.
    pub const fn new() -> Self {
        Self {
            words: Vec::new(),
            kind: PhantomData,
        }
    }

    /// From a mask as `smp_affinity` and `xps_cpus` show it: `3,00000000`.
    ///
    /// # Errors
    /// When it is none, or has bits beyond what a kernel can have.
    pub fn from_mask(text: &str) -> Result<Self, ListError> {
        parse_mask::<K>(text)
    }

    /// As a mask for `smp_affinity`, `xps_cpus` and systemd's `NUMAMask=` of old: hexadecimal words
    /// of 32 bits, the highest first. None is `0`.
    pub fn mask(&self) -> String {
        mask(&self.words)
    }

    /// Adds one; false when it is there or beyond the limit.
    pub fn insert(&mut self, id: K::Id) -> bool {
        let is_new = !self.contains(id);
        self.insert_range(K::number(id), K::number(id)) && is_new
    }

    /// Adds the numbers from the first to the last, which are in order; false when one is beyond the
    /// limit.
    fn insert_range(&mut self, first: u32, last: u32) -> bool {
        let (Some((begin, low)), Some((end, high))) = (Self::place(first), Self::place(last))
        else {
            return false;
        };
        if self.words.len() <= end {
            self.words.resize(end + 1, 0);
        }
        for (at, word) in self.words.iter_mut().enumerate().take(end + 1).skip(begin) {
            let from = if at == begin { !(low - 1) } else { u64::MAX };
            let to = if at == end {
                high | (high - 1)
            } else {
                u64::MAX
            };
            *word |= from & to;
        }
        true
    }

    fn place(number: u32) -> Option<(usize, u64)> {
        let word = usize::try_from(number / 64).ok()?;
        (number < K::LIMIT).then_some((word, 1 << (number % 64)))
    }

    /// Whether this one is in it.
    pub fn contains(&self, id: K::Id) -> bool {
        let place = Self::place(K::number(id));
        place.is_some_and(|(word, bit)| self.words.get(word).is_some_and(|word| word & bit != 0))
    }

    /// All of them, from the lowest.
    pub fn iter(&self) -> impl Iterator<Item = K::Id> {
        self.numbers().filter_map(K::id)
    }

    /// Their numbers, from the lowest.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        let words = self.words.iter().zip((0..).step_by(64));
        words.flat_map(|(word, first): (&u64, u32)| {
            (0..64)
                .filter(move |bit| word >> bit & 1 != 0)
                .map(move |bit| first + bit)
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        let ones = self.words.iter().map(|word| word.count_ones());
        usize::try_from(ones.sum::<u32>()).unwrap_or(usize::MAX)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The lowest.
    pub fn first(&self) -> Option<K::Id> {
        self.iter().next()
    }

    /// Those in either.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let longest = self.words.len().max(other.words.len());
        Self::combined(self, other, longest, |a, b| a | b)
    }

    /// Those in both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let shortest = self.words.len().min(other.words.len());
        Self::combined(self, other, shortest, |a, b| a & b)
    }

    /// Those that are not in the other.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        Self::combined(self, other, self.words.len(), |a, b| a & !b)
    }

    /// Whether the other has all of them.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.difference(other).is_empty()
    }

    fn combined(a: &Self, b: &Self, words: usize, combine: impl Fn(u64, u64) -> u64) -> Self {
        let word = |list: &Self, at: usize| list.words.get(at).copied().unwrap_or_default();
        let words = (0..words).map(|at| combine(word(a, at), word(b, at)));
        Self::of_words(words.collect())
    }

    /// From words of 64 bits, the lowest first; what is beyond the limit is left out.
    pub(crate) fn of_words(mut words: Vec<u64>) -> Self {
        // Every limit is a multiple of 64.
        words.truncate(usize::try_from(K::LIMIT / 64).unwrap_or(usize::MAX));
        while words.last() == Some(&0) {
            words.pop();
        }
        Self {
            words,
            kind: PhantomData,
        }
    }
}

impl<K: Kind> Default for List<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Kind> FromIterator<K::Id> for List<K> {
    fn from_iter<I: IntoIterator<Item = K::Id>>(ids: I) -> Self {
        let mut list = Self::new();
        for id in ids {
            list.insert(id);
        }
        list
    }
}

impl<K: Kind> FromStr for List<K> {
    type Err = ListError;

    /// In the form of the kernel's `bitmap_parselist` (`lib/bitmap-str.c`): numbers and ranges with
    /// commas or white space between them, `first-last:used/group` for some of each group. None is
    /// the empty text.
    fn from_str(text: &str) -> Result<Self, ListError> {
        parse::<K>(text)
    }
}

impl<K: Kind> fmt::Display for List<K> {
    /// As the kernel prints it; none is the empty text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&ranges(self.numbers()))
    }
}

impl<K: Kind> fmt::Debug for List<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}s {self}", K::NOUN)
    }
}

impl<K: Kind> Serialize for List<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, K: Kind> Deserialize<'de> for List<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;

//! The texts that the kernel has for a list: ranges, and masks.

use std::fmt::Write as _;

use device_attributes::one_line;

use super::{Kind, List, ListError};

/// The most bytes of a text that a message repeats.
const EXCERPT: usize = 64;

/// The most bytes of a list: every second of all the CPUs that any kernel can have is a sixth of it.
const TEXT_BYTES: usize = 128 * 1024;

/// Ranges, as `bitmap_parselist` takes them.
pub(super) fn parse<K: Kind>(text: &str) -> Result<List<K>, ListError> {
    if text.len() > TEXT_BYTES {
        return Err(form::<K>(text));
    }
    let mut list = List::new();
    let separators = |c: char| c == ',' || c.is_ascii_whitespace() || c == '\0';
    for region in text.split(separators).filter(|region| !region.is_empty()) {
        add_region(&mut list, region)?;
    }
    Ok(list)
}

fn add_region<K: Kind>(list: &mut List<K>, region: &str) -> Result<(), ListError> {
    let (range, pattern) = match region.split_once(':') {
        Some((range, pattern)) => (range, Some(pattern)),
        None => (region, None),
    };
    let (first, last) = match range.split_once('-') {
        Some((first, last)) => (number::<K>(first, region)?, number::<K>(last, region)?),
        // A group needs a range to divide.
        None if pattern.is_some() => return Err(form::<K>(region)),
        None => (number::<K>(range, region)?, number::<K>(range, region)?),
    };
    let (used, group) = match pattern {
        None => (u32::MAX, u32::MAX),
        Some(pattern) => {
            let (used, group) = pattern.split_once('/').ok_or_else(|| form::<K>(region))?;
            (number::<K>(used, region)?, number::<K>(group, region)?)
        }
    };
    if last < first || used == 0 || used > group {
        return Err(ListError::Range(one_line(region, EXCERPT)));
    }
    let beyond = |number: u32| number >= K::LIMIT;
    if beyond(first) || beyond(last) {
        let region = one_line(region, EXCERPT);
        return Err(ListError::Beyond(region, K::NOUN, K::LIMIT - 1));
    }
    for begin in (first..=last).step_by(usize::try_from(group).unwrap_or(usize::MAX)) {
        list.insert_range(begin, last.min(begin.saturating_add(used - 1)));
    }
    Ok(())
}

fn form<K: Kind>(region: &str) -> ListError {
    ListError::Form(one_line(region, EXCERPT), K::NOUN)
}

/// A number of the list; one that 32 bits do not hold is beyond every limit.
fn number<K: Kind>(text: &str, region: &str) -> Result<u32, ListError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(form::<K>(region));
    }
    Ok(text.parse().unwrap_or(u32::MAX))
}

/// Numbers in ascending order, as `%*pbl` prints them.
pub(super) fn ranges(numbers: impl Iterator<Item = u32>) -> String {
    let mut text = String::new();
    let mut range: Option<(u32, u32)> = None;
    // Writing to a String cannot fail.
    let mut end = |range: Option<(u32, u32)>| match range {
        Some((first, last)) if first == last => {
            let _ = write!(text, ",{first}");
        }
        Some((first, last)) => {
            let _ = write!(text, ",{first}-{last}");
        }
        None => {}
    };
    for number in numbers {
        range = match range {
            Some((first, last)) if last + 1 == number => Some((first, number)),
            _ => {
                end(range);
                Some((number, number))
            }
        };
    }
    end(range);
    text.trim_start_matches(',').to_owned()
}

/// Words of 32 bits, the highest first, as `bitmap_parse` takes them.
pub(super) fn parse_mask<K: Kind>(text: &str) -> Result<List<K>, ListError> {
    let wrong = || ListError::Mask(one_line(text.trim(), EXCERPT));
    let text = text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\0');
    let halves: Vec<u64> = text
        .rsplit(',')
        .map(|word| match word.len() {
            1..=8 if word.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                u64::from_str_radix(word, 16).map_err(|_| wrong())
            }
            _ => Err(wrong()),
        })
        .collect::<Result<_, _>>()?;
    let words = halves.chunks(2).map(|halves| match halves {
        [low, high] => high << 32 | low,
        [low] => *low,
        _ => 0,
    });
    let words: Vec<u64> = words.collect();
    let limit = usize::try_from(K::LIMIT / 64).unwrap_or(usize::MAX);
    if words.iter().skip(limit).any(|word| *word != 0) {
        let text = one_line(text, EXCERPT);
        return Err(ListError::Beyond(text, K::NOUN, K::LIMIT - 1));
    }
    Ok(List::of_words(words))
}

/// As `%*pb` prints it, without the zeros in front that depend on how many CPUs the kernel knows.
pub(super) fn mask(words: &[u64]) -> String {
    let halves = words
        .iter()
        .rev()
        .flat_map(|word| [word >> 32, word & 0xffff_ffff]);
    let mut text = String::new();
    for half in halves.skip_while(|half| *half == 0) {
        // Writing to a String cannot fail.
        let _ = match text.as_str() {
            "" => write!(text, "{half:x}"),
            _ => write!(text, ",{half:08x}"),
        };
    }
    if text.is_empty() {
        "0".to_owned()
    } else {
        text
    }
}

//! The values of a policy's keys, each of the type that its key takes.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use device_attributes::one_line;

use super::reader::{EXCERPT, Reader, Table, Value};

pub(super) fn text(reader: &mut Reader, value: &Value<'_>) -> Option<String> {
    let text = value.get_ref().as_str().map(str::to_owned);
    if text.is_none() {
        reader.wrong_type(value, "a string");
    }
    text
}

/// A string of a type that says itself what it takes.
pub(super) fn parsed<T: FromStr<Err: Display>>(
    reader: &mut Reader,
    value: &Value<'_>,
) -> Option<T> {
    match text(reader, value)?.parse() {
        Ok(parsed) => Some(parsed),
        Err(error) => {
            reader.mistake(value.span(), error);
            None
        }
    }
}

pub(super) fn boolean(reader: &mut Reader, value: &Value<'_>) -> Option<bool> {
    let boolean = value.get_ref().as_bool();
    if boolean.is_none() {
        reader.wrong_type(value, "true or false");
    }
    boolean
}

/// An integer within bounds; `what` names it in the message.
pub(super) fn integer(
    what: &str,
    bounds: RangeInclusive<u32>,
) -> impl Fn(&mut Reader, &Value<'_>) -> Option<u32> {
    move |reader, value| {
        let Some(integer) = value.get_ref().as_integer() else {
            reader.wrong_type(value, "an integer");
            return None;
        };
        // Underscores between digits are gone by now.
        let number = u32::from_str_radix(integer.as_str(), integer.radix());
        let number = number.ok().filter(|number| bounds.contains(number));
        if number.is_none() {
            let (least, most) = (bounds.start(), bounds.end());
            let integer = one_line(&integer.to_string(), EXCERPT);
            let message = format!("{what} of {integer} is not within {least} to {most}");
            reader.mistake(value.span(), message);
        }
        number
    }
}

/// Every element of a list, or none when one of them is a mistake.
pub(super) fn list<T>(
    read: impl Fn(&mut Reader, &Value<'_>) -> Option<T>,
) -> impl Fn(&mut Reader, &Value<'_>) -> Option<Vec<T>> {
    move |reader, value| {
        let Some(array) = value.get_ref().as_array() else {
            reader.wrong_type(value, "a list");
            return None;
        };
        // Every mistake is told, not the first alone.
        let elements: Vec<Option<T>> = array.iter().map(|value| read(reader, value)).collect();
        elements.into_iter().collect()
    }
}

/// A table, read by `read`.
pub(super) fn table<T>(
    read: impl Fn(&mut Table<'_>) -> Option<T>,
) -> impl Fn(&mut Reader, &Value<'_>) -> Option<T> {
    move |reader, value| {
        let Some(table) = value.get_ref().as_table() else {
            reader.wrong_type(value, "a table");
            return None;
        };
        reader.table(table, value.span(), &read)
    }
}

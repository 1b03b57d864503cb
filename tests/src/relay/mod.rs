//! The relay as a component of a node whose VMs are objects of an API server: the objects, and guests that speak as the
//! agent does.

pub mod guest;
pub mod monitor;
pub mod objects;

//! The relay as a component of a node whose VMs are objects of an API server: the objects, guests that speak as the agent
//! does, and a fleet of both.

pub mod fleet;
pub mod guest;
pub mod monitor;
pub mod objects;
pub mod resources;
pub mod vms;

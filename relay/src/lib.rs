//! Takes what guests report of their devices, and puts it on their ResourceClaim.
//!
//! A report's way: [`listen`] (who connects, by CID) → [`guest`] (one task a guest: lines, account,
//! silence) → [`merge`] (pure: claim and statements to claim) → a [`store::ClaimStore`]: [`claim_files`], or the
//! API server of a [`cluster`].

pub mod account;
pub mod annotate;
pub mod arguments;
pub mod claim_files;
pub mod cluster;
pub mod configuration;
pub mod connection;
pub mod doctor;
pub mod guest;
pub mod guest_socket;
pub mod listen;
pub mod log;
pub mod mailbox;
pub mod manifest;
pub mod merge;
pub mod message;
pub mod monitoring;
pub mod plain_text;
pub mod presence;
pub mod rate;
pub mod replace;
pub mod roster;
pub mod run;
pub mod serve_claim_files;
pub mod serve_node;
pub mod statement;
pub mod store;
pub mod value;

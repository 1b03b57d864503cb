//! Measurements against peers, on this machine, in one run.

mod agent;
mod hook;
mod system_calls;
mod timing;

pub use agent::{AgentBench, AgentFigures};
pub use hook::{HookBench, HookFigures};
pub use system_calls::SystemCalls;

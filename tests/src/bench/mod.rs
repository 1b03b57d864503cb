//! Measurements against peers, on this machine, in one run.

mod agent;
mod hook;
mod relay;
mod system_calls;
mod timing;

pub use agent::{AgentBench, AgentFigures};
pub use hook::{HookBench, HookFigures};
pub use relay::{Idle, Latencies, RelayBench, RelayFigures, Requests};
pub use system_calls::SystemCalls;

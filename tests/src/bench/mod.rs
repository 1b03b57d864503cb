//! Measurements against peers, on this machine, in one run.

mod agent;
mod bare_applies;
mod hook;
mod relay;
mod relay_figures;
mod system_calls;
mod timing;

pub use agent::{AgentBench, AgentFigures};
pub use hook::{HookBench, HookFigures};
pub use relay::RelayBench;
pub use relay_figures::{Idle, Latencies, RelayFigures, Requests};
pub use system_calls::SystemCalls;

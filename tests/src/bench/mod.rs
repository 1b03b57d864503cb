//! Measurements against peers, on this machine, in one run.

mod agent;
mod bare_applies;
mod container_start;
mod exec;
mod floor;
mod guest;
mod hook;
mod hook_load;
mod many_nics;
mod memory;
mod near;
mod nmstate;
mod nri;
mod relay;
mod relay_figures;
mod sandbox;
mod system_calls;
mod timing;

pub use agent::{AgentBench, AgentFigures};
pub use container_start::{ContainerStartFigures, measure_container_start};
pub use exec::{ExecBench, ExecFigures};
pub use guest::{GuestFigures, measure_in_guest};
pub use hook::{HookBench, HookFigures};
pub use hook_load::{HookLoadFigures, measure_hook_load};
pub use many_nics::{ManyNics, ManyNicsFigures};
pub use memory::{Memory, memory_of_run};
pub use near::measure_near;
pub use nri::{NriFigures, measure_nri};
pub use relay::RelayBench;
pub use relay_figures::{Idle, Latencies, RelayFigures, Requests};
pub use sandbox::measure_sandbox;
pub use system_calls::SystemCalls;

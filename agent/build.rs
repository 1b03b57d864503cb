//! Links the release program without what it has no use for.

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    static_link::leave_out_unwinding()
}

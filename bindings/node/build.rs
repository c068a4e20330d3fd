//! Tells the linker that the host process provides the symbols of Node-API.

fn main() {
    napi_build::setup();
}

//! chimera

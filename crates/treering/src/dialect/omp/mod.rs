//! omp

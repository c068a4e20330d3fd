//! pi, whose version 3 is treering's own format.

//! Servers of others that tests run against, each in a temporary folder and on free loopback ports, ended when dropped.
//! One that cannot be started fails the test: nothing is skipped.

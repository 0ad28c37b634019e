mod answers;
mod one_time;
mod session;

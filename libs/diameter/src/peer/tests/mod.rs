mod capabilities;
mod conversation;
mod hostile;
mod identity;
mod pair;
mod states;
mod storm;
mod watchdog;

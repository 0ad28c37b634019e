mod capabilities;
mod conversation;
mod hostile;
mod owner;
mod pair;
mod states;
mod storm;
mod watchdog;

mod hostile;
mod samples;
mod tolerance;

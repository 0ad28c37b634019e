-- Which bus this database works with: an id that both have. Nothing: none yet.
ALTER TABLE house ADD COLUMN pair UUID;

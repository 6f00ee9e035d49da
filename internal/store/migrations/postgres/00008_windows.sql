-- Rows go as fast as they come: their room is free again soon.
ALTER TABLE journal SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

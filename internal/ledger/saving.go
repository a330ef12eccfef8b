package ledger

// Compare sets PerHour and ByNodePool from the prices of Removed and Launched, or Unpriced if some are not known.
func (s *Saving) Compare() {
	s.PerHour, s.ByNodePool, s.Unpriced = nil, nil, nil
	removed, launched := 0.0, 0.0
	pools := map[string]float64{}
	for _, c := range s.Removed {
		if c.Price == nil {
			s.Unpriced = append(s.Unpriced, c.Name)
			continue
		}
		removed += *c.Price
		pools[c.NodePool] += *c.Price
	}
	for _, c := range s.Launched {
		if c.Price == nil {
			s.Unpriced = append(s.Unpriced, c.Name)
			continue
		}
		launched += *c.Price
	}
	if len(s.Unpriced) > 0 || len(s.Removed) == 0 {
		return
	}
	total := removed - launched
	s.PerHour, s.ByNodePool = &total, map[string]float64{}
	for pool, price := range pools {
		share := price / removed
		if removed == 0 {
			share = 1 / float64(len(pools))
		}
		s.ByNodePool[pool] = total * share
	}
}

// Pools are the NodePools of what was removed.
func (s *Saving) Pools() []string {
	var out []string
	seen := map[string]bool{}
	for _, c := range s.Removed {
		if !seen[c.NodePool] {
			seen[c.NodePool] = true
			out = append(out, c.NodePool)
		}
	}
	return out
}

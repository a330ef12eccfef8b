package solve

// Solve places the pods of the problem.
func Solve(p Problem) Plan {
	p, rejected := rejectDeviceless(p)
	r := newRun(p)
	r.seed()
	return solve(r, rejected)
}

// solve places the pods of a compiled problem; rejected are those that could not be considered.
func solve(r *run, rejected []UnschedulablePods) Plan {
	s := newPlacer(r)
	zones := s.zones()
	s.placeAll(s.queue())
	s.tighten()
	diagnosed := diagnoseAll(s)
	if !r.problem.Options.DisableRepacking {
		rightSize(s)
	}
	plan := newPlan(s)
	plan.Unschedulable = append(plan.Unschedulable, append(diagnosed, rejected...)...)
	plan.Unlaunchable, plan.Zones = unlaunchablePools(r), zones
	return plan
}

// unlaunchablePools lists the pools that can launch nothing: those without any instance type first, each kind in the order of
// trial.
func unlaunchablePools(r *run) []UnlaunchablePool {
	var out []UnlaunchablePool
	for _, t := range r.unlaunchable {
		out = append(out, UnlaunchablePool{Pool: t.pool.Name, Unavailable: unavailableOfferings(t)})
	}
	for _, t := range r.templates {
		if root := t.states[t.root]; len(t.unmet(root, root.mask)) > 0 && !t.bestEffort {
			out = append(out, UnlaunchablePool{Pool: t.pool.Name, MinValues: true})
		}
	}
	return out
}

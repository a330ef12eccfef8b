package requirement

import "iter"

// DistinctValues counts the different values that the requirements in list name and that r accepts. It is what minValues of r
// is compared with; list has the requirement of every instance type on r's key. Complements name no values.
func (r Requirement) DistinctValues(list iter.Seq[Requirement]) int {
	seen := map[string]bool{}
	for one := range list {
		if one.complement {
			continue
		}
		for _, value := range one.values {
			if r.Has(value) {
				seen[value] = true
			}
		}
	}
	return len(seen)
}

package bound

// packingProblem is the bin packing problem of one component of a market, without everything that does not affect the cost.
type packingProblem struct {
	itemTypes []itemType
	// sharedCaps limit the pods of several item types that one bin may hold.
	sharedCaps []sharedCap
	// bins are the bin types, in unlimited number or limited by a supply, and the nodes, which are always limited by one.
	bins []*bin
	// supplies are the numbers of bins that are available, by supply.
	supplies []int
	// originalItemTypes are the item types before aggregation; empty if nothing was aggregated.
	originalItemTypes []originalItemType
	// nodeGroups are the nodes if there are more than maxNodeGroups groups of them. During column generation, bins of average
	// capacity represent them; these prove nothing.
	nodeGroups []nodeGroup
	// firstAggregate is the first supply of the bins that represent nodeGroups.
	firstAggregate int
}

// nodeGroup is a number of nodes with equal capacity that accept the same constraint sets.
type nodeGroup struct {
	*bin
	count int
}

// itemType is a number of pods with equal requests and constraint sets.
type itemType struct {
	// need is by resource of the packing problem.
	need []int64
	pods int
	// maxPerBin is the number of its pods that one bin may hold, whatever its capacity.
	maxPerBin int
	// caps are indexes of the shared caps that count the item type.
	caps []int
}

// sharedCap limits the pods of several item types that one bin may hold.
type sharedCap struct {
	itemTypes []int
	maxPods   int
}

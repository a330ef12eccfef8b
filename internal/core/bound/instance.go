package bound

// instance is a part of a market that has nothing to do with the rest, with everything left out that has no say in the
// cost.
type instance struct {
	lots []lot
	// caps bound how many pods of several lots one machine may hold.
	caps []capped
	// bins are the machines that can be had any number of times, and those of which there is a supply.
	bins []*bin
	// supplies are how many bins of a kind there are.
	supplies []int
	// fine are the lots before they were lumped together; none if they were not.
	fine []fineLot
	// crowd are the nodes when there are too many kinds of them. Some bins stand for them while values are looked for; they
	// are of middling size, so they prove nothing.
	crowd []crowded
	// standIns is the first supply of bins that stand for the crowd.
	standIns int
}

// crowded is a number of nodes that are alike.
type crowded struct {
	*bin
	count int
}

// lot is pods that ask the same of everything that is left.
type lot struct {
	// need is by resource of the instance.
	need []int64
	pods int
	// most is how many of them one machine may hold whatever its room.
	most int
	// caps are those of the instance that the lot takes part in.
	caps []int
}

// capped is the most pods of several lots that one machine may hold.
type capped struct {
	lots []int
	most int
}

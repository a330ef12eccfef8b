package model

// PodGroup is a group of pods that kube-scheduler places together: in one cycle, and only if at least MinCount of its members run then.
type PodGroup struct {
	Namespace, Name string
	// Created is the creation time in nanoseconds since the epoch; it orders groups whose pods are equal.
	Created int64
	// MinCount is how many members have to run; 1 for a group that is no gang.
	MinCount int
	// Priority and PreemptionPolicy are those that all members must have.
	Priority         int32
	PreemptionPolicy string
	// TopologyKey is a node label of which all members need the same value; empty if they may be anywhere.
	TopologyKey string
	// DisruptedTogether is set when the members are disrupted together or not at all.
	DisruptedTogether bool
}

// ID returns namespace/name.
func (g *PodGroup) ID() string { return g.Namespace + "/" + g.Name }

// Membership is what a pod says about its group.
type Membership struct {
	// Group is the ID of the group, whether it exists or not.
	Group string
	// Scheduler, Priority and PreemptionPolicy are those of the pod. Members of a group agree in them.
	Scheduler        string
	Priority         int32
	PreemptionPolicy string
}

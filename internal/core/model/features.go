package model

// LearnedFeatures is what nodes had that were launched last, as an estimate of what the next ones will have. Its maps are never changed.
type LearnedFeatures struct {
	// Pools are the features of the newest nodes of each pool, by its name.
	Pools map[string]PoolFeatures
	// Classes are those of the newest nodes of each node class, by its label, as key=name.
	Classes map[string]PoolFeatures
	// Kubelet is the minor version of Kubernetes 1 of the kubelet of the newest node with a NodeClaim; 0 if there has been none.
	Kubelet int
}

// PoolFeatures is what the newest nodes of a pool had.
type PoolFeatures struct {
	// Hash is that of the NodePool that the nodes were launched from. With another one they say nothing about the next node.
	Hash string
	// NodeFeatures are the features that all of them declared, sorted.
	NodeFeatures []string
	// LackedDrivers are the CSI drivers that one of them was without, sorted.
	LackedDrivers []string
}

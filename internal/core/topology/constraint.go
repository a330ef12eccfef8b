package topology

// Spread bounds how unevenly pods may be distributed over the domains of a node label.
type Spread struct {
	// Key is the node label whose values are the domains.
	Key string
	// MaxSkew is how far a domain may be above the emptiest one, at least 1.
	MaxSkew int32
	// MinDomains is the number of domains below which the emptiest one counts as empty; 0 for no such demand.
	MinDomains int32
	// Soft marks a wish (ScheduleAnyway).
	Soft bool
	// Selector chooses the pods that count, matchLabelKeys included. Namespace is the pod's own.
	Selector  *Selector
	Namespace string
	// AnyAffinity counts nodes that the pod's own node selector and affinity exclude (nodeAffinityPolicy Ignore).
	AnyAffinity bool
	// HonorTaints leaves out nodes whose taints the pod does not tolerate (nodeTaintsPolicy Honor).
	HonorTaints bool
}

// Affinity draws a pod to, or keeps it from, domains that hold certain other pods.
type Affinity struct {
	// Key is the node label whose values are the domains.
	Key string
	// Anti keeps the pod away instead of drawing it near.
	Anti bool
	// Weight is 0 for what is required and 1 to 100 for a wish.
	Weight int32
	// Selector chooses the other pods.
	Selector *Selector
	// Namespaces are those of the other pods, sorted. NamespaceSelector adds the namespaces with such labels; nil adds none.
	Namespaces        []string
	NamespaceSelector *Selector
}

// Required reports whether the term is more than a wish.
func (a Affinity) Required() bool { return a.Weight == 0 }

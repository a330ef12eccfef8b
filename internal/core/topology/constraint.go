package topology

// Spread is a topology spread constraint.
type Spread struct {
	// Key is the node label whose values are the domains.
	Key string
	// MaxSkew is the maximum difference to the domain with the fewest pods, at least 1.
	MaxSkew int32
	// MinDomains is the number of domains below which the minimum count is taken as 0; 0 for none.
	MinDomains int32
	// Soft is set for whenUnsatisfiable ScheduleAnyway.
	Soft bool
	// Selector selects the pods that count, including matchLabelKeys. Namespace is the pod's own.
	Selector  *Selector
	Namespace string
	// AnyAffinity includes nodes that the pod's node selector and affinity exclude (nodeAffinityPolicy Ignore).
	AnyAffinity bool
	// HonorTaints excludes nodes whose taints the pod does not tolerate (nodeTaintsPolicy Honor).
	HonorTaints bool
}

// Affinity is a term of pod affinity or anti-affinity.
type Affinity struct {
	// Key is the node label whose values are the domains.
	Key string
	// Anti is set for anti-affinity.
	Anti bool
	// Weight is 0 for required terms and 1 to 100 for preferred ones.
	Weight int32
	// Selector selects the other pods.
	Selector *Selector
	// Namespaces are those of the other pods, sorted. NamespaceSelector adds the namespaces with such labels; nil adds none.
	Namespaces        []string
	NamespaceSelector *Selector
}

// Required reports whether the term is required.
func (a Affinity) Required() bool { return a.Weight == 0 }

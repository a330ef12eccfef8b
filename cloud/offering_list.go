package cloud

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

// OfferingList is a list of instance types prepared for launching: all offerings in order of price, with their labels already in
// the label algebra. It never changes and may be shared; build a new one when availability or prices change.
type OfferingList struct {
	types     []*InstanceType
	offerings []listedOffering
	sets      []requirement.Set // requirements of types, by index
	rules     v1.LabelRules
}

// menuLine is one offering. Its labels and allocatable are computed once, because a launch reads thousands.
type listedOffering struct {
	typeIndex     int
	offeringIndex int
	set           requirement.Set
	text          string // of set; the order among offerings of one type at one price
	allocatable   corev1.ResourceList
}

// Candidate is an offering that a NodeClaim can be launched as.
type Candidate struct {
	Type     *InstanceType
	Offering *Offering
}

// NewOfferingList prepares types. The types must not be changed as long as the list is in use.
func NewOfferingList(types []*InstanceType, rules v1.LabelRules) *OfferingList {
	m := &OfferingList{types: types, rules: rules}
	for i, t := range types {
		m.sets = append(m.sets, Requirements(t.Requirements, rules))
		plain := t.Allocatable()
		for j := range t.Offerings {
			o := &t.Offerings[j]
			line := listedOffering{typeIndex: i, offeringIndex: j, set: Requirements(o.Requirements, rules), allocatable: plain}
			line.text = line.set.String()
			if len(o.CapacityOverride) > 0 || len(o.OverheadOverride) > 0 {
				line.allocatable = t.AllocatableOf(o)
			}
			m.offerings = append(m.offerings, line)
		}
	}
	slices.SortFunc(m.offerings, m.compare)
	return m
}

// compare orders by price, then by type name, then by the offering's labels, then by position: a total order that
// depends only on the offerings.
func (m *OfferingList) compare(a, b listedOffering) int {
	x, y := m.candidate(a), m.candidate(b)
	return cmp.Or(
		cmp.Compare(x.Offering.Price, y.Offering.Price),
		cmp.Compare(x.Type.Name, y.Type.Name),
		cmp.Compare(a.text, b.text),
		cmp.Compare(a.typeIndex, b.typeIndex),
		cmp.Compare(a.offeringIndex, b.offeringIndex),
	)
}

func (m *OfferingList) candidate(l listedOffering) Candidate {
	t := m.types[l.typeIndex]
	return Candidate{Type: t, Offering: &t.Offerings[l.offeringIndex]}
}

// Candidates are the offerings from which claim can be launched, cheapest first: the type and the offering meet the claim's
// requirements, the offering is available, and the claim's requests fit. Labels that the type does not define count
// as satisfied when the claim requires them, because a claim may carry labels of the user. MinValues is not
// considered: it constrains the choice of types, which is already made.
func (m *OfferingList) Candidates(claim *v1.NodeClaim) iter.Seq[Candidate] {
	return func(yield func(Candidate) bool) {
		want := Requirements(claim.Spec.Requirements, m.rules)
		typeFits := make([]verdict, len(m.types))
		for _, line := range m.offerings {
			if m.judge(line, claim, want, typeFits) == accepted && !yield(m.candidate(line)) {
				return
			}
		}
	}
}

// verdict is the result for an offering or a type; the zero value is "not evaluated yet".
type verdict int

const (
	unknown verdict = iota
	accepted
	wrongLabels
	unavailable
	tooSmall
)

// judge decides one offering. typeFits caches, by type, the result that all its offerings share.
func (m *OfferingList) judge(line listedOffering, claim *v1.NodeClaim, want requirement.Set, typeFits []verdict) verdict {
	known := &typeFits[line.typeIndex]
	if *known == unknown {
		*known = wrongLabels
		if want.Compatible(m.sets[line.typeIndex], m.rules.AllowsUndefined) {
			*known = accepted
		}
	}
	switch o := m.candidate(line).Offering; {
	case *known != accepted || !want.Compatible(line.set, m.rules.AllowsUndefined):
		return wrongLabels
	case !o.Launchable():
		return unavailable
	case !fits(claim.Spec.Resources.Requests, line.allocatable):
		return tooSmall
	default:
		return accepted
	}
}

// Refusal says in one sentence why Candidates is empty for claim, by counting the reason for each offering.
func (m *OfferingList) Refusal(claim *v1.NodeClaim) error {
	want := Requirements(claim.Spec.Requirements, m.rules)
	typeFits := make([]verdict, len(m.types))
	var count [tooSmall + 1]int
	for _, line := range m.offerings {
		count[m.judge(line, claim, want, typeFits)]++
	}
	return fmt.Errorf("no offering can be launched for nodeclaim %q: of %d offerings of %d instance types, %d do not meet "+
		"its requirements, %d are unavailable, %d are smaller than its requests",
		claim.Name, len(m.offerings), len(m.types), count[wrongLabels], count[unavailable], count[tooSmall])
}

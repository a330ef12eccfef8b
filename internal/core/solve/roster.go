package solve

import (
	"math"

	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// blockSize is how many claims a roster passes over at once when none of them can have room.
const blockSize = 32

// roster is the open claims of one template in the order in which they were opened, in blocks that know an upper bound of
// what any of their claims has left. Claims only get fuller, so a bound that is not up to date is merely too generous.
type roster struct {
	numbers []int
	bounds  []resource.Vector
}

// add enters a claim.
func (ro *roster) add(number int, slack resource.Vector) {
	if len(ro.numbers)%blockSize == 0 {
		ro.bounds = append(ro.bounds, nil)
	}
	ro.numbers = append(ro.numbers, number)
	ro.raise(len(ro.bounds)-1, slack)
}

func (ro *roster) raise(block int, slack resource.Vector) {
	bound := ro.bounds[block]
	for len(bound) < len(slack) {
		bound = append(bound, math.MinInt64)
	}
	for r, amount := range slack {
		bound[r] = max(bound[r], amount)
	}
	ro.bounds[block] = bound
}

// refresh works the bound of a block out anew.
func (ro *roster) refresh(block int, claims []*claim) {
	ro.bounds[block] = ro.bounds[block][:0]
	for _, number := range ro.numbers[block*blockSize : min((block+1)*blockSize, len(ro.numbers))] {
		ro.raise(block, claims[number].slack)
	}
}

// roomy reports whether slack may be enough for one pod of the class.
func (c *class) roomy(slack resource.Vector) bool {
	for _, need := range c.needs {
		if slack.At(need.resource) < need.amount {
			return false
		}
	}
	return true
}

// spot is what a lane knows about one template.
type spot struct {
	// cursor is how many claims of the roster are known to be of no use.
	cursor int
	// judged tells that barred is known: taints or labels of the template keep the lane's pods out.
	judged, barred bool
	// closed is set when the template refuses to open a claim.
	closed bool
}

// spot is what the lane knows about the i-th template.
func (s *solver) spot(c *class, st *stage, ln *lane, i int) *spot {
	sp, t := &ln.spots[i], s.templates[i]
	if !sp.judged {
		sp.judged = true
		_, repelled := t.repels(c, st)
		sp.barred = repelled || !t.mayAccept(ln.forms)
	}
	return sp
}

// floatingSpot is what the lane knows about those claims of the i-th template, of so many, that are not bound to a domain yet.
func (ln *lane) floatingSpot(i, templates int) *spot {
	if len(ln.spots) == templates {
		ln.spots = append(ln.spots, make([]spot, templates)...)
	}
	return &ln.spots[templates+i]
}

// mayAccept reports whether the labels of an empty claim agree with one of the forms.
func (t *template) mayAccept(forms []*conjunction) bool {
	for _, form := range forms {
		if t.compatible(t.states[t.root], form.terms) {
			return true
		}
	}
	return false
}

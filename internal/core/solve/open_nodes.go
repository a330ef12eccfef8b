package solve

import (
	"math"

	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// blockSize is how many claims a roster passes over at once when none of them can have room.
const blockSize = 32

// roster is the open claims of one template in the order in which they were opened, in blocks that know an upper bound of
// what any of their claims has left. Claims only get fuller, so a bound that is not up to date is merely too generous.
type openNodes struct {
	numbers     []int
	upperBounds []resource.Vector
}

// add enters a claim.
func (ro *openNodes) add(number int, slack resource.Vector) {
	if len(ro.numbers)%blockSize == 0 {
		ro.upperBounds = append(ro.upperBounds, nil)
	}
	ro.numbers = append(ro.numbers, number)
	ro.raise(len(ro.upperBounds)-1, slack)
}

func (ro *openNodes) raise(block int, slack resource.Vector) {
	bound := ro.upperBounds[block]
	for len(bound) < len(slack) {
		bound = append(bound, math.MinInt64)
	}
	for r, amount := range slack {
		bound[r] = max(bound[r], amount)
	}
	ro.upperBounds[block] = bound
}

// refresh works the bound of a block out anew.
func (ro *openNodes) refresh(block int, open []*openNode) {
	ro.upperBounds[block] = ro.upperBounds[block][:0]
	for _, number := range ro.numbers[block*blockSize : min((block+1)*blockSize, len(ro.numbers))] {
		ro.raise(block, open[number].slack)
	}
}

// roomy reports whether slack may be enough for one pod of the class.
func (c *class) mayFit(slack resource.Vector) bool {
	for _, need := range c.needs {
		if slack.At(need.resource) < need.amount {
			return false
		}
	}
	return true
}

// spot is what a lane knows about one template.
type templateCursor struct {
	// cursor is how many claims of the roster are known to be of no use.
	cursor int
	// judged tells that barred is known: taints or labels of the template keep the lane's pods out.
	checked, rejects bool
	// closed is set when the template refuses to open a claim.
	closed bool
}

// cursor is what the variant, which is one of a level, knows about a template.
func (dv *domainVariant) cursor(lv *level, t *template) *templateCursor {
	sp := &dv.cursors[t.number]
	if !sp.checked {
		sp.checked = true
		_, repelled := t.repels(lv.class, lv)
		sp.rejects = repelled || !t.mayAccept(dv.forms)
	}
	return sp
}

// floatingSpot is what the lane knows about those claims of the i-th template, of so many, that are not bound to a domain yet.
func (dv *domainVariant) floatingCursor(i, templates int) *templateCursor {
	if len(dv.cursors) == templates {
		dv.cursors = append(dv.cursors, make([]templateCursor, templates)...)
	}
	return &dv.cursors[templates+i]
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

package compile

import (
	"math"

	"github.com/karpenter-anew/karpenter/internal/core/resource"
)

// BlockSize is how many open nodes are skipped at once when none of them can have enough capacity.
const BlockSize = 32

// OpenNodes is the open nodes of one template in the order in which they were opened, in blocks with an upper bound of the
// slack of their nodes. Open nodes only get fuller, so an outdated bound is merely too generous.
type OpenNodes struct {
	Numbers     []int
	UpperBounds []resource.Vector
}

// Add appends an open node.
func (ro *OpenNodes) Add(number int, slack resource.Vector) {
	if len(ro.Numbers)%BlockSize == 0 {
		ro.UpperBounds = append(ro.UpperBounds, nil)
	}
	ro.Numbers = append(ro.Numbers, number)
	ro.raise(len(ro.UpperBounds)-1, slack)
}

func (ro *OpenNodes) raise(block int, slack resource.Vector) {
	bound := ro.UpperBounds[block]
	for len(bound) < len(slack) {
		bound = append(bound, math.MinInt64)
	}
	for r, amount := range slack {
		bound[r] = max(bound[r], amount)
	}
	ro.UpperBounds[block] = bound
}

// Refresh recomputes the upper bound of a block.
func (ro *OpenNodes) Refresh(block int, open []*OpenNode) {
	ro.UpperBounds[block] = ro.UpperBounds[block][:0]
	for _, number := range ro.Numbers[block*BlockSize : min((block+1)*BlockSize, len(ro.Numbers))] {
		ro.raise(block, open[number].Slack)
	}
}

// MayFit reports whether slack may be enough for one pod of the class.
func (c *Class) MayFit(slack resource.Vector) bool {
	for _, need := range c.Needs {
		if slack.At(need.Resource) < need.Amount {
			return false
		}
	}
	return true
}

// TemplateCursor records what a variant has tried on one template.
type TemplateCursor struct {
	// Cursor is how many of the open nodes are known to reject the variant.
	Cursor int
	// checked is set once rejects is known: whether taints or labels of the template keep the variant's pods out.
	checked, Rejects bool
	// Closed is set when the template cannot open a node for the variant.
	Closed bool
}

// Retry forgets which bins rejected the class.
func (c *Class) Retry() {
	for _, lv := range c.Levels {
		for _, dv := range lv.Variants {
			dv.Nodes = 0
			clear(dv.cursors)
		}
	}
}

// Cursor returns the cursor of a variant, which is one of a level, for a template.
func (dv *DomainVariant) Cursor(lv *Level, t *Template) *TemplateCursor {
	sp := &dv.cursors[t.number]
	if !sp.checked {
		sp.checked = true
		_, repelled := t.Repels(lv.Class, lv)
		sp.Rejects = repelled || lv.Beside != nil && !runsOn(t, lv) || !t.mayAccept(dv.Forms)
	}
	return sp
}

// FloatingCursor returns the cursor of a variant for those open nodes of the i-th template, of so many, that are not bound to a
// domain yet.
func (dv *DomainVariant) FloatingCursor(i, templates int) *TemplateCursor {
	if len(dv.cursors) == templates {
		dv.cursors = append(dv.cursors, make([]TemplateCursor, templates)...)
	}
	return &dv.cursors[templates+i]
}

// mayAccept reports whether the labels of an empty open node agree with one of the forms.
func (t *Template) mayAccept(forms []*Conjunction) bool {
	for _, form := range forms {
		if t.Compatible(t.States[t.Root], form.Terms) {
			return true
		}
	}
	return false
}

package disruption

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
)

// Reasons keeps, for every node that the last passes left alone, what stood in the way of each method. It is safe for
// concurrent use.
type Reasons struct {
	mu sync.Mutex
	// byMethod holds obstacles by the ID of the node; the method "" is what stands in the way of all of them.
	byMethod map[string]map[string]disrupt.Obstacle
}

// WhyNot is what stood in the way of one method.
type WhyNot struct {
	// Method is the reason and type of the method, such as "Underutilized/single"; empty for all methods.
	Method   string
	Obstacle disrupt.Obstacle
}

func newReasons() *Reasons { return &Reasons{byMethod: map[string]map[string]disrupt.Obstacle{}} }

// put replaces what is known of a method.
func (r *Reasons) put(method string, obstacles []disrupt.Obstacle) {
	known := make(map[string]disrupt.Obstacle, len(obstacles))
	for _, o := range obstacles {
		if o.Node != nil {
			known[o.Node.ID] = o
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byMethod[method] = known
}

// Of is why the node with this ID is not disrupted, sorted by method.
func (r *Reasons) Of(id string) []WhyNot {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []WhyNot
	for method, known := range r.byMethod {
		if o, ok := known[id]; ok {
			out = append(out, WhyNot{Method: method, Obstacle: o})
		}
	}
	slices.SortFunc(out, func(a, b WhyNot) int {
		return cmp.Or(strings.Compare(a.Method, b.Method), strings.Compare(string(a.Obstacle.Code), string(b.Obstacle.Code)))
	})
	return out
}

// nameOf is how a method is called where its reason is not enough.
func nameOf(m disrupt.Method) string {
	if m.Type == "" {
		return string(m.Reason)
	}
	return string(m.Reason) + "/" + m.Type
}

package disruption

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// Obstacles holds the obstacle of each method for every node that the last passes did not disrupt. It is safe for concurrent use.
type Obstacles struct {
	mu sync.Mutex
	// byMethod holds obstacles by method and node ID; the method "" has obstacles to all methods.
	byMethod map[string]map[string]disrupt.Obstacle

	// logged are the codes that were last logged for a node. Only the loop accesses it.
	logged map[string]string
}

// MethodObstacle is the obstacle of one method.
type MethodObstacle struct {
	// Method is the name of the method; empty for all methods.
	Method   string
	Obstacle disrupt.Obstacle
}

func newObstacles() *Obstacles { return &Obstacles{byMethod: map[string]map[string]disrupt.Obstacle{}} }

// put replaces the obstacles of a method.
func (r *Obstacles) put(method string, obstacles []disrupt.Obstacle) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byMethod[method] = byNode(obstacles)
}

// add adds obstacles of a method.
func (r *Obstacles) add(method string, obstacles []disrupt.Obstacle) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byMethod[method] == nil {
		r.byMethod[method] = map[string]disrupt.Obstacle{}
	}
	maps.Copy(r.byMethod[method], byNode(obstacles))
}

// refresh replaces the obstacles of a method for these nodes, and keeps those of other nodes that it still considers.
func (r *Obstacles) refresh(method string, obstacles []disrupt.Obstacle, fit []disrupt.Candidate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := byNode(obstacles)
	for _, c := range fit {
		if o, ok := r.byMethod[method][c.Node.ID]; ok {
			known[c.Node.ID] = o
		}
	}
	r.byMethod[method] = known
}

func byNode(obstacles []disrupt.Obstacle) map[string]disrupt.Obstacle {
	out := make(map[string]disrupt.Obstacle, len(obstacles))
	for _, o := range obstacles {
		if o.Node != nil {
			out[o.Node.ID] = o
		}
	}
	return out
}

// log logs the obstacles to disrupting the nodes, for each node only when they change. Obstacles that only the process knows, such as a
// backoff after a failure, are shown nowhere else. Only the loop calls it, which is the only one that changes the obstacles.
func (r *Obstacles) log(ctx context.Context, to *slog.Logger, nodes model.Index[*model.Node]) {
	if !to.Enabled(ctx, slog.LevelDebug) {
		return
	}
	before := r.logged
	r.logged = make(map[string]string, nodes.Len())
	methods := slices.Sorted(maps.Keys(r.byMethod))
	var codes []byte
	for _, n := range nodes.Sorted() {
		codes = codes[:0]
		for _, method := range methods {
			if o, ok := r.byMethod[method][n.ID]; ok {
				codes = append(append(append(append(codes, method...), ' '), o.Code...), ',')
			}
		}
		last := before[n.ID]
		if string(codes) == last {
			r.logged[n.ID] = last
			continue
		}
		if r.logged[n.ID] = string(codes); len(codes) > 0 {
			to.Debug("node is left alone", logfield.Node(n.NodeName), logfield.NodeClaim(n.ClaimName), logfield.Reasons(reasons(r.Of(n.ID))))
		}
	}
}

func reasons(why []MethodObstacle) string {
	var texts []string
	for _, w := range why {
		texts = append(texts, strings.TrimPrefix(w.Method+": "+w.Obstacle.String(), ": "))
	}
	return strings.Join(texts, "; ")
}

// Of returns why the node with this ID is not disrupted, sorted by method.
func (r *Obstacles) Of(id string) []MethodObstacle {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []MethodObstacle
	for method, known := range r.byMethod {
		if o, ok := known[id]; ok {
			out = append(out, MethodObstacle{Method: method, Obstacle: o})
		}
	}
	slices.SortFunc(out, func(a, b MethodObstacle) int {
		return cmp.Or(strings.Compare(a.Method, b.Method), strings.Compare(string(a.Obstacle.Code), string(b.Obstacle.Code)))
	})
	return out
}

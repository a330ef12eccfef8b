package explain

import (
	"context"
	"math"
	"slices"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/problem"
	"github.com/karpenter-anew/karpenter/internal/simulation"
)

// analysis evaluates all nodes as disruption does.
type analysis struct {
	Question
	view simulation.DisruptionView
	// assessed are the nodes that may be disrupted, excluded the obstacles of the others by node ID.
	assessed simulation.Assessment
	excluded map[string]disrupt.Obstacle
	// candidates are the indices of assessed.Candidates by node ID.
	candidates map[string]int
	// ofPool are the nodes by NodePool.
	ofPool map[string][]*model.Node
	// claims are the NodeClaims by name, pdbs the PodDisruptionBudgets by namespace/name.
	claims map[string]*v1.NodeClaim
	pdbs   map[string]*policyv1.PodDisruptionBudget
	// underWay are the reasons of the commands that the controller is carrying out, by the IDs of their nodes.
	underWay map[string]string
	// inCommand are the IDs of those of these nodes that show no disruption otherwise.
	inCommand map[string]bool
	// allowances are what budgets allow, by reason; computed when first needed.
	allowances map[disrupt.Reason]problem.Allowances
	// together is the command for several nodes at once; nil until it was searched for.
	together *disrupt.Decision
}

// NewAnalysis evaluates the objects of a question. Errors are those of the provider that lists instance types.
func newAnalysis(ctx context.Context, q Question) (*analysis, error) {
	fleet, err := simulation.ViewForDisruption(ctx, q.Objects, q.Cloud, q.Options)
	if err != nil {
		return nil, err
	}
	s := &analysis{Question: q, view: fleet, excluded: map[string]disrupt.Obstacle{}, candidates: map[string]int{}, ofPool: map[string][]*model.Node{}, allowances: map[disrupt.Reason]problem.Allowances{}, inCommand: map[string]bool{}}
	s.claims, s.pdbs = byName(q.Objects)
	s.underWay = commandsUnderWay(s.claims, fleet.Snapshot)
	for id := range s.underWay {
		n, _ := fleet.Snapshot.Nodes.Get(id)
		s.inCommand[id] = !n.Deleting && !n.Rebooting // these say more
	}
	if s.assessed, err = fleet.Assess(ctx, q.Options.Now, simulation.InProgress{InCommand: s.inCommand}); err != nil {
		return nil, err
	}
	for _, o := range s.assessed.Excluded {
		s.excluded[o.Node.ID] = o
	}
	for i, c := range s.assessed.Candidates {
		s.candidates[c.Node.ID] = i
	}
	for _, n := range fleet.Snapshot.Nodes.Sorted() {
		if n.Managed {
			s.ofPool[n.Pool] = append(s.ofPool[n.Pool], n)
		}
	}
	return s, nil
}

// knownPrice is the price of a node in dollars an hour; nil when it is not known.
func (s *analysis) knownPrice(n *model.Node) *float64 {
	price, known := s.view.Prices[n.Pool].Known(n)
	if !known {
		return nil
	}
	return &price
}

// unlimited are budgets that are never used up.
func (s *analysis) unlimited() disrupt.Budgets {
	out := disrupt.Budgets{}
	for name := range s.view.Pools {
		out[name] = math.MaxInt32
	}
	return out
}

// assess returns what a method would do with one candidate alone, or with those that it disrupts only together with it, budgets aside: a
// command, or an obstacle. wanted is set for nodes that the reason applies to.
func (s *analysis) assess(reason disrupt.Reason, c disrupt.Candidate) (command disrupt.Command, o disrupt.Obstacle, wanted bool) {
	m := disrupt.MethodFor(reason, c)
	taken, refused := m.FilterNodes(m.Together(c, s.assessed.Candidates))
	if o, ok := obstacleOf(c, refused); ok {
		return disrupt.Command{}, orHeadroom(o, c), m.Filter(c) == ""
	}
	fit, blocked := m.FilterPods(taken, s.assessed.PodObstacles)
	if o, ok := obstacleOf(c, blocked); ok {
		return disrupt.Command{}, o, true
	}
	d := s.assessed.Decide(m, fit, s.unlimited())
	switch {
	case len(d.Commands) > 0:
		return d.Commands[0], disrupt.Obstacle{}, true
	case len(d.Obstacles) > 0:
		o, _ := obstacleOf(c, d.Obstacles)
		return disrupt.Command{}, o, true
	default:
		return disrupt.Command{}, disrupt.Obstacle{Code: disrupt.NotEmpty, Node: c.Node}, true
	}
}

// orHeadroom is o, or that a node without pods to move is kept for capacity buffers: such nodes are left to emptiness, which does not remove it.
func orHeadroom(o disrupt.Obstacle, c disrupt.Candidate) disrupt.Obstacle {
	if o.Code != disrupt.AlreadyEmpty {
		return o
	}
	if code := disrupt.MethodFor(disrupt.Empty, c).Filter(c); code == disrupt.KeepsHeadroom || code == disrupt.HeadroomUnknown {
		o.Code = code
	}
	return o
}

// byName are the objects that answers about many nodes look up.
func byName(objects []client.Object) (claims map[string]*v1.NodeClaim, pdbs map[string]*policyv1.PodDisruptionBudget) {
	claims, pdbs = map[string]*v1.NodeClaim{}, map[string]*policyv1.PodDisruptionBudget{}
	for _, o := range objects {
		switch o := o.(type) {
		case *v1.NodeClaim:
			claims[o.Name] = o
		case *policyv1.PodDisruptionBudget:
			pdbs[o.Namespace+"/"+o.Name] = o
		}
	}
	return claims, pdbs
}

// commandsUnderWay are the reasons of the commands that the controller is carrying out, as NodeClaims show them, by the IDs of their nodes.
func commandsUnderWay(claims map[string]*v1.NodeClaim, snapshot *model.Snapshot) map[string]string {
	out := map[string]string{}
	for id, n := range snapshot.Nodes.All() {
		claim, ok := claims[n.ClaimName]
		if !ok {
			continue
		}
		if c := meta.FindStatusCondition(claim.Status.Conditions, v1.ConditionTypeDisruptionReason); c != nil && c.Status == metav1.ConditionTrue {
			out[id] = c.Reason
		}
	}
	return out
}

// obstacleOf is the obstacle of a candidate, if it has one.
func obstacleOf(c disrupt.Candidate, list []disrupt.Obstacle) (disrupt.Obstacle, bool) {
	return obstacleAt(c.Node, list)
}

// obstacleAt is the obstacle of a node, if it has one.
func obstacleAt(n *model.Node, list []disrupt.Obstacle) (disrupt.Obstacle, bool) {
	i := slices.IndexFunc(list, func(o disrupt.Obstacle) bool { return o.Node.ID == n.ID })
	if i < 0 {
		return disrupt.Obstacle{}, false
	}
	return list[i], true
}

// consolidatedTogether is the command for several nodes at once, within the budgets; false for none.
func (s *analysis) consolidatedTogether() (disrupt.Command, bool) {
	if s.together == nil {
		s.together = &disrupt.Decision{}
		for _, m := range s.view.Methods() {
			if m.Search == disrupt.CandidateSets {
				*s.together = s.decideSet(m)
			}
		}
	}
	if len(s.together.Commands) == 0 {
		return disrupt.Command{}, false
	}
	return s.together.Commands[0], true
}

func (s *analysis) decideSet(m disrupt.Method) disrupt.Decision {
	wanted, _ := m.FilterNodes(s.assessed.Candidates)
	fit, _ := m.FilterPods(wanted, s.assessed.PodObstacles)
	if len(fit) < 2 {
		return disrupt.Decision{}
	}
	return s.assessed.Decide(m, fit, s.budgetsFor(m.Reason))
}

// budgetsFor is how many more nodes of each pool may be disrupted for a reason.
func (s *analysis) budgetsFor(reason disrupt.Reason) disrupt.Budgets {
	out := disrupt.Budgets{}
	for name := range s.view.Pools {
		out[name] = s.allowance(name, reason).Remaining
	}
	return out
}

// Allowance is what the budgets of a NodePool allow for one reason.
type Allowance struct {
	Reason string `json:"reason"`
	// Allowed is how many nodes may be disrupting at the same time; null for no limit.
	Allowed *int `json:"allowed"`
	// Disrupting is how many are; Remaining how many more may be.
	Disrupting int `json:"disrupting"`
	Remaining  int `json:"remaining"`
	// Error names the budget that cannot be read: no disruption is allowed then.
	Error string `json:"error,omitempty"`
	// Closed is why OperationsPolicies allow no disruption now.
	Closed *Closure `json:"closed,omitempty"`
}

// Closure is why OperationsPolicies do not allow disruption of a NodePool for a reason now.
type Closure struct {
	// OperationsPolicy is the name of the policy, Kind is window, freeze or invalid.
	OperationsPolicy string `json:"operationsPolicy"`
	Kind             string `json:"kind"`
	// Until is when the policy allows disruption again, if that is known.
	Until   *time.Time `json:"until,omitempty"`
	Message string     `json:"message"`
}

func (s *analysis) allowance(pool string, reason disrupt.Reason) Allowance {
	if s.allowances[reason] == nil {
		s.allowances[reason] = problem.AllowancesOf(s.view.Snapshot, s.Options.Now, s.view.Pools, reason, s.inCommand, s.assessed.Operations)
	}
	found := s.allowances[reason][pool]
	allowed := found.Allowed
	a := Allowance{Reason: string(reason), Disrupting: found.Usage.Disrupting + found.Usage.Planned, Remaining: min(found.Remaining(), found.Usage.Nodes)}
	if found.Err != nil {
		a.Error = found.Err.Error()
	}
	if found.Closed {
		c := found.Closure
		a.Closed = &Closure{OperationsPolicy: c.Policy, Kind: string(c.Kind), Until: known(c.Until), Message: c.Text(pool, string(reason))}
	}
	if allowed < v1.NoDisruptionLimit {
		a.Allowed = &allowed
	}
	return a
}

// candidate is the one with a node ID.
func (s *analysis) candidate(id string) (disrupt.Candidate, bool) {
	i, ok := s.candidates[id]
	if !ok {
		return disrupt.Candidate{}, false
	}
	return s.assessed.Candidates[i], true
}

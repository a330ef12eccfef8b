package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// Node is the answer about a node.
type Node struct {
	// Version is that of the schema, Kind is Node.
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	NodeClaim string `json:"nodeClaim"`
	NodePool  string `json:"nodePool"`
	// PricePerHour is in dollars; null when it is not known.
	PricePerHour *float64 `json:"pricePerHour"`
	// PodsToMove is how many pods have to run elsewhere when the node is removed.
	PodsToMove int `json:"podsToMove"`
	// Lost are those of them without a controller that would create them elsewhere.
	Lost []string `json:"podsWithoutController,omitempty"`
	// Obstacle prevents disruption for every reason; null when that depends on the reason.
	Obstacle *Obstacle `json:"obstacle"`
	// Verdicts are one for each reason, in the order in which methods run; where Obstacle is set, only that of repair. Repair comes first, and
	// only for unhealthy nodes, if the controller repairs nodes.
	Verdicts []Verdict `json:"verdicts"`
	// Expected are pods that are nominated to the node: pending ones, and those of nodes that are being deleted.
	Expected []string `json:"expected,omitempty"`
	// Lifetime is what ends the node otherwise; null without a NodeClaim.
	Lifetime *Lifetime `json:"lifetime"`
}

// Verdict is what one reason for disruption means for a node.
type Verdict struct {
	Reason string `json:"reason"`
	// Wanted is set when the reason applies to the node: empty, drifted, or eligible for consolidation.
	Wanted bool `json:"wanted"`
	// Now is set when the node would be disrupted for the reason now, if no other node comes first.
	Now bool `json:"now"`
	// Plan is what would be done, perhaps only once budgets allow it.
	Plan *Plan `json:"plan,omitempty"`
	// Obstacle prevents the disruption; null when nothing does.
	Obstacle *Obstacle `json:"obstacle,omitempty"`
	// Conditions are those that call for a repair, with what repair policies say about them; only with the reason Unhealthy.
	Conditions []string `json:"conditions,omitempty"`
	// Drift is how a node has drifted; only with the reason Drifted.
	Drift *Drift `json:"drift,omitempty"`
}

// Drift is how a node has drifted, as the condition Drifted of its NodeClaim says.
type Drift struct {
	Reason string `json:"reason"`
	// Message is empty if it says no more than the reason.
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since"`
}

// driftOf is how the node of a NodeClaim has drifted; nil for not.
func driftOf(claim *v1.NodeClaim) *Drift {
	if claim == nil {
		return nil
	}
	c := meta.FindStatusCondition(claim.Status.Conditions, v1.ConditionTypeDrifted)
	if c == nil || c.Status != metav1.ConditionTrue {
		return nil
	}
	d := &Drift{Reason: c.Reason, Since: c.LastTransitionTime.UTC()}
	if c.Message != c.Reason {
		d.Message = c.Message
	}
	return d
}

// String is the reason and the message.
func (d Drift) String() string {
	if d.Message == "" {
		return d.Reason
	}
	return d.Reason + ": " + d.Message
}

// Plan is what would be done with a node.
type Plan struct {
	// Decision is delete, replace, terminate-first, or reboot.
	Decision string `json:"decision"`
	// TerminateFirst is why the node is terminated before its replacement launches: static-at-limit.
	TerminateFirst string `json:"terminateFirst,omitempty"`
	// Replacements are the cheapest instance types that would be launched first.
	Replacements []string `json:"replacements,omitempty"`
	// AlsoFor are other pods that these would be for, so that SavesPerHour includes their costs: pending ones, and those of nodes that are being deleted.
	AlsoFor []string `json:"alsoFor,omitempty"`
	// SavesPerHour is in dollars; null when the price of a node is not known, as that of what a static NodePool launches.
	SavesPerHour *float64 `json:"savesPerHour"`
	// With are other nodes that would be removed at the same time.
	With []string `json:"with,omitempty"`
	// Approval is what asks a person to approve it first; null if nothing does.
	Approval *Approval `json:"approval,omitempty"`
}

// Approval is that an OperationsPolicy asks for approval.
type Approval struct {
	OperationsPolicy string `json:"operationsPolicy"`
	Message          string `json:"message"`
}

// AboutNode explains a node, by the name of its Node or of its NodeClaim.
func AboutNode(ctx context.Context, q Question, name string) (Node, error) {
	s, err := newAnalysis(ctx, q)
	if err != nil {
		return Node{}, err
	}
	return s.aboutNode(ctx, name)
}

func (s *analysis) aboutNode(ctx context.Context, name string) (Node, error) {
	n := s.node(name)
	if n == nil {
		return Node{}, noNode(s.Objects, name)
	}
	return s.explainNode(ctx, n)
}

// AboutNodeClaim explains the node of a NodeClaim, also one that has not joined the cluster yet, by the name of the NodeClaim.
func AboutNodeClaim(ctx context.Context, q Question, name string) (Node, error) {
	if _, ok := find[*v1.NodeClaim](q.Objects, "", name); !ok {
		return Node{}, noObject[*v1.NodeClaim](q.Objects, "nodeclaim", name)
	}
	s, err := newAnalysis(ctx, q)
	if err != nil {
		return Node{}, err
	}
	for _, n := range s.view.Snapshot.Nodes.Sorted() {
		if n.ClaimName == name {
			return s.explainNode(ctx, n)
		}
	}
	return Node{}, fmt.Errorf("nodeclaim %q: its node is not part of the cluster state", name)
}

func (s *analysis) explainNode(ctx context.Context, n *model.Node) (Node, error) {
	a := Node{
		Version: Version, Kind: "Node", Name: n.Name, NodeClaim: n.ClaimName, NodePool: n.Pool,
		PricePerHour: s.knownPrice(n), Verdicts: []Verdict{}, Expected: podIDs(s.expected(n)),
		Lifetime: lifetimeOf(s, n), Lost: withoutController(s.view.Pods[n.NodeName], n),
	}
	for _, p := range n.Pods {
		if p.Reschedulable {
			a.PodsToMove++
		}
	}
	repaired, err := s.repairVerdict(ctx, n)
	if err != nil {
		return Node{}, err
	}
	if repaired != nil {
		a.Verdicts = append(a.Verdicts, *repaired)
	}
	if o, barred := s.excluded[n.ID]; barred {
		shown := s.obstacle(o)
		shown.Then = thenAnnotation(s, o)
		a.Obstacle = &shown
		return a, nil
	}
	c, _ := s.candidate(n.ID)
	for _, reason := range voluntary(s) {
		a.Verdicts = append(a.Verdicts, s.verdict(reason, c))
	}
	s.includeTogether(&a.Verdicts[len(a.Verdicts)-1], n)
	return a, nil
}

// node finds a node. Names of Nodes come first.
func (s *analysis) node(name string) *model.Node {
	var found *model.Node
	for _, n := range s.view.Snapshot.Nodes.Sorted() {
		switch name {
		case n.NodeName:
			return n
		case n.ClaimName:
			found = n
		}
	}
	return found
}

func (s *analysis) verdict(reason disrupt.Reason, c disrupt.Candidate) Verdict {
	command, o, wanted := s.assess(reason, c)
	v := Verdict{Reason: string(reason), Wanted: wanted}
	if reason == disrupt.Drifted {
		v.Drift = driftOf(s.claims[c.Node.ClaimName])
	}
	if o.Code != "" {
		shown := obstacleFor(s, o, reason)
		shown.Then = thenPods(s, o, shown.Until, reason, c)
		if reason == disrupt.Underutilized {
			s.addClosedDestinations(&shown, o, c)
		}
		v.Obstacle = &shown
		return v
	}
	v.Plan = s.planOf(command, c.Node)
	budgets := disrupt.Budgets{}
	for _, pool := range command.Pools() {
		budgets[pool] = s.allowance(pool, reason).Remaining
	}
	over := budgets.OverBudget(command.Candidates)
	if v.Now = over == nil && v.Plan.Approval == nil; over != nil {
		shown := s.budgetObstacle(*over, reason)
		v.Obstacle = &shown
	}
	return v
}

// budgetObstacle is the obstacle of budgets that do not allow enough, with the tightest budget and the nodes that count against it.
func (s *analysis) budgetObstacle(o disrupt.Obstacle, reason disrupt.Reason) Obstacle {
	n := o.Node
	shown, allowance := s.obstacle(o), s.allowance(n.Pool, reason)
	shown.Detail = allowance.text()
	if b, ok := s.tightest(s.view.Pools[n.Pool], reason); ok && allowance.Error == "" {
		b.Changes = nil
		shown.Detail += "; the tightest budget is " + b.text()
		shown.Until = opens(s.view.Pools[n.Pool], reason, s.Options.Now, disrupt.Usages(s.view.Snapshot, s.inCommand, "")[n.Pool])
	}
	if allowance.Disrupting == 0 {
		shown.Help = "Loosen the budgets of the NodePool."
		if shown.Until != nil {
			shown.Help = "Loosen the budgets of the NodePool, or wait until they allow it."
		}
	}
	for i, d := range s.disrupting(n.Pool) {
		if i == shownNodes {
			shown.Detail += ", ..."
			break
		}
		shown.Detail += fmt.Sprintf("; %s: %s", d.Node, d.Why)
	}
	return shown
}

// mostChanges limits how many changes of budgets are looked at.
const mostChanges = 1000

// opens is when the windows of the budgets of a NodePool next allow a disruption for a reason, if its nodes stay as they are; nil for never, or if
// that is too far away to tell.
func opens(pool *v1.NodePool, reason disrupt.Reason, now time.Time, usage disrupt.Usage) *time.Time {
	for range mostChanges {
		next := pool.BudgetsChange(now)
		if next.IsZero() {
			return nil
		}
		if allowed, err := pool.AllowedDisruptions(next, usage.Nodes, v1.DisruptionReason(reason)); err == nil && usage.Remaining(allowed) > 0 {
			return &next
		}
		now = next
	}
	return nil
}

// includeTogether adds the plan to consolidate a node together with others, which precedes plans for single nodes.
func (s *analysis) includeTogether(v *Verdict, n *model.Node) {
	if command, ok := s.consolidatedTogether(); ok && includes(command, n) {
		v.Plan, v.Obstacle = s.planOf(command, n), nil
		v.Now = v.Plan.Approval == nil
	}
}

// includes reports whether a node is one of those of a command.
func includes(c disrupt.Command, n *model.Node) bool {
	return slices.ContainsFunc(c.Candidates, func(c disrupt.Candidate) bool { return c.Node.ID == n.ID })
}

func (s *analysis) planOf(c disrupt.Command, n *model.Node) *Plan {
	p, savings := Plan{Decision: c.Decision(), TerminateFirst: c.TerminateFirst}, c.Savings()
	unpriced := slices.ContainsFunc(c.Candidates, func(c disrupt.Candidate) bool { return s.knownPrice(c.Node) == nil })
	if !unpriced && !c.Static { // what a static pool launches is chosen at the launch
		p.SavesPerHour = &savings
	}
	for _, claim := range c.Replacements {
		p.Replacements = append(p.Replacements, claim.InstanceTypes[0])
		p.AlsoFor = append(p.AlsoFor, podIDs(slices.DeleteFunc(slices.Clone(claim.Pods), func(p *model.Pod) bool {
			return p.Virtual || slices.ContainsFunc(c.Candidates, func(c disrupt.Candidate) bool { return c.Node.NodeName == p.Node })
		}))...)
	}
	if d, asked := s.assessed.Demand(c); asked {
		p.Approval = &Approval{OperationsPolicy: d.Policy, Message: d.Why}
	}
	for _, candidate := range c.Candidates {
		if candidate.Node.ID != n.ID {
			p.With = append(p.With, candidate.Node.Name)
		}
	}
	return &p
}

func (a Allowance) text() string {
	switch {
	case a.Error != "":
		return a.Error
	case a.Closed != nil:
		return a.Closed.Message
	case a.Allowed == nil:
		return fmt.Sprintf("no limit, %d disrupting", a.Disrupting)
	}
	return fmt.Sprintf("%d allowed at a time, %d disrupting", *a.Allowed, a.Disrupting)
}

// Text implements Answer.
func (a Node) Text() string {
	var b strings.Builder
	b.WriteString("Node " + a.Name)
	if a.NodeClaim != "" {
		fmt.Fprintf(&b, " (NodeClaim %q, NodePool %q)", a.NodeClaim, a.NodePool)
	}
	switch {
	case a.PricePerHour != nil:
		fmt.Fprintf(&b, " costs $%.4f/h,", *a.PricePerHour)
	case a.NodePool != "":
		b.WriteString(" has an unknown price,")
	}
	fmt.Fprintf(&b, " has %s to move\n", counted(a.PodsToMove, "pod"))
	if len(a.Lost) > 0 {
		fmt.Fprintf(&b, "  Without a controller, and lost once the node is removed: %s\n", strings.Join(a.Lost, ", "))
	}
	if a.Lifetime != nil {
		b.WriteString(a.Lifetime.text())
	}
	if a.Obstacle != nil {
		label := "not disrupted: "
		if len(a.Verdicts) > 0 {
			label = "not disrupted but for repair: "
		}
		b.WriteString(a.Obstacle.text("  ", label))
	}
	for _, v := range a.Verdicts {
		label := v.Reason + ": "
		if v.Drift != nil {
			label = fmt.Sprintf("%s (%s): ", v.Reason, v.Drift)
		}
		for _, condition := range v.Conditions {
			b.WriteString("  " + label + condition + "\n")
			label = "  "
		}
		if v.Plan != nil {
			when := " now"
			switch {
			case v.Plan.Approval != nil && v.Obstacle != nil:
				when = " once budgets allow it and a person approves" + v.Plan.Approval.text()
			case v.Plan.Approval != nil:
				when = " once a person approves" + v.Plan.Approval.text()
			case !v.Now:
				when = " once budgets allow it"
			}
			b.WriteString("  " + label + "would " + v.Plan.String() + when + "\n")
			label = "  "
		}
		switch {
		case v.Obstacle == nil:
		case v.Wanted:
			b.WriteString(v.Obstacle.text("  ", label+"blocked: "))
		default:
			b.WriteString(v.Obstacle.text("  ", label+"no: "))
		}
	}
	return b.String()
}

func (a Approval) text() string {
	return fmt.Sprintf(" (OperationsPolicy %q: %s)", a.OperationsPolicy, a.Message)
}

// rebootDecision is the decision of a plan to reboot the node.
const rebootDecision = "reboot"

// String describes the plan.
func (p Plan) String() string {
	text := "be deleted"
	if p.Decision == rebootDecision {
		return "be rebooted"
	}
	if p.TerminateFirst != "" {
		return "be terminated before its replacement launches (" + p.TerminateFirst + "),"
	}
	if p.Decision == disrupt.Replace {
		text = "be replaced"
		if len(p.Replacements) > 0 {
			text += " by " + strings.Join(p.Replacements, ", ")
		}
		if len(p.AlsoFor) > 0 {
			text += " (which would also be for other pods that need a node: " + firstOf(p.AlsoFor) + ")"
		}
	}
	if len(p.With) > 0 {
		text += " together with " + strings.Join(p.With, ", ")
	}
	if p.SavesPerHour == nil {
		return text + ", savings unknown,"
	}
	return text + fmt.Sprintf(", saving $%.4f/h,", *p.SavesPerHour)
}

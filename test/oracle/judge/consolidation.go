package judge

import (
	"bytes"
	"context"
	"slices"

	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/core/model"
	"github.com/karpenter-anew/karpenter/internal/core/solve"
	"github.com/karpenter-anew/karpenter/internal/simulation"
	"github.com/karpenter-anew/karpenter/test/scenario/check"
)

// OtherCommand is a command of multi-node consolidation that another controller composes.
type OtherCommand struct {
	// Removed are the names of the nodes.
	Removed []string
	// Plan are the places of their pods.
	Plan OtherPlan
}

// WithoutPreferences is the problem with the policy that ignores preferences.
func (p Problem) WithoutPreferences() Problem {
	p.Preferences = model.IgnorePreferences
	return p
}

// RunningCluster is the problem in the format of package scenariofile, with all objects that the API server of the cluster holds, Nodes,
// NodeClaims and the status of each object included.
func (j *Judge) RunningCluster(p Problem) ([]byte, error) {
	objects, err := p.objects(j.reader, j.cloud)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	for _, o := range withBudgetStatus(objects) {
		if pod, ok := o.(*corev1.Pod); ok {
			o = check.Admit(pod)
		}
		document, err := yaml.Marshal(o)
		if err != nil {
			return nil, err
		}
		text.WriteString("---\n")
		text.Write(document)
	}
	return txtar.Format(&txtar.Archive{
		Comment: []byte("A running cluster.\n\n"),
		Files:   []txtar.File{{Name: "options", Data: []byte(p.options())}, {Name: "input.yaml", Data: text.Bytes()}},
	}), nil
}

// Consolidation is what the command of the engine's multi-node consolidation saves in dollars per hour, and the command as text; 0 and an
// empty text for no command.
func (j *Judge) Consolidation(p Problem) (saved float64, text string, err error) {
	objects, err := p.objects(j.reader, j.cloud)
	if err != nil {
		return 0, "", err
	}
	view, err := simulation.ViewForDisruption(context.Background(), withBudgetStatus(objects), j.cloud, p.settings())
	if err != nil {
		return 0, "", err
	}
	sets := slices.DeleteFunc(disrupt.Methods(), func(m disrupt.Method) bool { return m.Search != disrupt.CandidateSets })
	found, err := pass(view, p.settings(), nil, sets)
	if err != nil || len(found) == 0 {
		return 0, "", err
	}
	return found[0].Savings(), found[0].text(), nil
}

// CommandFaults are what is wrong about the command of another controller, and what it saves. Commands of the engine are judged alike.
func (j *Judge) CommandFaults(p Problem, other OtherCommand) (saved float64, text string, failures []Failure) {
	counted := j.Tally
	defer func() { j.Tally = counted }()
	q, d, err := j.otherCommand(p, other)
	if err != nil {
		return 0, "", []Failure{{Kind: Unreadable, Text: err.Error()}}
	}
	if failures = j.decision(q, nil, d); len(failures) == 0 {
		if _, failure := j.moves(q, []decision{d}); failure != nil {
			failures = []Failure{*failure}
		}
	}
	return d.Savings(), d.text(), failures
}

// otherCommand is the command of another controller as if the engine had composed it.
func (j *Judge) otherCommand(p Problem, other OtherCommand) (*question, decision, error) {
	objects, err := p.objects(j.reader, j.cloud)
	if err != nil {
		return nil, decision{}, err
	}
	objects = withBudgetStatus(objects)
	view, err := simulation.ViewForDisruption(context.Background(), objects, j.cloud, p.settings())
	if err != nil {
		return nil, decision{}, err
	}
	q, err := j.question(p, objects, 0, view.Result)
	if err != nil {
		return nil, decision{}, err
	}
	d := decision{Command: disrupt.Command{Reason: disrupt.Underutilized, Type: "multi"}, method: "multi-node consolidation"}
	for _, n := range view.Snapshot.Nodes.Sorted() {
		if slices.Contains(other.Removed, n.NodeName) {
			c := disrupt.Candidate{Node: n}
			view.Prices[n.Pool].Set(&c)
			d.Candidates = append(d.Candidates, c)
		}
	}
	var plan simulation.Result
	other.Plan.fill(&plan)
	d.Placements = plan.Plan.Placements
	for i, c := range other.Plan.Claims {
		replacement := solve.NodeClaim{Pool: c.Claim.Labels[v1.NodePoolLabelKey], Pods: plan.Plan.NodeClaims[i].Pods}
		replacement.Price, _ = priceRange(q.launchable(c.Claim))
		d.Replacements, d.claims = append(d.Replacements, replacement), append(d.claims, c.Claim)
	}
	return q, d, nil
}

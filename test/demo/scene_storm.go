package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/demo"
)

// stormName is the scene of many launches while the cloud fails.
const stormName = "storm"

const (
	// stormThrottled and stormNoCapacity are the shares of throttled calls and of launches with insufficient capacity.
	stormThrottled, stormNoCapacity = 0.02, 0.2
	// stormCallsPerNode is how many calls a launched node may cost.
	stormCallsPerNode = 1.5
	// stormLimit is how long each step may take.
	stormLimit = 8 * time.Minute
)

// stormScene launches a node for each pod at once while EC2 throttles calls and has insufficient capacity, and kills the controller meanwhile.
func stormScene() scene {
	lines := []string{"computed new nodeclaim(s) to fit pod(s)", "garbage collecting instance without nodeclaim"}
	return scene{onCloud: performStorm, Scene: demo.Scene{Name: stormName, Lines: lines}}
}

// stormFigures are the figures of the storm.
type stormFigures struct {
	nodes, calls, starting, launched, orphans int
	running, gone                             time.Duration
	operations                                string
}

// perNode is how many calls a launched node cost.
func (f stormFigures) perNode() float64 { return float64(f.calls) / float64(max(1, f.launched)) }

func (f stormFigures) String() string {
	return fmt.Sprintf("%s\n%d nodes at once, %.0f %% of the calls throttled, %.0f %% of the launches with insufficient capacity, one kill -9: all running after %.1f s, "+
		"%d instances launched, %d of them without NodeClaim and terminated, %d calls to AWS, %.2f for each node (and %d while controllers started), nothing left %.1f s after the last pod",
		f.operations, f.nodes, 100*stormThrottled, 100*stormNoCapacity, f.running.Seconds(), f.launched, f.orphans, f.calls, f.perNode(), f.starting, f.gone.Seconds())
}

func performStorm(p *play) (fmt.Stringer, error) {
	f := stormFigures{nodes: p.Settings.Pods}
	err := p.Pool(demo.Set("5s", "spec", "disruption", "consolidateAfter"), demo.Set([]any{map[string]any{"nodes": "100%"}}, "spec", "disruption", "budgets"),
		demo.Set(map[string]any{"cpu": "100000"}, "spec", "limits"))
	if err != nil {
		return f, err
	}
	account := p.aws.Account
	account.Forget()
	account.Storm(stormThrottled, stormNoCapacity, 1)
	start := time.Now()
	if err := p.scaleApart(f.nodes); err != nil {
		return f, err
	}
	if err := p.wait("a third of the instances launched", func(demo.Counts) bool { return 3*len(account.Instances()) >= f.nodes }); err != nil {
		return f, err
	}
	if err := p.stack.controller.kill(); err != nil {
		return f, err
	}
	p.Show.Line("the controller is killed")
	before := len(account.Calls(""))
	if err := p.control(); err != nil {
		return f, err
	}
	f.starting = len(account.Calls("")) - before
	p.Show.Line("a new controller is ready")
	err = p.wait(fmt.Sprintf("%d pods running, each on its own node", f.nodes), func(c demo.Counts) bool {
		return c.Running == f.nodes && c.Pending == 0 && c.Initialized == c.Claims && c.Nodes == c.Claims
	})
	if err != nil {
		return f, err
	}
	f.running, f.calls, f.operations = time.Since(start), len(account.Calls(""))-f.starting, p.calls()
	f.launched = len(account.Instances())
	if err := p.wait("no instance without a nodeclaim", func(c demo.Counts) bool { return len(p.running()) == c.Claims }); err != nil {
		return f, err
	}
	if f.orphans, err = p.orphans(); err != nil {
		return f, err
	}
	start = time.Now()
	if err := p.scaleApart(0); err != nil {
		return f, err
	}
	if err := p.wait("no node, no instance and no launch template left", func(c demo.Counts) bool {
		return c.Nodes+c.Claims+c.Running+c.Pending+len(p.running())+len(account.LaunchTemplates()) == 0
	}); err != nil {
		return f, err
	}
	f.gone = time.Since(start)
	if f.perNode() > stormCallsPerNode {
		return f, fmt.Errorf("%w: a node cost %.2f calls, more than %.1f\n%s", demo.ErrBroken, f.perNode(), stormCallsPerNode, f)
	}
	return f, nil
}

// wait is await with the limit that many nodes need.
func (p *play) wait(what string, done func(demo.Counts) bool) error {
	err := demo.Poll(p.Ctx, stormLimit, what, func() (bool, error) {
		now, err := p.Count()
		if err != nil {
			return false, err
		}
		p.Show.Counts(now)
		return done(now), nil
	})
	if err == nil {
		p.Show.Line(what)
	}
	return err
}

// scaleApart applies the Deployment with this many replicas, each on its own node.
func (p *play) scaleApart(replicas int) error {
	return demo.Apply(p.Ctx, p.Client, p.Settings.Manifests, "inflate.yaml", func(object *unstructured.Unstructured) error {
		if err := unstructured.SetNestedField(object.Object, int64(replicas), "spec", "replicas"); err != nil {
			return err
		}
		return unstructured.SetNestedField(object.Object, map[string]any{"podAntiAffinity": map[string]any{
			"requiredDuringSchedulingIgnoredDuringExecution": []any{map[string]any{
				"topologyKey": "kubernetes.io/hostname", "labelSelector": map[string]any{"matchLabels": map[string]any{"app": "inflate"}},
			}},
		}}, "spec", "template", "spec", "affinity")
	})
}

// orphans counts instances that were launched and have no nodeclaim, and fails if one of them still runs or a nodeclaim has none.
func (p *play) orphans() (int, error) {
	var claims v1.NodeClaimList
	if err := p.Client.List(p.Ctx, &claims); err != nil {
		return 0, fmt.Errorf("listing nodeclaims: %w", err)
	}
	has := func(id string) bool {
		return slices.ContainsFunc(claims.Items, func(c v1.NodeClaim) bool { return strings.HasSuffix(c.Status.ProviderID, "/"+id) })
	}
	strange, known := 0, 0
	for _, i := range p.aws.Account.Instances() {
		switch {
		case has(i.ID):
			known++
		case i.State == "running" || i.State == "pending":
			return 0, fmt.Errorf("%w: instance %s has no nodeclaim", demo.ErrBroken, i.ID)
		default:
			strange++
		}
	}
	if known != len(claims.Items) {
		return 0, fmt.Errorf("%w: %d nodeclaims have %d instances", demo.ErrBroken, len(claims.Items), known)
	}
	return strange, nil
}

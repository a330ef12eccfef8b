package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/internal/demo"
)

// The clouds.
const (
	cloudKwok  = "kwok"
	cloudAWS   = "aws"
	cloudAzure = "azure"
)

// The account is that of the examples.
const (
	awsCluster = "eks-karpenter-demo"
	awsRole    = "KarpenterNodeRole-eks-karpenter-demo"
	// awsBoot and awsShutdown are how long an instance takes to join and to terminate. Real ones take ten times as long.
	awsBoot, awsShutdown = 3 * time.Second, 3 * time.Second
)

// quickStart is the quick start on EKS: a NodePool and its EC2NodeClass, a Deployment scaled up, a spot interruption, and the Deployment
// scaled down to zero.
func quickStart() scene {
	return scene{onCloud: performQuickStart, Scene: demo.Scene{
		Name: "quick-start",
		Lines: []string{
			"found provisionable pod(s)", "computed new nodeclaim(s) to fit pod(s)", "created nodeclaim", "launched nodeclaim", "registered nodeclaim",
			"initialized nodeclaim", "deleted nodeclaim because of an interruption", "garbage collecting nodeclaim without instance", "disrupting node(s)",
			"tainted node", "deleted node", "deleted nodeclaim",
		},
	}}
}

// quickFigures are the figures of the quick start.
type quickFigures struct {
	pods, nodes                               int
	pricePerH                                 float64
	cluster, controller, running, again, gone time.Duration
	calls                                     string
}

func (f quickFigures) String() string {
	return fmt.Sprintf("%s\n%d pods on %d nodes, $%.4f/h (aws us-east-1) · cluster %.1f s, controller %.1f s, pods running %.1f s, "+
		"running again after the interruption %.1f s, nodes gone %.1f s",
		f.calls, f.pods, f.nodes, f.pricePerH, f.cluster.Seconds(), f.controller.Seconds(), f.running.Seconds(), f.again.Seconds(), f.gone.Seconds())
}

func performQuickStart(p *play) (fmt.Stringer, error) {
	f := quickFigures{pods: p.Settings.Pods, cluster: p.Play.Cluster, controller: p.Play.Controller}
	in := func(key string, values ...any) any {
		return map[string]any{"key": key, "operator": "In", "values": values}
	}
	// The example's pool, with spot instances, which can be interrupted, and without the minute before anything is removed.
	err := p.Pool(demo.Set([]any{
		in("kubernetes.io/arch", "amd64"), in("kubernetes.io/os", "linux"), in(v1.CapacityTypeLabelKey, "spot", "on-demand"),
		in("karpenter.k8s.aws/instance-category", "c", "m", "r"),
		map[string]any{"key": "karpenter.k8s.aws/instance-generation", "operator": "Gt", "values": []any{"2"}},
	}, "spec", "template", "spec", "requirements"), demo.Set("5s", "spec", "disruption", "consolidateAfter"),
		demo.Set([]any{map[string]any{"nodes": "100%"}}, "spec", "disruption", "budgets"))
	if err != nil {
		return f, err
	}
	start := time.Now()
	state, err := p.Launch(f.pods)
	if err != nil {
		return f, err
	}
	f.running, f.nodes, f.pricePerH = time.Since(start), state.Nodes, state.PricePerHour
	p.showInstances()
	start = time.Now()
	if err := p.interrupt(); err != nil {
		return f, err
	}
	f.again = time.Since(start)
	p.showInstances()
	start = time.Now()
	if err := p.Scale(0); err != nil {
		return f, err
	}
	if _, err := p.Await("nodes gone", func(c demo.Counts) (bool, error) { return c.Nodes+c.Claims+c.Running+c.Pending == 0, nil }); err != nil {
		return f, err
	}
	f.gone = time.Since(start)
	if left := p.running(); len(left) > 0 {
		return f, fmt.Errorf("%d instances are still running", len(left))
	}
	f.calls = p.calls()
	return f, nil
}

// running are the pending and running instances.
func (p *play) running() []awstest.Instance {
	return slices.DeleteFunc(p.aws.Account.Instances(), func(i awstest.Instance) bool { return i.State != "running" && i.State != "pending" })
}

// showInstances lists what runs, as the console of EC2 would.
func (p *play) showInstances() {
	for _, i := range p.running() {
		kind := "on-demand"
		if i.Spot {
			kind = "spot"
		}
		p.Show.Line(fmt.Sprintf("  ec2: %s %s in %s, %s, $%.4f/h, as %s", i.ID, i.Type, i.Zone, kind, p.aws.Account.Price(&i), i.DNS))
	}
}

// interrupt sends a spot interruption warning to the queue, and waits until the pods of the instance run elsewhere and its node is gone, well
// before the two minutes are over.
func (p *play) interrupt() error {
	all := p.running()
	at := slices.IndexFunc(all, func(i awstest.Instance) bool { return i.Spot })
	if at < 0 || !p.aws.Account.Interrupt(all[at].ID) {
		return errors.New("no spot instance is running")
	}
	lost := all[at]
	p.Show.Line("  ec2: " + lost.ID + " gets a spot interruption warning of two minutes")
	_, err := p.Await(fmt.Sprintf("%d pods running again, without %s", p.Settings.Pods, lost.DNS), func(c demo.Counts) (bool, error) {
		if c.Running != p.Settings.Pods || c.Pending > 0 || c.Initialized != c.Claims || c.Nodes != c.Claims {
			return false, nil
		}
		nodes, err := p.Nodes()
		if err != nil {
			return false, err
		}
		for i := range nodes {
			if strings.HasSuffix(nodes[i].Spec.ProviderID, lost.ID) {
				return false, nil
			}
		}
		return true, nil
	})
	return err
}

// calls counts the requests to EC2 that change something or depend on how much is launched, and all others together.
func (p *play) calls() string {
	counted := map[string]int{}
	for _, c := range p.aws.Account.Calls("") {
		counted[c.Operation]++
	}
	var parts []string
	for _, operation := range slices.Sorted(maps.Keys(counted)) {
		parts = append(parts, fmt.Sprintf("%s %d", operation, counted[operation]))
	}
	return "calls to AWS: " + strings.Join(parts, ", ")
}

// awsRefusals are why instances have not joined.
func (st *stack) awsRefusals() string {
	var text strings.Builder
	for _, i := range st.aws.Account.Instances() {
		if err := st.aws.Joiner.Refusal(i.ID); err != nil {
			fmt.Fprintf(&text, "instance %s has not joined: %v\n", i.ID, err)
		}
	}
	return text.String()
}

// awsPrice is the price of the running instances per hour.
func (st *stack) awsPrice() float64 {
	var sum float64
	for _, i := range st.aws.Account.Instances() {
		if i.State == "running" || i.State == "pending" {
			sum += st.aws.Account.Price(&i)
		}
	}
	return sum
}

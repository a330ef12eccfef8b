package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/internal/demo"
)

const (
	// azureTakes and azureRetryAfter are how long operations of Azure take, and clients wait in between; azureBoot is how long a virtual machine
	// takes to join. Real ones take ten times as long.
	azureTakes, azureRetryAfter, azureBoot = 2 * time.Second, time.Second, 4 * time.Second
	// laterImages is the version of node images that is published while nodes run.
	laterImages = "202605.01.0"
)

// azureQuickStart is the quick start on AKS: a NodePool and its AKSNodeClass, a Deployment scaled up, an eviction of a spot virtual machine,
// a new version of the node images, and the Deployment scaled down to zero.
func azureQuickStart() scene {
	return scene{onCloud: performAzureQuickStart, Scene: demo.Scene{
		Name:  "quick-start",
		Flags: []string{"--feature-gates=NodeRepair=true"},
		Lines: []string{
			"found provisionable pod(s)", "computed new nodeclaim(s) to fit pod(s)", "created nodeclaim", "launched nodeclaim", "registered nodeclaim",
			"initialized nodeclaim", "selected repair policy", "garbage collecting nodeclaim without instance", "disrupting node(s)", "tainted node", "deleted node",
			"deleted nodeclaim",
		},
	}}
}

// azureFigures are the figures of the quick start.
type azureFigures struct {
	pods, nodes, replaced                              int
	pricePerH                                          float64
	cluster, controller, running, again, drifted, gone time.Duration
	calls                                              string
}

func (f azureFigures) String() string {
	return fmt.Sprintf("%s\n%d pods on %d nodes, $%.4f/h (azure eastus) · cluster %.1f s, controller %.1f s, pods running %.1f s, "+
		"running again %.1f s after the notice of the eviction, %d nodes with the new image after %.1f s, nodes gone %.1f s",
		f.calls, f.pods, f.nodes, f.pricePerH, f.cluster.Seconds(), f.controller.Seconds(), f.running.Seconds(), f.again.Seconds(), f.replaced, f.drifted.Seconds(),
		f.gone.Seconds())
}

func performAzureQuickStart(p *play) (fmt.Stringer, error) {
	f := azureFigures{pods: p.Settings.Pods, cluster: p.Play.Cluster, controller: p.Play.Controller}
	in := func(key string, values ...any) any {
		return map[string]any{"key": key, "operator": "In", "values": values}
	}
	// The example's pool, with spot virtual machines, which can be evicted, and without the minute before anything is removed.
	err := p.Pool(demo.Set([]any{
		in("kubernetes.io/arch", "amd64"), in("kubernetes.io/os", "linux"), in(v1.CapacityTypeLabelKey, "spot", "on-demand"), in("karpenter.azure.com/sku-family", "D"),
	}, "spec", "template", "spec", "requirements"), demo.Set("5s", "spec", "disruption", "consolidateAfter"),
		demo.Set([]any{map[string]any{"nodes": "100%"}}, "spec", "disruption", "budgets"))
	if err != nil {
		return f, err
	}
	p.azure.Account.Forget()
	start := time.Now()
	state, err := p.Launch(f.pods)
	if err != nil {
		return f, err
	}
	f.running, f.nodes, f.pricePerH = time.Since(start), state.Nodes, state.PricePerHour
	p.showVirtualMachines()
	if f.again, err = p.evict(); err != nil {
		return f, err
	}
	p.showVirtualMachines()
	if f.replaced, f.drifted, err = p.publishImages(); err != nil {
		return f, err
	}
	p.showVirtualMachines()
	start = time.Now()
	if err := p.Scale(0); err != nil {
		return f, err
	}
	if _, err := p.Await("nodes gone, and nothing left on Azure", func(c demo.Counts) (bool, error) {
		return c.Nodes+c.Claims+c.Running+c.Pending+len(p.leftOnAzure()) == 0, nil
	}); err != nil {
		return f, fmt.Errorf("%w; left: %v", err, p.leftOnAzure())
	}
	f.gone = time.Since(start)
	f.calls = p.azureCalls()
	return f, nil
}

// showVirtualMachines lists what runs, as the portal of Azure would.
func (p *play) showVirtualMachines() {
	for _, h := range p.azure.Account.Hosts() {
		kind := "on-demand"
		if h.Spot {
			kind = "spot"
		}
		p.Show.Line(fmt.Sprintf("  azure: %s %s in %s-%s, %s, $%.4f/h, image %s", h.Computer, h.Size.Name, h.Location, h.Zone, kind, h.HourlyPrice(), versionOf(h.Image)))
	}
}

// versionOf is the version of an image, the last part of its ID.
func versionOf(image string) string { return image[strings.LastIndex(image, "/")+1:] }

// evict evicts a spot virtual machine with Azure's notice, and waits until its pods run elsewhere and its node is gone. The agent of the node
// reports the notice as a condition, which node repair reacts to.
func (p *play) evict() (time.Duration, error) {
	all := p.azure.Account.Hosts()
	at := slices.IndexFunc(all, func(h azuretest.Host) bool { return h.Spot })
	if at < 0 {
		return 0, errors.New("no spot virtual machine is running")
	}
	lost := all[at]
	start := time.Now()
	p.azure.Account.Evict(lost.ID)
	p.Show.Line(fmt.Sprintf("  azure: %s gets a notice: it is evicted in %s; its agent sets the node condition PreemptionScheduled", lost.Computer, azuretest.EvictionNotice))
	elsewhere := time.Duration(0)
	_, err := p.Await(fmt.Sprintf("%d pods running again, without %s", p.Settings.Pods, lost.Computer), func(c demo.Counts) (bool, error) {
		if c.Running != p.Settings.Pods || c.Pending > 0 || c.Initialized != c.Claims || c.Nodes != c.Claims {
			return false, nil
		}
		nodes, err := p.Nodes()
		if err != nil {
			return false, err
		}
		for i := range nodes {
			if nodes[i].Name == strings.ToLower(lost.Computer) {
				return false, nil
			}
		}
		elsewhere = time.Since(start)
		return true, nil
	})
	if err != nil {
		return 0, err
	}
	if repaired := p.Logged.Count("selected repair policy"); repaired == 0 {
		return 0, fmt.Errorf("%w: node repair did not react to the notice", demo.ErrBroken)
	}
	when := "before"
	if elsewhere > azuretest.EvictionNotice {
		when = "after"
	}
	p.Show.Line(fmt.Sprintf("  that was %s the eviction: the replacement was ready first, launched by node repair", when))
	return elsewhere, nil
}

// publishImages publishes a version of the node images, and waits until all nodes have it. It returns how many were replaced. A controller
// lists versions every three days, and when it starts: it is restarted here.
func (p *play) publishImages() (replaced int, took time.Duration, err error) {
	replaced = len(p.azure.Account.Hosts())
	p.azure.Publish(laterImages, time.Now())
	p.Show.Line("  azure: version " + laterImages + " of the node images is published; the controller restarts, and lists versions again")
	if err := p.stack.controller.end(); err != nil {
		return 0, 0, err
	}
	if err := p.control(); err != nil {
		return 0, 0, err
	}
	start := time.Now()
	_, err = p.Await("all nodes have the new image", func(c demo.Counts) (bool, error) {
		hosts := p.azure.Account.Hosts()
		old := slices.ContainsFunc(hosts, func(h azuretest.Host) bool { return versionOf(h.Image) != laterImages })
		return !old && c.Running == p.Settings.Pods && c.Pending == 0 && c.Initialized == c.Claims && c.Nodes == c.Claims && c.Claims == len(hosts), nil
	})
	return replaced, time.Since(start), err
}

// leftOnAzure are the resources of nodes that there are.
func (st *stack) leftOnAzure() []string {
	var out []string
	for _, kind := range []string{
		"Microsoft.Compute/virtualMachines", "Microsoft.Compute/virtualMachines/extensions", "Microsoft.Compute/disks", "Microsoft.Network/networkInterfaces",
	} {
		out = append(out, st.azure.Account.IDs(kind)...)
	}
	return out
}

// azureCalls counts the requests to Azure by operation, and those for each virtual machine, those that failed included.
func (p *play) azureCalls() string {
	counted, all := map[string]int{}, 0
	for _, c := range p.azure.Account.Calls("") {
		counted[c.Operation]++
		all++
	}
	var parts []string
	for _, operation := range slices.Sorted(maps.Keys(counted)) {
		parts = append(parts, fmt.Sprintf("%s %d", operation, counted[operation]))
	}
	requested := p.requestedVMs()
	return fmt.Sprintf("calls to Azure: %s: %d for %d requested virtual machines, %.1f for each", strings.Join(parts, ", "), all, requested, float64(all)/float64(max(1, requested)))
}

// azureRefusals are why virtual machines have not joined.
func (st *stack) azureRefusals() string {
	var text strings.Builder
	for _, h := range st.azure.Account.Hosts() {
		if err := st.azure.Joiner.Refusal(h.VMID); err != nil {
			fmt.Fprintf(&text, "virtual machine %s has not joined: %v\n", h.Computer, err)
		}
	}
	return text.String()
}

// azurePrice is the price of the virtual machines per hour.
func (st *stack) azurePrice() float64 {
	var sum float64
	for _, h := range st.azure.Account.Hosts() {
		sum += h.HourlyPrice()
	}
	return sum
}

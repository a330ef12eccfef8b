package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/internal/demo"
)

// stormVCPUs is the quota of the storm: nodes are not to be limited by one.
const stormVCPUs = 100_000

// azureStormScene launches a node for each pod at once while Azure throttles calls and refuses or fails virtual machines for which it has no
// capacity or the subscription no quota, and kills the controller meanwhile.
func azureStormScene() scene {
	lines := []string{"computed new nodeclaim(s) to fit pod(s)", "garbage collecting instance without nodeclaim", "deleted a network interface without an instance"}
	return scene{onCloud: performAzureStorm, Scene: demo.Scene{Name: stormName, Lines: lines}}
}

// azureStormFigures are the figures of the storm.
type azureStormFigures struct {
	nodes, requested, launches, orphans int
	running, gone                       time.Duration
	failed                              map[string]int
	calls, all                          string
}

func (f azureStormFigures) String() string {
	var failures []string
	for _, code := range slices.Sorted(maps.Keys(f.failed)) {
		failures = append(failures, fmt.Sprintf("%s %d", code, f.failed[code]))
	}
	return fmt.Sprintf("%s\nuntil nothing was left: %s\nlaunches that failed, of %d: %s\n%d nodes at once, %.0f %% of the calls throttled, %.0f %% of the launches without capacity or quota, "+
		"one kill -9: all running after %.1f s, %d virtual machines requested, %d of them without NodeClaim at the restart; no virtual machine, extension, "+
		"disk or network interface left %.1f s after the last pod",
		f.calls, f.all, f.launches, strings.Join(failures, ", "), f.nodes, 100*stormThrottled, 100*stormNoCapacity, f.running.Seconds(), f.requested, f.orphans, f.gone.Seconds())
}

func performAzureStorm(p *play) (fmt.Stringer, error) {
	f := azureStormFigures{nodes: p.Settings.Pods}
	err := p.Pool(demo.Set("5s", "spec", "disruption", "consolidateAfter"), demo.Set([]any{map[string]any{"nodes": "100%"}}, "spec", "disruption", "budgets"),
		demo.Set(map[string]any{"cpu": "100000"}, "spec", "limits"), demo.Set(stormRequirements(), "spec", "template", "spec", "requirements"))
	if err != nil {
		return f, err
	}
	account := p.azure.Account
	account.Limit("cores", stormVCPUs)
	account.Limit("lowPriorityCores", stormVCPUs)
	for _, size := range azuretest.ManySizes() {
		account.Limit(size.Family, stormVCPUs)
	}
	account.Forget()
	account.Storm(stormThrottled, stormNoCapacity, 1)
	start := time.Now()
	if err := p.scaleApart(f.nodes); err != nil {
		return f, err
	}
	if err := p.wait("a third of the virtual machines requested", func(demo.Counts) bool { return 3*len(account.Hosts()) >= f.nodes }); err != nil {
		return f, err
	}
	if err := p.stack.controller.kill(); err != nil {
		return f, err
	}
	if f.orphans, err = p.withoutClaim(); err != nil {
		return f, err
	}
	p.Show.Line(fmt.Sprintf("the controller is killed; %d virtual machines have no nodeclaim that knows them", f.orphans))
	if err := p.control(); err != nil {
		return f, err
	}
	p.Show.Line("a new controller is ready")
	err = p.wait(fmt.Sprintf("%d pods running, each on its own node", f.nodes), func(c demo.Counts) bool {
		return c.Running == f.nodes && c.Pending == 0 && c.Initialized == c.Claims && c.Nodes == c.Claims
	})
	if err != nil {
		return f, err
	}
	f.running, f.requested, f.calls = time.Since(start), p.requestedVMs(), p.azureCalls()
	f.launches, f.failed = account.StormFailures()
	if err := p.wait("no virtual machine without a nodeclaim", func(c demo.Counts) bool { return len(account.Hosts()) == c.Claims }); err != nil {
		return f, err
	}
	start = time.Now()
	if err := p.scaleApart(0); err != nil {
		return f, err
	}
	if err := p.wait("no node left, and nothing on Azure", func(c demo.Counts) bool {
		return c.Nodes+c.Claims+c.Running+c.Pending+len(p.leftOnAzure()) == 0
	}); err != nil {
		return f, fmt.Errorf("%w; left: %v", err, p.leftOnAzure())
	}
	f.gone, f.all = time.Since(start), p.azureCalls()
	return f, nil
}

// stormRequirements are those of the example, with spot virtual machines and more families: errors about capacity make many offerings unavailable.
func stormRequirements() []any {
	in := func(key string, values ...any) any {
		return map[string]any{"key": key, "operator": "In", "values": values}
	}
	return []any{
		in("kubernetes.io/arch", "amd64"), in("kubernetes.io/os", "linux"), in(v1.CapacityTypeLabelKey, "spot", "on-demand"),
		in("karpenter.azure.com/sku-family", "D", "E", "F"),
	}
}

// withoutClaim counts the virtual machines whose ID no NodeClaim has.
func (p *play) withoutClaim() (int, error) {
	var claims v1.NodeClaimList
	if err := p.Client.List(p.Ctx, &claims); err != nil {
		return 0, fmt.Errorf("listing nodeclaims: %w", err)
	}
	known := map[string]bool{}
	for i := range claims.Items {
		known[strings.ToLower(claims.Items[i].Status.ProviderID)] = true
	}
	count := 0
	for _, h := range p.azure.Account.Hosts() {
		if !known[strings.ToLower("azure://"+h.ID)] {
			count++
		}
	}
	return count, nil
}

// requestedVMs counts the virtual machines that were requested.
func (p *play) requestedVMs() int {
	names := map[string]bool{}
	for _, c := range p.azure.Account.Calls("PUT virtualMachines") {
		names[c.Path] = true
	}
	return len(names)
}

package unschedulable

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/test/referencepage"
)

var update = flag.Bool("update", false, "rewrite docs/reference/reasons.md")

// examples returns one reason of every code.
func examples() map[Code]Reason {
	zone := requirement.New("topology.kubernetes.io/zone", requirement.In, "zone-z")
	asked := requirement.NewSet(zone)
	const resources = `{"cpu":"300","pods":"1"}`
	return map[Code]Reason{
		DevicesIgnored:     {Code: DevicesIgnored},
		DeviceClaimMissing: {Code: DeviceClaimMissing, Claim: "default/gpu"},
		DevicesUnavailable: {Code: DevicesUnavailable, Devices: "no instance type can satisfy the allocation"},
		DevicesUnreachable: {Code: DevicesUnreachable, Conflict: requirement.Conflict{
			Key: zone.Key, Want: zone, Have: requirement.New(zone.Key, requirement.In, "zone-a", "zone-b"),
		}},
		NoInstanceTypeWithDevices: {Code: NoInstanceTypeWithDevices},

		PodGroupMissing:         {Code: PodGroupMissing, Group: PodGroup{Name: "default/train"}},
		PodGroupMismatch:        {Code: PodGroupMismatch, Group: PodGroup{Name: "default/train", Mismatch: "pod default/train-1 has priority 0 instead of 10"}},
		PodGroupTopologyUnknown: {Code: PodGroupTopologyUnknown, Group: PodGroup{Name: "default/train", Key: "example.com/rack"}},
		PodGroupShort:           {Code: PodGroupShort, Group: PodGroup{Name: "default/train", Needed: 4, Placeable: 2, Known: 4}},
		NodeNamed:               {Code: NodeNamed, Conflict: requirement.Conflict{Key: requirement.NodeName, Want: requirement.New(requirement.NodeName, requirement.In, "node-1")}},
		NoPools:                 {Code: NoPools},
		PoolNotUsed:             {Code: PoolNotUsed, Pool: "default", Why: "it is not ready"},
		PoolEmpty:               {Code: PoolEmpty},
		NodesExhausted:          {Code: NodesExhausted, Pool: "default", Limits: []Limit{{Resource: "nodes", Limit: "2", Used: "2", Needed: "3"}}},
		LimitsExceeded: {Code: LimitsExceeded, Pool: "default", Narrowed: true, Limits: []Limit{
			{Resource: "cpu", Limit: "40", Used: "32", Needed: "64"},
		}},
		CostCapExceeded: {Code: CostCapExceeded, Pool: "default", Limits: []Limit{
			{Resource: "ops.karpenter.sh/nodepool-cost", Limit: "$2.00/h", Used: "$1.80/h", Needed: "$2.21/h"},
		}},
		TaintNotTolerated: {Code: TaintNotTolerated, Taint: "dedicated=gpu:NoSchedule"},
		FeatureMissing:    {Code: FeatureMissing, Features: []string{"RestartAllContainersOnContainerExits"}},
		DriverMissing:     {Code: DriverMissing, Features: []string{"ebs.csi.aws.com"}},
		LabelUndefined: {Code: LabelUndefined, Hint: "topology.kubernetes.io/zone", Conflict: requirement.Conflict{
			Key: "topology.kubernetes/zone", Undefined: true, Want: zone,
		}},
		RequirementConflict: {Code: RequirementConflict, Conflict: requirement.Conflict{
			Key: zone.Key, Want: zone, Have: requirement.New(zone.Key, requirement.In, "zone-a", "zone-b"),
		}},
		TooManyRequirements: {Code: TooManyRequirements},
		VolumeUnreachable: {Code: VolumeUnreachable, Conflict: requirement.Conflict{
			Key: zone.Key, Want: zone, Have: requirement.New(zone.Key, requirement.In, "zone-a", "zone-b"),
		}},
		TopologyUnsatisfiable: {Code: TopologyUnsatisfiable, Topology: Topology{
			Kind: "topology spread", Key: zone.Key, Counts: []Count{{"zone-a", 2}, {"zone-b", 1}, {"zone-c", 0}},
			PodDomains:  requirement.New(zone.Key, requirement.Exists),
			NodeDomains: requirement.New(zone.Key, requirement.In, "zone-a", "zone-b"),
		}},
		HostPortTaken:        {Code: HostPortTaken, Port: "TCP/9100"},
		VolumesNotAttachable: {Code: VolumesNotAttachable, AttachLimit: AttachLimit{Driver: "ebs.csi.aws.com", Volumes: 50, Max: 39}},
		MinValuesUnmet: {
			Code: MinValuesUnmet, Keys: []string{"node.kubernetes.io/instance-type"}, Requirements: asked, Resources: resources,
			MinValues: []MinValues{{Key: "node.kubernetes.io/instance-type", Required: 5, Available: 2}},
		},
		DaemonsTakeRoom: {Code: DaemonsTakeRoom, Requirements: asked, Resources: resources, Daemons: `{"cpu":"2"}`, Criteria: Criteria{
			Requirements: true, Offering: true, RequirementsAndOffering: true,
		}},
		OfferingUnavailable: {Code: OfferingUnavailable, Requirements: asked, Resources: resources, Criteria: Criteria{
			Requirements: true, Resources: true, RequirementsAndResources: true,
		}, UnavailableOfferings: []string{"c-4x in zone-z, spot"}},
		NoInstanceType: {Code: NoInstanceType, Requirements: asked, Resources: resources, Criteria: Criteria{
			Requirements: true, Offering: true, RequirementsAndOffering: true,
		}, Insufficient: []InsufficientResource{{Resource: "cpu", Requested: "300", Available: "255"}}},
	}
}

func TestEveryCodeHasARuleAndAnExample(t *testing.T) {
	seen := map[Code]bool{}
	for _, r := range Rules() {
		if seen[r.Code] {
			t.Errorf("%s has two rules", r.Code)
		}
		seen[r.Code] = true
		if r.Rule == "" || r.Remedy == "" {
			t.Errorf("%s: the rule and its remedy must not be empty", r.Code)
		}
		if examples()[r.Code].Code != r.Code {
			t.Errorf("%s has no example", r.Code)
		}
	}
	if len(seen) != len(examples()) {
		t.Errorf("%d rules for %d examples", len(seen), len(examples()))
	}
}

// TestReference checks that the reference page is up to date.
func TestReference(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Scheduling failures\n\n")
	b.WriteString("Generated from `internal/core/unschedulable` by `go test ./internal/core/unschedulable -update`; do not edit.\n\n")
	b.WriteString("An unschedulable pod gets a `FailedScheduling` event. It has one reason for each NodePool, those first whose NodePool would have to change\n")
	b.WriteString("least, joined by `; `: five at most, and the number of the others. A NodePool that launches no nodes now has a reason only if its taints and\n")
	b.WriteString("labels suit the pod, or the pod names it. `karpenter explain pod` lists all. The related log line has the codes.\n")
	for _, r := range Rules() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n- Remedy: %s\n- Example: `%s`\n", r.Code, r.Rule, r.Remedy, examples()[r.Code])
	}
	referencepage.Check(t, "../../../docs/reference/reasons.md", b.String(), *update)
}

func TestInstanceTypeTexts(t *testing.T) {
	for _, c := range []struct {
		criteria Criteria
		want     string
	}{
		{Criteria{}, "no instance type met the scheduling requirements or had enough resources or had a required offering"},
		{Criteria{Offering: true}, "no instance type met the scheduling requirements or had enough resources"},
		{Criteria{Resources: true}, "no instance type met the scheduling requirements or had a required offering"},
		{Criteria{Requirements: true}, "no instance type had enough resources or had a required offering"},
		{Criteria{Resources: true, Offering: true}, "no instance type met all requirements"},
		{Criteria{Requirements: true, Offering: true}, "no instance type has enough resources"},
		{Criteria{Requirements: true, Resources: true}, "no instance type has the required offering"},
		{
			Criteria{Requirements: true, Resources: true, Offering: true, RequirementsAndResources: true},
			"no instance type which met the scheduling requirements and had enough resources, had a required offering",
		},
		{
			Criteria{Requirements: true, Resources: true, Offering: true, ResourcesAndOffering: true},
			"no instance type which had enough resources and the required offering met the scheduling requirements",
		},
		{
			Criteria{Requirements: true, Resources: true, Offering: true, RequirementsAndOffering: true},
			"no instance type which met the scheduling requirements and the required offering had the required resources",
		},
		{Criteria{Requirements: true, Resources: true, Offering: true}, "no instance type met the requirements/resources/offering tuple"},
	} {
		got := Reason{Code: NoInstanceType, Criteria: c.criteria}.String()
		if !strings.HasPrefix(got, c.want+", requirements=") {
			t.Errorf("%+v reads %q, want %q", c.criteria, got, c.want)
		}
	}
	huge := Reason{Code: NoInstanceType, HugeCPU: true, Criteria: Criteria{Requirements: true, Offering: true}}.String()
	if !strings.Contains(huge, "(CPU request >= 1 Million, m vs M typo?)") {
		t.Errorf("no hint at the mistyped unit in %q", huge)
	}
}

// TestNearestFirst: the pool that would have to change least comes first, and its name is part of the text.
func TestNearestFirst(t *testing.T) {
	named := requirement.Conflict{Key: "karpenter.sh/nodepool", Want: requirement.New("karpenter.sh/nodepool", requirement.In, "batch")}
	reasons := Reasons{
		{Pool: "other", Code: RequirementConflict, Conflict: named},
		{Pool: "tainted", Code: TaintNotTolerated, Taint: "a:NoSchedule"},
		{Pool: "zone", Code: RequirementConflict, Conflict: requirement.Conflict{Key: "topology.kubernetes.io/zone"}},
		{Pool: "small", Code: NoInstanceType},
		{Pool: "full", Code: LimitsExceeded},
		{Pool: "nodes", Code: NodesExhausted},
	}
	var pools []string
	for _, r := range reasons.NearestFirst() {
		pools = append(pools, r.Pool)
	}
	if got, want := strings.Join(pools, " "), "full nodes small zone tainted other"; got != want {
		t.Errorf("order %s, want %s", got, want)
	}
	if got := reasons.String(); !strings.Contains(got, `; NodePool "tainted": did not tolerate taint`) {
		t.Errorf("the reasons do not name their pools: %s", got)
	}
	if got := reasons[4:5].String(); strings.Contains(got, "NodePool \"tainted\":") {
		t.Errorf("a single reason names its pool: %s", got)
	}
}

func TestUnknownValuesAndPods(t *testing.T) {
	mistyped := Reason{Code: NoInstanceType, Criteria: Criteria{Resources: true, Offering: true}, UnknownValues: []UnknownValue{{
		Key: "topology.kubernetes.io/zone", Values: []string{"zone-z"}, Known: []string{"zone-a", "zone-b"}, More: 3,
	}}}
	if got, want := mistyped.Detail(), "no instance type or NodePool has topology.kubernetes.io/zone zone-z; known values: zone-a, zone-b and 3 more"; got != want {
		t.Errorf("detail %q, want %q", got, want)
	}
	if got := mistyped.Remedy(); !strings.Contains(got, "such as zone-a") {
		t.Errorf("remedy %q", got)
	}
	alone := Reason{Code: TopologyUnsatisfiable, Topology: Topology{Kind: "pod affinity", Unmatched: true}}
	if got := alone.Detail(); got != "no pod matches the affinity, neither on a node nor pending" {
		t.Errorf("detail %q", got)
	}
	if got := alone.Remedy(); !strings.Contains(got, "label selector") {
		t.Errorf("remedy %q", got)
	}
}

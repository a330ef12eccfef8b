package translate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
)

func TestUsesDevices(t *testing.T) {
	t.Attr("covers", "L020")
	container := []corev1.Container{{Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu"}}}}}
	for name, c := range map[string]struct {
		spec corev1.PodSpec
		want bool
	}{
		"at the pod":            {corev1.PodSpec{ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu"}}}, true},
		"at a container":        {corev1.PodSpec{Containers: container}, true},
		"at an init container":  {corev1.PodSpec{InitContainers: container}, true},
		"nowhere":               {corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}, false},
		"a request is no claim": {corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"gpu": apiresource.MustParse("1")}}}}}, false},
	} {
		if got := UsesDevices(&c.spec); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestClaimsOfAPod(t *testing.T) {
	t.Attr("covers", "L318")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}}
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{
		{Name: "direct", ResourceClaimName: ptr.To("shared")},
		{Name: "made", ResourceClaimTemplateName: ptr.To("template")},
		{Name: "needless", ResourceClaimTemplateName: ptr.To("template")},
		{Name: "pending", ResourceClaimTemplateName: ptr.To("template")},
		{Name: "again", ResourceClaimName: ptr.To("shared")},
	}
	pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{
		{Name: "made", ResourceClaimName: ptr.To("pod-made-x7")},
		{Name: "needless"},
	}
	if diff := cmp.Diff([]string{"ns/shared", "ns/pod-made-x7"}, DeviceClaims(pod)); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
}

func claimOf(t *testing.T, classes map[string]*resourcev1.DeviceClass, requests []resourcev1.DeviceRequest, constraints ...resourcev1.DeviceConstraint) *device.Claim {
	t.Helper()
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
	claim.Spec.Devices = resourcev1.DeviceClaim{Requests: requests, Constraints: constraints}
	return New(v1.CoreLabelRules()).DeviceClaim(claim, func(name string) *resourcev1.DeviceClass { return classes[name] }).Claim
}

func selecting(expressions ...string) []resourcev1.DeviceSelector {
	var out []resourcev1.DeviceSelector
	for _, e := range expressions {
		out = append(out, resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: e}})
	}
	return out
}

func exactly(class string, selectors ...string) resourcev1.DeviceRequest {
	return resourcev1.DeviceRequest{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class, Selectors: selecting(selectors...)}}
}

func classes() map[string]*resourcev1.DeviceClass {
	return map[string]*resourcev1.DeviceClass{
		"gpu":  {Spec: resourcev1.DeviceClassSpec{Selectors: selecting(`device.driver == "gpu.example.com"`)}},
		"odd":  {Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{{}}}},
		"typo": {Spec: resourcev1.DeviceClassSpec{Selectors: selecting(`device.drive == "x"`)}},
	}
}

func TestClaimsThatCanNeverBeAllocated(t *testing.T) {
	t.Attr("covers", "L325")
	attribute := resourcev1.FullyQualifiedName("gpu.example.com/numa")
	exact := func(mode resourcev1.DeviceAllocationMode) resourcev1.DeviceRequest {
		r := exactly("gpu")
		r.Exactly.AllocationMode = mode
		return r
	}
	both := exactly("gpu")
	both.FirstAvailable = []resourcev1.DeviceSubRequest{{Name: "s", DeviceClassName: "gpu"}}
	derived := exactly("gpu")
	derived.Exactly.DerivedAttributes = []resourcev1.DeviceDerivedAttribute{{}}
	for name, c := range map[string]struct {
		request    resourcev1.DeviceRequest
		constraint *resourcev1.DeviceConstraint
		want       string // empty for claims that can
	}{
		"all is well":            {exactly("gpu", `true`), &resourcev1.DeviceConstraint{MatchAttribute: &attribute}, ""},
		"unknown class":          {exactly("none"), nil, `device class "none" not found`},
		"unknown class of a sub": {resourcev1.DeviceRequest{Name: "r", FirstAvailable: []resourcev1.DeviceSubRequest{{Name: "s", DeviceClassName: "none"}}}, nil, `request "r/s", device class "none" not found`},
		"selector that is none":  {exactly("odd"), nil, "only CEL is known"},
		"class that is no CEL":   {exactly("typo"), nil, "compiling the selector"},
		"request that is no CEL": {exactly("gpu", `device.attributes[`), nil, "compiling the selector"},
		"not a truth value":      {exactly("gpu", `1 + 1`), nil, "compiling the selector"},
		"neither form":           {resourcev1.DeviceRequest{Name: "r"}, nil, "want one of exactly and firstAvailable"},
		"both forms":             {both, nil, "want one of exactly and firstAvailable"},
		"unknown mode":           {exact("Most"), nil, `unsupported allocation mode "Most"`},
		"distinct attribute":     {exactly("gpu"), &resourcev1.DeviceConstraint{DistinctAttribute: &attribute}, ""},
		"empty constraint":       {exactly("gpu"), &resourcev1.DeviceConstraint{}, "want one of matchAttribute and distinctAttribute"},
		"derived attributes":     {derived, nil, "derived attributes are not supported"},
	} {
		t.Run(name, func(t *testing.T) {
			var constraints []resourcev1.DeviceConstraint
			if c.constraint != nil {
				constraints = append(constraints, *c.constraint)
			}
			got := claimOf(t, classes(), []resourcev1.DeviceRequest{c.request}, constraints...).Problem
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if got != "" && !strings.HasPrefix(got, `resourceclaim "ns/c", `) {
				t.Errorf("%q does not name the claim", got)
			}
		})
	}
}

func TestRequests(t *testing.T) {
	all := exactly("gpu")
	all.Exactly.AllocationMode, all.Exactly.AdminAccess = resourcev1.DeviceAllocationModeAll, ptr.To(true)
	all.Exactly.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]apiresource.Quantity{
		"memory": apiresource.MustParse("10Gi"), "cores": apiresource.MustParse("500m"),
	}}
	several := resourcev1.DeviceRequest{Name: "s", FirstAvailable: []resourcev1.DeviceSubRequest{
		{Name: "best", DeviceClassName: "gpu", Count: 4}, {Name: "good", DeviceClassName: "gpu"},
	}}
	got := claimOf(t, classes(), []resourcev1.DeviceRequest{all, several})
	a := got.Requests[0].Alternatives[0]
	if !a.All || !a.AdminAccess || a.Name != "r" {
		t.Errorf("got %+v", a)
	}
	if diff := cmp.Diff([]device.Amount{{Name: "cores", Value: 500}, {Name: "memory", Value: 10 << 30 * 1000}}, a.Capacity); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	for i, want := range []struct {
		name  string
		count int
	}{{"s/best", 4}, {"s/good", 1}} {
		if b := got.Requests[1].Alternatives[i]; b.Name != want.name || b.Count != want.count || b.All {
			t.Errorf("got %+v, want %+v", b, want)
		}
	}
}

// gpuDevice has an attribute of every type.
func gpuDevice() resourcev1.Device {
	return resourcev1.Device{
		Name: "gpu-0",
		Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
			"model": {StringValue: ptr.To("a100")}, "numa": {IntValue: ptr.To[int64](1)},
			"healthy": {BoolValue: ptr.To(true)}, "firmware": {VersionValue: ptr.To("1.2.3")},
			"links": {StringValues: []string{"x", "y"}},
		},
		Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: apiresource.MustParse("80Gi"), RequestPolicy: &resourcev1.CapacityRequestPolicy{
			Default: ptr.To(apiresource.MustParse("10Gi")), ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: ptr.To(apiresource.MustParse("5Gi")), Step: ptr.To(apiresource.MustParse("5Gi"))},
		}}},
		ConsumesCounters: []resourcev1.DeviceCounterConsumption{{CounterSet: "card", Counters: map[string]resourcev1.Counter{"memory": {Value: apiresource.MustParse("80Gi")}}}},
		Taints:           []resourcev1.DeviceTaint{{Key: "worn", Effect: resourcev1.DeviceTaintEffectNone}},
	}
}

func TestSelectorsSeeTheDevice(t *testing.T) {
	slice := &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{Driver: "gpu.example.com", Devices: []resourcev1.Device{gpuDevice()}}}
	d := New(v1.CoreLabelRules()).Slice(slice).Devices[0]
	for expression, want := range map[string]bool{
		`device.attributes["gpu.example.com"].model == "a100"`:                         true,
		`device.attributes["gpu.example.com"].numa > 1`:                                false,
		`device.attributes["gpu.example.com"].healthy`:                                 true,
		`device.attributes["gpu.example.com"].firmware.compareTo(semver("1.2.0")) > 0`: true,
		`device.capacity["gpu.example.com"].memory.compareTo(quantity("100Gi")) >= 0`:  false,
		`device.allowMultipleAllocations`:                                              false,
		`"x" in device.attributes["gpu.example.com"].links`:                            true,
	} {
		selectors := claimOf(t, classes(), []resourcev1.DeviceRequest{exactly("gpu", expression)}).Requests[0].Alternatives[0].Selection.Selectors
		got := true
		for _, s := range selectors {
			matches, err := s.Matches(d)
			if err != nil {
				t.Fatalf("%s: %v", expression, err)
			}
			got = got && matches
		}
		if got != want {
			t.Errorf("%s: %v", expression, got)
		}
	}
	missing := claimOf(t, classes(), []resourcev1.DeviceRequest{exactly("gpu", `device.attributes["gpu.example.com"].speed > 1`)}).Requests[0].Alternatives[0].Selection.Selectors
	if _, err := missing[len(missing)-1].Matches(d); err == nil {
		t.Error("an attribute that is not there is no error")
	}
}

func TestTaintsOfDevicesNeedToleration(t *testing.T) {
	t.Attr("covers", "N445")
	tolerant := exactly("gpu")
	tolerant.Exactly.Tolerations = []resourcev1.DeviceToleration{{Key: "worn", Operator: resourcev1.DeviceTolerationOpExists}}
	for name, c := range map[string]struct {
		request resourcev1.DeviceRequest
		effect  resourcev1.DeviceTaintEffect
		taints  bool
		want    bool
	}{
		"not tolerated":          {exactly("gpu"), resourcev1.DeviceTaintEffectNoSchedule, true, false},
		"not tolerated, evicted": {exactly("gpu"), resourcev1.DeviceTaintEffectNoExecute, true, false},
		"tolerated":              {tolerant, resourcev1.DeviceTaintEffectNoSchedule, true, true},
		"effect None":            {exactly("gpu"), resourcev1.DeviceTaintEffectNone, false, true},
		"unknown effect":         {exactly("gpu"), "NoIdea", false, true},
	} {
		d := gpuDevice()
		d.Taints = []resourcev1.DeviceTaint{{Key: "worn", Effect: c.effect}}
		taints := translateDevice("gpu.example.com", &d).Taints
		if len(taints) > 0 != c.taints {
			t.Errorf("%s: taints %v", name, taints)
		}
		rule := DeviceTaintRule(&resourcev1.DeviceTaintRule{Spec: resourcev1.DeviceTaintRuleSpec{DeviceSelector: &resourcev1.DeviceTaintSelector{}, Taint: d.Taints[0]}})
		if (rule != nil) != c.taints {
			t.Errorf("%s: rule %v", name, rule)
		}
		for _, taint := range taints {
			wanted := claimOf(t, classes(), []resourcev1.DeviceRequest{c.request}).Requests[0].Alternatives[0].Selection
			if got := wanted.Tolerations.Tolerates(taint); got != c.want {
				t.Errorf("%s: %v", name, got)
			}
		}
	}
	if rule := DeviceTaintRule(&resourcev1.DeviceTaintRule{Spec: resourcev1.DeviceTaintRuleSpec{Taint: resourcev1.DeviceTaint{Key: "worn", Effect: resourcev1.DeviceTaintEffectNoSchedule}}}); rule != nil {
		t.Errorf("a rule without a selector taints devices: %v", rule)
	}
}

func TestSlices(t *testing.T) {
	t.Attr("covers", "L338")
	zone := func(values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: values}}}
	}
	named := corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"n"}}}}
	in := &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "s", OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n"}}},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: "gpu.example.com", Pool: resourcev1.ResourcePool{Name: "p", Generation: 3, ResourceSliceCount: 2},
			NodeSelector:   &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{zone("a"), {}, zone("b"), named}},
			SharedCounters: []resourcev1.CounterSet{{Name: "card", Counters: map[string]resourcev1.Counter{"memory": {Value: apiresource.MustParse("80Gi")}}}},
			Devices:        []resourcev1.Device{gpuDevice()},
		},
	}
	got := New(v1.CoreLabelRules()).Slice(in)
	if got.Name != "s" || got.Driver != "gpu.example.com" || got.Pool != "p" || got.Generation != 3 || got.Count != 2 || got.NodeOwner != "n" || got.AllNodes || got.Node != "" {
		t.Errorf("got %+v", got)
	}
	want := []string{
		requirement.NewSet(requirement.New(corev1.LabelTopologyZone, requirement.In, "a", "b")).String(),
		device.OnNode("n").String(),
	}
	for i, term := range got.Terms {
		if i >= len(want) || term.String() != want[i] {
			t.Errorf("terms that differ in one label stay one: %v, want %v", got.Terms, want)
		}
	}
	if got.Counters[0].Counters["memory"] != 80<<30*1000 || got.Devices[0].ConsumesCounters[0] != (device.CounterConsumption{Set: "card", Counter: "memory", Amount: 80 << 30 * 1000}) {
		t.Errorf("counters %v, draws %v", got.Counters, got.Devices[0].ConsumesCounters)
	}
	d := got.Devices[0]
	if diff := cmp.Diff([]device.Value{{Type: device.Text, Text: "x"}, {Type: device.Text, Text: "y"}}, d.Attributes["links"]); diff != "" {
		t.Errorf("a list (-want +got):\n%s", diff)
	}
	if c := d.Capacity[0]; c.Total != 80<<30*1000 || *c.Policy.Default != 10<<30*1000 || c.Policy.Range.Step != 5<<30*1000 || c.Policy.Range.Max != nil {
		t.Errorf("capacity %+v", c)
	}
	in.Spec.NodeSelector, in.Spec.NodeName = nil, ptr.To("n")
	if got := New(v1.CoreLabelRules()).Slice(in); got.Node != "n" || got.Terms != nil {
		t.Errorf("got node %q, terms %v", got.Node, got.Terms)
	}
}

// TestNodeSelectorsThatCannotBeParsed: kube-scheduler allocates nothing from such a slice, and places no pod of such a claim.
func TestNodeSelectorsThatCannotBeParsed(t *testing.T) {
	term := func(op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "team", Operator: op, Values: values}}}
	}
	here := func(s *device.Slice, claim *device.Claim) bool {
		facts := requirement.Labels(map[string]string{"team": "2"})
		_, failure := device.NewAllocations(device.NewInventory([]*device.Slice{s}, nil, func(string) bool { return true }), device.Allocated{}).Allocate(device.Candidate{
			Owner: "n", Node: "n", Fixed: true, Requirements: facts, Templates: []*device.Template{nil},
		}, []*device.Claim{claim}, nil)
		return failure == nil
	}
	translator := New(v1.CoreLabelRules())
	for name, c := range map[string]struct {
		terms []corev1.NodeSelectorTerm
		want  bool
	}{
		"a valid term":               {[]corev1.NodeSelectorTerm{term(corev1.NodeSelectorOpNotIn, "1")}, true},
		"a value that is none":       {[]corev1.NodeSelectorTerm{term(corev1.NodeSelectorOpNotIn, "not a value!")}, false},
		"a bound that is no integer": {[]corev1.NodeSelectorTerm{term(corev1.NodeSelectorOpGt, "many")}, false},
		"one of two terms":           {[]corev1.NodeSelectorTerm{term(corev1.NodeSelectorOpIn, "2"), term(corev1.NodeSelectorOpGt, "many")}, false},
		"only an empty term":         {[]corev1.NodeSelectorTerm{{}}, false},
	} {
		selector := &corev1.NodeSelector{NodeSelectorTerms: c.terms}
		slice := translator.Slice(&resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{
			Driver: "gpu.example.com", Pool: resourcev1.ResourcePool{Name: "p", ResourceSliceCount: 1},
			NodeSelector: selector, Devices: []resourcev1.Device{{Name: "d"}},
		}})
		open := claimOf(t, classes(), []resourcev1.DeviceRequest{exactly("gpu")})
		if got := here(slice, open); got != c.want {
			t.Errorf("%s: a device of the slice is allocated: %v", name, got)
		}
		claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
		claim.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: selector}
		if got := here(slice, translator.DeviceClaim(claim, nil).Claim); got != c.want {
			t.Errorf("%s: the allocated claim can be used: %v", name, got)
		}
	}
}

func TestAllocatedClaims(t *testing.T) {
	t.Attr("covers", "L340")
	result := func(name, memory string, admin bool) resourcev1.DeviceRequestAllocationResult {
		r := resourcev1.DeviceRequestAllocationResult{Driver: "d", Pool: "p", Device: name, AdminAccess: &admin}
		if memory != "" {
			r.ConsumedCapacity = map[resourcev1.QualifiedName]apiresource.Quantity{"memory": apiresource.MustParse(memory)}
		}
		return r
	}
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
	claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
		result("whole", "", false), result("part", "1", false), result("part", "2", false), result("watched", "", true),
	}}}
	for name, c := range map[string]struct {
		reserved []resourcev1.ResourceClaimConsumerReference
		only     bool
	}{
		"no consumer":     {nil, false},
		"pods":            {[]resourcev1.ResourceClaimConsumerReference{{Resource: "pods", UID: "a"}, {Resource: "pods", UID: "b"}}, true},
		"a group of pods": {[]resourcev1.ResourceClaimConsumerReference{{APIGroup: "scheduling.k8s.io", Resource: "podgroups", UID: "a"}}, false},
		"something else":  {[]resourcev1.ResourceClaimConsumerReference{{Resource: "pods", UID: "a"}, {APIGroup: "x.io", Resource: "pods", UID: "b"}}, false},
	} {
		claim.Status.ReservedFor = c.reserved
		shares := DeviceShares(claim)
		if len(shares) != 2 {
			t.Fatalf("%s: %d devices, want 2", name, len(shares))
		}
		whole, part := shares[device.ID{Driver: "d", Pool: "p", Name: "whole"}], shares[device.ID{Driver: "d", Pool: "p", Name: "part"}]
		if whole.PodsOnly != c.only || whole.Consumed != nil || whole.Claim != "ns/c" {
			t.Errorf("%s: %+v", name, whole)
		}
		if diff := cmp.Diff([]device.Amount{{Name: "memory", Value: 3000}}, part.Consumed); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
}

func TestTolerationsOfAllocatedDevices(t *testing.T) {
	t.Attr("covers", "N445")
	broken := resourcev1.DeviceToleration{Key: "broken", Operator: resourcev1.DeviceTolerationOpExists}
	limited := resourcev1.DeviceToleration{Key: "worn", Operator: resourcev1.DeviceTolerationOpExists, TolerationSeconds: ptr.To[int64](60)}
	claim := &resourcev1.ResourceClaim{Status: resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
		Results: []resourcev1.DeviceRequestAllocationResult{{Driver: "d", Pool: "p", Device: "gpu", Tolerations: []resourcev1.DeviceToleration{broken, limited}}},
	}}}}
	devices := New(v1.CoreLabelRules()).DeviceClaim(claim, nil).Allocation.Devices
	if len(devices) != 1 || devices[0].ID != (device.ID{Driver: "d", Pool: "p", Name: "gpu"}) {
		t.Fatalf("devices %+v", devices)
	}
	for key, want := range map[string]bool{"broken": true, "worn": false} {
		if got := devices[0].Tolerations.Tolerates(device.Taint{Key: key, Effect: device.NoExecute}); got != want {
			t.Errorf("%s is tolerated for good: %v", key, got)
		}
	}
}

func TestTypesShareTheirDevices(t *testing.T) {
	shared := &cloud.DynamicResources{
		ResourceSlices:    []resourcev1.ResourceSlice{{Spec: resourcev1.ResourceSliceSpec{Driver: "d", Pool: resourcev1.ResourcePool{Name: "p", ResourceSliceCount: 1}}}},
		AttributeBindings: []cloud.AttributeBinding{{Attribute: "d/x", Devices: []cloud.DeviceID{{Driver: "d", Pool: "p", Device: "a"}, {Driver: "d", Pool: "p", Device: "b"}}}},
	}
	got := New(v1.CoreLabelRules()).Catalog([]*cloud.InstanceType{{Name: "a", DynamicResources: shared}, {Name: "b", DynamicResources: shared}, {Name: "c"}})
	if got[0].Devices == nil || got[0].Devices != got[1].Devices || got[2].Devices != nil {
		t.Errorf("devices %p, %p and %p", got[0].Devices, got[1].Devices, got[2].Devices)
	}
}

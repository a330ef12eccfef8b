package translate

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	dracel "k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/internal/core/device"
	"github.com/karpenter-anew/karpenter/internal/core/requirement"
	"github.com/karpenter-anew/karpenter/internal/core/volume"
)

// UsesDevices reports whether the pod, one of its containers or one of its init containers refers to a resource claim.
func UsesDevices(spec *corev1.PodSpec) bool {
	if len(spec.ResourceClaims) > 0 {
		return true
	}
	for _, list := range [...][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range list { // containers are large
			if len(list[i].Resources.Claims) > 0 {
				return true
			}
		}
	}
	return false
}

// DeviceClaims returns the resource claims of a pod, as namespace/name without repetition. The name of a claim that is
// made from a template is in the status of the pod; until it is, and where the status declares that there is no claim, there is
// none to allocate. Source: scheduling specification, claim resolution per pod.
func DeviceClaims(pod *corev1.Pod) []string {
	var out []string
	for _, ref := range pod.Spec.ResourceClaims {
		name := ref.ResourceClaimName
		for _, made := range pod.Status.ResourceClaimStatuses {
			if name == nil && made.Name == ref.Name {
				name = made.ResourceClaimName
			}
		}
		if name == nil {
			continue
		}
		if id := pod.Namespace + "/" + *name; !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// Slice translates a ResourceSlice.
func (t *Translator) Slice(s *resourcev1.ResourceSlice) *device.Slice { return t.devices.slice(s) }

func (x *deviceTerms) slice(s *resourcev1.ResourceSlice) *device.Slice {
	out := &device.Slice{
		Name: s.Name, Driver: s.Spec.Driver, Pool: s.Spec.Pool.Name,
		Generation: s.Spec.Pool.Generation, Count: s.Spec.Pool.ResourceSliceCount,
		AllNodes:  s.Spec.AllNodes != nil && *s.Spec.AllNodes,
		PerDevice: s.Spec.PerDeviceNodeSelection != nil && *s.Spec.PerDeviceNodeSelection,
		Terms:     x.labels.places(s.Spec.NodeSelector),
	}
	if s.Spec.NodeName != nil {
		out.Node = *s.Spec.NodeName
	}
	for _, owner := range s.OwnerReferences {
		if owner.Kind == "Node" && owner.APIVersion == "v1" {
			out.NodeOwner = owner.Name
		}
	}
	for _, set := range s.Spec.SharedCounters {
		counters := make(map[string]int64, len(set.Counters))
		for name, c := range set.Counters {
			counters[name] = thousandths(c.Value)
		}
		out.Counters = append(out.Counters, device.CounterSet{Name: set.Name, Counters: counters})
	}
	for i := range s.Spec.Devices {
		d := translateDevice(s.Spec.Driver, &s.Spec.Devices[i])
		if out.PerDevice {
			d.Places = x.devicePlaces(&s.Spec.Devices[i])
		}
		out.Devices = append(out.Devices, d)
	}
	return out
}

// devicePlaces are the alternatives of where a device can be used that selects nodes itself.
func (x *deviceTerms) devicePlaces(d *resourcev1.Device) []requirement.Set {
	switch {
	case d.NodeName != nil && *d.NodeName != "":
		return []requirement.Set{device.OnNode(*d.NodeName)}
	case d.AllNodes != nil && *d.AllNodes:
		return []requirement.Set{nil}
	}
	return x.labels.places(d.NodeSelector)
}

// places are the alternatives that a node selector leaves, of which some may be equal; none if no node matches it. kube-scheduler
// allocates no device while it cannot parse a term of a selector: such a selector leaves none either.
func (l labelTerms) places(selector *corev1.NodeSelector) []requirement.Set {
	if selector == nil {
		return nil
	}
	var out []requirement.Set
	for _, term := range selector.NodeSelectorTerms {
		if emptyTerm(term) {
			continue
		}
		if unparsable(term) != "" {
			return nil
		}
		set := l.expressions(term.MatchExpressions)
		for _, f := range term.MatchFields {
			set = set.Add(requirement.New(device.NodeKey, requirement.Operator(f.Operator), f.Values...))
		}
		out = append(out, set)
	}
	return volume.Union(out)
}

func translateDevice(driver string, d *resourcev1.Device) *device.Device {
	out := &device.Device{
		Name: d.Name, Attributes: make(map[string][]device.Value, len(d.Attributes)),
		Taints:      deviceTaints(d.Taints),
		Shared:      d.AllowMultipleAllocations != nil && *d.AllowMultipleAllocations,
		BindsToNode: d.BindsToNode != nil && *d.BindsToNode,
		Conditional: d.BindingConditions != nil,
		Origin:      deviceSource{driver, d},
	}
	for name, a := range d.Attributes {
		out.Attributes[string(name)] = attributeValues(a)
	}
	for name, c := range d.Capacity {
		out.Capacity = append(out.Capacity, device.Capacity{Name: string(name), Total: thousandths(c.Value), Policy: policy(c.RequestPolicy)})
	}
	slices.SortFunc(out.Capacity, func(a, b device.Capacity) int { return strings.Compare(a.Name, b.Name) })
	for _, c := range d.ConsumesCounters {
		for name, amount := range c.Counters {
			out.ConsumesCounters = append(out.ConsumesCounters, device.CounterConsumption{Set: c.CounterSet, Counter: name, Amount: thousandths(amount.Value)})
		}
	}
	return out
}

func attributeValues(a resourcev1.DeviceAttribute) []device.Value {
	var out []device.Value
	add := func(t device.ValueType, text string) { out = append(out, device.Value{Type: t, Text: text}) }
	ints, bools, texts, versions := a.IntValues, a.BoolValues, a.StringValues, a.VersionValues
	switch {
	case a.IntValue != nil:
		ints = []int64{*a.IntValue}
	case a.BoolValue != nil:
		bools = []bool{*a.BoolValue}
	case a.StringValue != nil:
		texts = []string{*a.StringValue}
	case a.VersionValue != nil:
		versions = []string{*a.VersionValue}
	}
	for _, v := range ints {
		add(device.Integer, strconv.FormatInt(v, 10))
	}
	for _, v := range bools {
		add(device.Boolean, strconv.FormatBool(v))
	}
	for _, v := range texts {
		add(device.Text, v)
	}
	for _, v := range versions {
		add(device.Version, v)
	}
	return out
}

func policy(p *resourcev1.CapacityRequestPolicy) *device.Policy {
	if p == nil {
		return nil
	}
	out := &device.Policy{Default: optional(p.Default)}
	for _, v := range p.ValidValues {
		out.Values = append(out.Values, thousandths(v))
	}
	slices.Sort(out.Values)
	if r := p.ValidRange; r != nil {
		out.Range = &device.Range{Max: optional(r.Max)}
		if r.Min != nil {
			out.Range.Min = thousandths(*r.Min)
		}
		if r.Step != nil {
			out.Range.Step = thousandths(*r.Step)
		}
	}
	return out
}

func optional(q *apiresource.Quantity) *int64 {
	if q == nil {
		return nil
	}
	v := thousandths(*q)
	return &v
}

// thousandths returns a quantity in thousandths; amounts beyond the range of int64 are limited to it.
func thousandths(q apiresource.Quantity) int64 {
	switch {
	case q.CmpInt64(math.MaxInt64/1000) >= 0:
		return math.MaxInt64
	case q.CmpInt64(math.MinInt64/1000) <= 0:
		return math.MinInt64
	}
	return q.MilliValue()
}

// deviceSource is the input of selectors.
type deviceSource struct {
	driver string
	device *resourcev1.Device
}

// expression is a compiled CEL selector.
type expression struct{ dracel.CompilationResult }

// Matches evaluates the expression.
func (e expression) Matches(d *device.Device) (bool, error) {
	o, ok := d.Origin.(deviceSource)
	if !ok {
		return false, fmt.Errorf("device %q has no description to look at", d.Name)
	}
	matches, _, err := e.DeviceMatches(context.Background(), dracel.Device{
		Driver: o.driver, AllowMultipleAllocations: o.device.AllowMultipleAllocations,
		Attributes: o.device.Attributes, Capacity: o.device.Capacity,
	})
	return matches, err
}

// deviceTolerations are those of a request.
type deviceTolerations []resourcev1.DeviceToleration

// Tolerates reports whether one of them tolerates the taint.
func (l deviceTolerations) Tolerates(t device.Taint) bool {
	taint := resourcev1.DeviceTaint{Key: t.Key, Value: t.Value, Effect: resourcev1.DeviceTaintEffect(t.Effect)}
	return slices.ContainsFunc(l, func(toleration resourcev1.DeviceToleration) bool {
		return resourceclaim.ToleratesTaint(toleration, taint)
	})
}

// deviceTaints are the taints that keep claims away. The effect None and those that are not known do not.
func deviceTaints(list []resourcev1.DeviceTaint) []device.Taint {
	var out []device.Taint
	for _, t := range list {
		if t.Effect == resourcev1.DeviceTaintEffectNoSchedule || t.Effect == resourcev1.DeviceTaintEffectNoExecute {
			out = append(out, device.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
		}
	}
	return out
}

// DeviceTaintRule translates a DeviceTaintRule; nil if it keeps no claim away. Source: KEP-5055.
func DeviceTaintRule(r *resourcev1.DeviceTaintRule) *device.TaintRule {
	taints := deviceTaints([]resourcev1.DeviceTaint{r.Spec.Taint})
	if s := r.Spec.DeviceSelector; s != nil && len(taints) > 0 {
		return &device.TaintRule{Driver: s.Driver, Pool: s.Pool, Device: s.Device, Taint: taints[0]}
	}
	return nil
}

// templateOf returns the devices that drivers will publish on nodes of a type. Types that share their devices share the template.
func (r *catalogReader) templateOf(d *cloud.DynamicResources) *device.Template {
	if d == nil || len(d.ResourceSlices) == 0 {
		return nil
	}
	if known, ok := r.devices[d]; ok {
		return known
	}
	if r.devices == nil {
		r.devices = map[*cloud.DynamicResources]*device.Template{}
	}
	r.devices[d] = r.translator.devices.template(d)
	return r.devices[d]
}

func (x *deviceTerms) template(d *cloud.DynamicResources) *device.Template {
	published := make([]*device.Slice, len(d.ResourceSlices))
	for i := range d.ResourceSlices {
		published[i] = x.slice(&d.ResourceSlices[i])
	}
	bindings := make([]device.Binding, len(d.AttributeBindings))
	for i, b := range d.AttributeBindings {
		bindings[i].Attribute = string(b.Attribute)
		for _, id := range b.Devices {
			bindings[i].Devices = append(bindings[i].Devices, device.ID{Driver: id.Driver, Pool: id.Pool, Name: id.Device})
		}
	}
	return device.NewTemplate(published, bindings)
}

// capacities are amounts by dimension as the API has them.
type capacities map[resourcev1.QualifiedName]apiresource.Quantity

// amounts are the same, sorted by dimension; nil for none.
func (c capacities) amounts() []device.Amount {
	var out []device.Amount
	for name, q := range c {
		out = append(out, device.Amount{Name: string(name), Value: thousandths(q)})
	}
	slices.SortFunc(out, func(a, b device.Amount) int { return strings.Compare(a.Name, b.Name) })
	return out
}

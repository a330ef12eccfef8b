package kwok

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/karpenter-anew/karpenter/api/quantity"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// defaultPods is the pod limit of entries without one.
const defaultPods = 110

// fileEntry is one instance type as a user's file describes it.
type fileEntry struct {
	Name             string                                  `json:"name"`
	Architecture     string                                  `json:"architecture"`
	OperatingSystems []string                                `json:"operatingSystems"`
	Resources        map[corev1.ResourceName]json.RawMessage `json:"resources"`
	Offerings        []json.RawMessage                       `json:"offerings"`
	// ResourceSlices are the expected slices that device drivers publish on a node; AttributeBindings say which
	// devices will have equal attributes.
	ResourceSlices    []resourcev1.ResourceSliceSpec `json:"resourceSlices"`
	AttributeBindings []fileBinding                  `json:"attributeBindings"`
}

// fileOffering is one offering of a fileEntry. Availability is accepted and ignored: simulated nodes never
// run out.
type fileOffering struct {
	Price               *float64
	ReservationCapacity int
	Requirements        []v1.NodeSelectorRequirementWithMinValues
}

// readFile reads a catalog from a JSON file. Errors name the file, the entry and the field.
func readFile(path string) (catalog, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return catalog{}, fmt.Errorf("reading instance types: %w", err)
	}
	cat, err := parseFile(data)
	if err != nil {
		return catalog{}, fmt.Errorf("instance types file %q: %w", path, err)
	}
	return cat, nil
}

func parseFile(data []byte) (catalog, error) {
	var entries []json.RawMessage
	if err := json.Unmarshal(data, &entries); err != nil {
		return catalog{}, fmt.Errorf("a JSON array of instance types is expected: %w", err)
	}
	var cat catalog
	seen := map[string]int{}
	for i, raw := range entries {
		m, err := parseEntry(raw)
		if err != nil {
			return catalog{}, fmt.Errorf("entry %d (name %q): %w", i, m.name, err)
		}
		if first, dup := seen[m.name]; dup {
			return catalog{}, fmt.Errorf("entry %d (name %q): name: already used by entry %d", i, m.name, first)
		}
		seen[m.name] = i
		cat.types = append(cat.types, m)
	}
	cat.offeringKeys = offeringKeysOf(cat.types)
	return cat, nil
}

// parseEntry checks one entry. On error it returns an instance type with the name, if known.
func parseEntry(raw json.RawMessage) (catalogType, error) {
	var e fileEntry
	var content any
	if err := json.Unmarshal(raw, &content); err != nil {
		return catalogType{}, err
	}
	if unreadable := quantity.Unreadable(content, reflect.TypeOf(e)); len(unreadable) > 0 {
		entry, _ := content.(map[string]any)
		name, _ := entry["name"].(string)
		return catalogType{name: name}, fmt.Errorf("%s: not a quantity, or its exponent is too large", unreadable[0])
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil {
		return catalogType{name: e.Name}, err
	}
	m := catalogType{name: e.Name, arch: e.Architecture, systems: slices.Clone(e.OperatingSystems)}
	slices.Sort(m.systems)
	m.systems = slices.Compact(m.systems)
	if err := checkLabelValue(e.Name); err != nil {
		return m, fmt.Errorf("name: %w", err)
	}
	if err := checkLabelValue(e.Architecture); err != nil {
		return m, fmt.Errorf("architecture: %w; give for instance \"amd64\"", err)
	}
	if len(m.systems) == 0 {
		return m, errors.New(`operatingSystems: is empty; give for instance ["linux"]`)
	}
	for _, system := range m.systems {
		if err := checkLabelValue(system); err != nil {
			return m, fmt.Errorf("operatingSystems: %w", err)
		}
	}
	var err error
	if m.capacity, err = parseResources(e.Resources); err != nil {
		return m, err
	}
	if m.devices, err = e.dynamicResources(); err != nil {
		return m, err
	}
	seen := map[string]int{}
	for i, rawOffering := range e.Offerings {
		o, err := parseOffering(rawOffering)
		if err != nil {
			return m, fmt.Errorf("offerings[%d]: %w", i, err)
		}
		id := cloud.Requirements(o.Requirements, v1.CoreLabelRules()).String()
		if first, dup := seen[id]; dup {
			return m, fmt.Errorf("offerings[%d].Requirements: the same as those of offerings[%d]", i, first)
		}
		seen[id] = i
		m.offerings = append(m.offerings, o)
	}
	return m, nil
}

// parseResources checks a capacity and sets the default pod limit.
func parseResources(in map[corev1.ResourceName]json.RawMessage) (corev1.ResourceList, error) {
	out := corev1.ResourceList{}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if problems := validation.IsQualifiedName(string(name)); len(problems) > 0 {
			return nil, fmt.Errorf("resources.%s: not the name of a resource: %s", name, strings.Join(problems, "; "))
		}
		q, err := parseAmount(in[name])
		if err != nil {
			return nil, fmt.Errorf("resources.%s: %s is not a quantity: %w", name, in[name], err)
		}
		if q.Sign() < 0 {
			return nil, fmt.Errorf("resources.%s: %s is negative", name, q.String())
		}
		out[name] = q
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if q := out[name]; q.Sign() == 0 {
			return nil, fmt.Errorf("resources.%s: a positive quantity is needed", name)
		}
	}
	if _, ok := out[corev1.ResourcePods]; !ok {
		out[corev1.ResourcePods] = *resource.NewQuantity(defaultPods, resource.DecimalSI)
	}
	return out, nil
}

// parseAmount reads a quantity, which is a text or a number in JSON.
func parseAmount(raw json.RawMessage) (resource.Quantity, error) {
	text := string(raw)
	if strings.HasPrefix(text, `"`) {
		if err := json.Unmarshal(raw, &text); err != nil {
			return resource.Quantity{}, err
		}
	}
	return quantity.Parse(strings.TrimSpace(text))
}

// parseOffering checks one offering; errors start with the field. It ignores unknown fields, because other tools write
// such files with more information about an offering.
func parseOffering(raw json.RawMessage) (cloud.Offering, error) {
	var f fileOffering
	if err := json.Unmarshal(raw, &f); err != nil {
		return cloud.Offering{}, err
	}
	if f.Price == nil || *f.Price < 0 || math.IsInf(*f.Price, 0) {
		return cloud.Offering{}, errors.New("Price: a number of at least 0 is needed")
	}
	o := cloud.Offering{Price: *f.Price, Available: true, ReservationCapacity: f.ReservationCapacity}
	for i, r := range f.Requirements {
		r.Key = v1.CoreLabelRules().Normalize(r.Key)
		if err := checkOfferingRequirement(r); err != nil {
			return o, fmt.Errorf("Requirements[%d] (key %q): %w", i, r.Key, err)
		}
		if slices.ContainsFunc(o.Requirements, func(p v1.NodeSelectorRequirementWithMinValues) bool { return p.Key == r.Key }) {
			return o, fmt.Errorf("Requirements[%d] (key %q): given twice", i, r.Key)
		}
		o.Requirements = append(o.Requirements, r)
	}
	for _, key := range []string{v1.CapacityTypeLabelKey, corev1.LabelTopologyZone} {
		if o.Label(key) == "" {
			return o, fmt.Errorf("Requirements: an In requirement with one value is needed for key %q", key)
		}
	}
	switch o.CapacityType() {
	case v1.CapacityTypeSpot, v1.CapacityTypeOnDemand:
	case v1.CapacityTypeReserved:
		if o.ReservationCapacity < 0 {
			return o, fmt.Errorf("ReservationCapacity: %d is negative", o.ReservationCapacity)
		}
	default:
		return o, fmt.Errorf("Requirements: capacity type %q is none of %s", o.CapacityType(), strings.Join(
			[]string{v1.CapacityTypeSpot, v1.CapacityTypeOnDemand, v1.CapacityTypeReserved}, ", "))
	}
	return o, nil
}

// checkOfferingRequirement accepts requirements that can become labels: In with one value, or DoesNotExist.
func checkOfferingRequirement(r v1.NodeSelectorRequirementWithMinValues) error {
	if problems := validation.IsQualifiedName(r.Key); len(problems) > 0 {
		return fmt.Errorf("not a label key: %s", strings.Join(problems, "; "))
	}
	for _, v := range r.Values {
		if err := checkLabelValue(v); err != nil {
			return err
		}
	}
	switch {
	case r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1:
		return nil
	case r.Operator == corev1.NodeSelectorOpDoesNotExist && len(r.Values) == 0:
		return nil
	default:
		return fmt.Errorf("operator %q with %d values: an offering needs In with one value, or DoesNotExist", r.Operator, len(r.Values))
	}
}

// checkLabelValue accepts non-empty label values that the API server accepts.
func checkLabelValue(v string) error {
	if v == "" {
		return errors.New("is empty")
	}
	if problems := validation.IsValidLabelValue(v); len(problems) > 0 {
		return fmt.Errorf("%q is not a label value: %s", v, strings.Join(problems, "; "))
	}
	return nil
}

package kwok

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

// encodedType is one instance type in an instance types file.
type encodedType struct {
	Name             string              `json:"name"`
	Architecture     string              `json:"architecture"`
	OperatingSystems []string            `json:"operatingSystems"`
	Resources        corev1.ResourceList `json:"resources"`
	Offerings        []encodedOffering   `json:"offerings"`
}

type encodedOffering struct {
	Price        float64
	Requirements []v1.NodeSelectorRequirementWithMinValues
}

// Left says what an instance types file does not have of the instance types of another cloud.
type Left struct {
	// Unpriced is the number of available offerings without a price, Reserved that of reserved ones.
	Unpriced, Reserved int
}

// EncodeTypes writes the instance types of another cloud as an instance types file, so that simulated nodes have their labels, prices and
// allocatable resources. Offerings that are not available or reserved, and those without a known price, are left out, and types without any
// other offering as well. The capacity of simulated nodes is what they can allocate, with a small overhead.
func EncodeTypes(types []*cloud.InstanceType) ([]byte, Left, error) {
	var left Left
	out := []encodedType{}
	for _, t := range types {
		labels := singleValues(t)
		e := encodedType{Name: t.Name, Architecture: labels[corev1.LabelArchStable], OperatingSystems: valuesOf(t, corev1.LabelOSStable)}
		for _, key := range []string{corev1.LabelInstanceTypeStable, corev1.LabelArchStable, corev1.LabelOSStable, corev1.LabelTopologyZone, v1.CapacityTypeLabelKey} {
			delete(labels, key)
		}
		var first *cloud.Offering
		for i := range t.Offerings {
			o := &t.Offerings[i]
			switch {
			case !o.Available:
				continue
			case o.CapacityType() == v1.CapacityTypeReserved:
				left.Reserved++
				continue
			case !o.PriceKnown():
				left.Unpriced++
				continue
			}
			if first == nil {
				first = o
			}
			e.Offerings = append(e.Offerings, encodedOffering{Price: max(o.Price, 0), Requirements: offeredAs(o, labels)})
		}
		if first == nil {
			continue
		}
		e.Resources = t.AllocatableOf(first)
		for name, reserved := range overhead() {
			q := e.Resources[name]
			q.Add(reserved)
			e.Resources[name] = q
		}
		out = append(out, e)
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, left, fmt.Errorf("encoding instance types: %w", err)
	}
	return text, left, nil
}

// offeredAs are the labels of nodes that are launched from an offering.
func offeredAs(o *cloud.Offering, labels map[string]string) []v1.NodeSelectorRequirementWithMinValues {
	all := maps.Clone(labels)
	for _, r := range o.Requirements {
		if value := o.Label(r.Key); value != "" {
			all[r.Key] = value
		}
	}
	out := make([]v1.NodeSelectorRequirementWithMinValues, 0, len(all))
	for _, key := range slices.Sorted(maps.Keys(all)) {
		out = append(out, cloud.In(key, all[key]))
	}
	return out
}

// singleValues are the labels that all nodes of a type have.
func singleValues(t *cloud.InstanceType) map[string]string {
	out := map[string]string{}
	for _, r := range t.Requirements {
		if r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1 {
			out[r.Key] = r.Values[0]
		}
	}
	return out
}

func valuesOf(t *cloud.InstanceType, key string) []string {
	for _, r := range t.Requirements {
		if r.Key == key && r.Operator == corev1.NodeSelectorOpIn {
			return r.Values
		}
	}
	return nil
}

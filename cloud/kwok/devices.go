package kwok

import (
	_ "embed" // the catalog of instance types with devices
	"errors"
	"fmt"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/karpenter-anew/karpenter/cloud"
)

// DevicesCatalog is the name of a small catalog of instance types with devices.
const DevicesCatalog = "devices"

// devicesFile is that catalog, in the format of instance type files.
//
//go:embed devices.json
var devicesFile []byte

// devicesCatalog reads it.
func devicesCatalog() (catalog, error) {
	cat, err := parseFile(devicesFile)
	if err != nil {
		return catalog{}, fmt.Errorf("reading catalog %q: %w", DevicesCatalog, err)
	}
	return cat, nil
}

// fileBinding is devices of an instance type that will have the same value of an attribute.
type fileBinding struct {
	Attribute resourcev1.FullyQualifiedName `json:"attribute"`
	Devices   []fileDevice                  `json:"devices"`
}

// fileDevice names a device among those of its instance type.
type fileDevice struct {
	Driver string `json:"driver"`
	Pool   string `json:"pool"`
	Device string `json:"device"`
}

// dynamicResources are the devices of an entry; nil for none. A slice needs a driver, a pool and named devices or counters;
// the number of slices per pool is computed here.
func (e fileEntry) dynamicResources() (*cloud.DynamicResources, error) {
	if len(e.ResourceSlices) == 0 {
		return nil, nil
	}
	type pool struct{ driver, name string }
	counts := map[pool]int64{}
	for i, s := range e.ResourceSlices {
		if s.Driver == "" || s.Pool.Name == "" {
			return nil, fmt.Errorf("resourceSlices[%d]: driver and pool.name are needed", i)
		}
		if slices.ContainsFunc(s.Devices, func(d resourcev1.Device) bool { return d.Name == "" }) {
			return nil, fmt.Errorf("resourceSlices[%d].devices: every device needs a name", i)
		}
		counts[pool{s.Driver, s.Pool.Name}]++
	}
	out := &cloud.DynamicResources{}
	for _, s := range e.ResourceSlices {
		s.Pool.ResourceSliceCount = counts[pool{s.Driver, s.Pool.Name}]
		out.ResourceSlices = append(out.ResourceSlices, resourcev1.ResourceSlice{Spec: s})
	}
	for i, b := range e.AttributeBindings {
		binding := cloud.AttributeBinding{Attribute: b.Attribute}
		for _, d := range b.Devices {
			binding.Devices = append(binding.Devices, cloud.DeviceID(d))
		}
		if b.Attribute == "" || len(b.Devices) < 2 {
			return nil, fmt.Errorf("attributeBindings[%d]: %w", i, errBinding)
		}
		out.AttributeBindings = append(out.AttributeBindings, binding)
	}
	return out, nil
}

var errBinding = errors.New("an attribute and at least two devices are needed")

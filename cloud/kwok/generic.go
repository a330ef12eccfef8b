package kwok

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud"
)

const (
	gib = int64(1) << 30
	// spotShare is the spot price as a share of the on-demand price.
	spotShare = 0.7
	// dollarsPerCPU and dollarsPerGB determine the on-demand price per hour; a GB has 10^9 bytes.
	dollarsPerCPU = 0.025
	dollarsPerGB  = 0.001
	// podsPerCPU and mostPods limit how many pods run on a node.
	podsPerCPU = int64(16)
	mostPods   = int64(1024)
	// rootVolume is the ephemeral storage of every node.
	rootVolume = 20 * gib
)

// genericCatalog is a fictional cloud: twelve sizes, three shapes, two systems, two architectures; 144 types
// in four zones, spot and on demand.
func genericCatalog() catalog {
	shapes := []struct {
		family    string
		gibPerCPU int64
	}{{"c", 2}, {"s", 4}, {"m", 8}}
	var types []catalogType
	for _, cpus := range []int64{1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256} {
		for _, shape := range shapes {
			for _, system := range []string{string(corev1.Linux), string(corev1.Windows)} {
				for _, arch := range []string{"amd64", "arm64"} {
					types = append(types, genericType(shape.family, cpus, cpus*shape.gibPerCPU*gib, arch, system))
				}
			}
		}
	}
	return catalog{types: types, offeringKeys: offeringKeysOf(types)}
}

func genericType(family string, cpus, memory int64, arch, system string) catalogType {
	m := catalogType{
		name:    fmt.Sprintf("%s-%dx-%s-%s", family, cpus, arch, system),
		arch:    arch,
		systems: []string{system},
		capacity: corev1.ResourceList{
			corev1.ResourceCPU:              *resource.NewQuantity(cpus, resource.DecimalSI),
			corev1.ResourceMemory:           *resource.NewQuantity(memory, resource.BinarySI),
			corev1.ResourceEphemeralStorage: *resource.NewQuantity(rootVolume, resource.BinarySI),
			corev1.ResourcePods:             *resource.NewQuantity(min(podsPerCPU*cpus, mostPods), resource.DecimalSI),
		},
	}
	price := dollarsPerCPU*float64(cpus) + dollarsPerGB*float64(memory)/1e9
	for _, zone := range []string{"test-zone-a", "test-zone-b", "test-zone-c", "test-zone-d"} {
		m.offerings = append(m.offerings, []cloud.Offering{
			offer(zone, v1.CapacityTypeSpot, spotShare*price),
			offer(zone, v1.CapacityTypeOnDemand, price),
		}...)
	}
	return m
}

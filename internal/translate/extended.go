package translate

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/karpenter-anew/karpenter/internal/core/model"
)

// maxExtendedDevices bounds the devices that a container requests, far above what a claim can have.
const maxExtendedDevices = 1 << 20

// isExtended reports whether a resource is an extended one: with a domain that does not belong to Kubernetes, or the implicit name of a
// device class.
func isExtended(name string) bool {
	if strings.HasPrefix(name, resourcev1.ResourceDeviceClassPrefix) {
		return true
	}
	native := !strings.Contains(name, "/") || strings.Contains(name, corev1.ResourceDefaultNamespacePrefix)
	return !native && !strings.HasPrefix(name, corev1.DefaultResourceRequestsPrefix)
}

// extendedRequests are the requests of a pod for extended resources, sorted by name. A container has a request of the claim for each of its
// resources. Init containers that end before others start use the devices of these; what they need beyond that is one further request.
// Source: KEP-5004.
func extendedRequests(spec *corev1.PodSpec) []model.ExtendedRequest {
	if !slices.ContainsFunc(spec.Containers, requestsExtended) && !slices.ContainsFunc(spec.InitContainers, requestsExtended) {
		return nil
	}
	counts, peak, sum := map[string][]int{}, map[string]int{}, map[string]int{}
	add := func(c *corev1.Container) {
		for name, n := range extendedOf(c) {
			counts[name], sum[name] = append(counts[name], n), sum[name]+n
		}
	}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		if isSidecar(c) {
			add(c)
			continue
		}
		for name, n := range extendedOf(c) {
			peak[name] = max(peak[name], sum[name]+n) // beside the sidecars that run already
		}
	}
	for i := range spec.Containers {
		add(&spec.Containers[i])
	}
	for name, n := range peak {
		if n > sum[name] {
			counts[name] = append(counts[name], n-sum[name])
		}
	}
	out := make([]model.ExtendedRequest, 0, len(counts))
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, model.ExtendedRequest{Name: name, Counts: counts[name]})
	}
	return out
}

func requestsExtended(c corev1.Container) bool { return len(extendedOf(&c)) > 0 }

// extendedOf are the extended resources of a container with a request above zero.
func extendedOf(c *corev1.Container) map[string]int {
	var out map[string]int
	for name, q := range c.Resources.Requests {
		if !isExtended(string(name)) || q.Sign() <= 0 {
			continue
		}
		if out == nil {
			out = map[string]int{}
		}
		out[string(name)] = int(min(q.Value(), maxExtendedDevices))
	}
	return out
}

// ExtendedClasses are the device classes of extended resources, by the name of the resource: that which a class names, and the implicit one
// of every class. Of classes with the same name the newest counts, and of these the first by name. Source: KEP-5004.
func (t *Translator) ExtendedClasses(classes map[string]*resourcev1.DeviceClass) map[string]model.ExtendedClass {
	sorted := slices.SortedFunc(maps.Values(classes), func(a, b *resourcev1.DeviceClass) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	out := map[string]model.ExtendedClass{}
	for _, class := range sorted {
		made := model.ExtendedClass{Name: class.Name}
		selection, err := t.devices.selection(class.Spec.Selectors, nil)
		if made.Selection = selection; err != nil {
			made.Problem = "device class \"" + class.Name + "\", " + err.Error()
		}
		out[resourcev1.ResourceDeviceClassPrefix+class.Name] = made
		if name := class.Spec.ExtendedResourceName; name != nil {
			if _, newer := out[*name]; !newer {
				out[*name] = made
			}
		}
	}
	return out
}

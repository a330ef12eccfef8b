package manifest

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

const devicePod = `
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
  resourceClaims:
  - {name: gpu, resourceClaimTemplateName: one-gpu}
  - {name: shared, resourceClaimName: shared}
  - {name: lost, resourceClaimTemplateName: none}
---
`

const oneGPU = `
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu}
spec:
  metadata: {labels: {made: "yes"}}
  spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}
---
`

func TestPodsGetTheClaimsOfTheirTemplates(t *testing.T) {
	t.Attr("covers", "L318")
	for _, c := range []struct {
		name, text string
		claims     []string // all that there are in the end
		status     []string // the claims in the status of the pod
	}{
		{"made from a template that is described", devicePod + oneGPU, []string{"p-gpu"}, []string{"gpu=p-gpu"}},
		{"not made without one", devicePod, nil, nil},
		{"not made twice", devicePod + oneGPU + `
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: p-gpu}
`, []string{"p-gpu"}, []string{"gpu=p-gpu"}},
		{"not made where the status says that there is none", devicePod + oneGPU + `
apiVersion: v1
kind: Pod
metadata: {name: q}
spec:
  containers: [{name: c, image: i}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]
status: {resourceClaimStatuses: [{name: gpu}]}
`, []string{"p-gpu"}, []string{"gpu=p-gpu", "gpu="}},
		{"made for the pods of workloads", oneGPU + `
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  replicas: 2
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers: [{name: c, image: i}]
      resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]
`, []string{"d-1-gpu", "d-2-gpu"}, []string{"gpu=d-1-gpu", "gpu=d-2-gpu"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var claims, status []string
			for _, o := range Expand(readText(t, c.text).Objects) {
				switch o := o.(type) {
				case *resourcev1.ResourceClaim:
					claims = append(claims, o.Name)
					if o.Namespace != "default" || o.UID == "" {
						t.Errorf("claim %s has namespace %q and UID %q", o.Name, o.Namespace, o.UID)
					}
				case *corev1.Pod:
					for _, s := range o.Status.ResourceClaimStatuses {
						text := s.Name + "="
						if s.ResourceClaimName != nil {
							text += *s.ResourceClaimName
						}
						status = append(status, text)
					}
				}
			}
			slices.Sort(claims)
			if !slices.Equal(claims, c.claims) || !slices.Equal(status, c.status) {
				t.Errorf("claims %v and status %v, want %v and %v", claims, status, c.claims, c.status)
			}
		})
	}
}

func TestDeviceKindsAreRead(t *testing.T) {
	m := readText(t, `
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu, namespace: ignored}
spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: gpu.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0, capacity: {memory: {value: 80Gi}}}]
`)
	if len(m.Objects) != 2 || m.Objects[0].GetNamespace() != "" || m.Objects[1].GetNamespace() != "" {
		t.Errorf("got %v", m.Objects)
	}
}

func readText(t *testing.T, text string) Manifest {
	t.Helper()
	m, err := newReader(t).Read("x.yaml", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

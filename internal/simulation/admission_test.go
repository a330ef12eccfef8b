package simulation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/manifest"
)

func TestWhatAdmissionWouldChangeIsNoted(t *testing.T) {
	const input = `
apiVersion: v1
kind: LimitRange
metadata: {name: sizes, namespace: shop}
spec: {limits: [{type: Container, defaultRequest: {cpu: "2"}}]}
---
apiVersion: v1
kind: LimitRange
metadata: {name: other, namespace: other}
spec: {limits: [{type: Container, defaultRequest: {cpu: "2"}}]}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: kata}
handler: kata
---
apiVersion: v1
kind: Pod
metadata: {name: known, namespace: other}
spec: {priorityClassName: high, runtimeClassName: kata, containers: [{name: c, image: x, resources: {requests: {cpu: "1"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: critical, namespace: other}
spec: {priorityClassName: system-node-critical, containers: [{name: c, image: x, resources: {limits: {cpu: "1"}}}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: unknown, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: unknown}}
  template:
    metadata: {labels: {app: unknown}}
    spec: {priorityClassName: nope, runtimeClassName: gvisor, containers: [{name: c, image: x}]}
`
	reader, err := manifest.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := reader.Read("input.yaml", strings.NewReader(input))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`LimitRange "shop/sizes" is not applied: containers get no requests or limits from it, as they would from the API server`,
		`PriorityClass "nope" is not in the input: its pods count as having priority 0`,
		`RuntimeClass "gvisor" is not in the input: the overhead, the node selector and the tolerations that it may give to pods are not counted`,
	}
	if diff := cmp.Diff(want, Unadmitted(m.Objects, manifest.Expand(m.Objects))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

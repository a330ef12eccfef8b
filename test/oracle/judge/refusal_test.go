package judge_test

import (
	"testing"

	"github.com/karpenter-anew/karpenter/test/oracle/judge"
)

// daemons is two DaemonSets, and a pod that keeps away from the pods of the second one.
const daemons = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements: []
---
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: first}
spec:
  selector: {matchLabels: {app: first}}
  template:
    metadata: {labels: {app: first}}
    spec:
      containers: [{name: app, image: "registry.k8s.io/pause:3.10", ports: [{hostPort: 8080}]}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: second}
spec:
  selector: {matchLabels: {app: second}}
  template:
    metadata: {labels: {app: second}}
    spec:
      containers: [{name: app, image: "registry.k8s.io/pause:3.10", ports: [{hostPort: 8080}]}]
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  affinity:
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: second}}}
  containers: [{name: app, image: "registry.k8s.io/pause:3.10"}]
`

// TestPlacesMustNotDependOnTheFirstDaemonSet: of two DaemonSets with one host port, either may be first on a node.
func TestPlacesMustNotDependOnTheFirstDaemonSet(t *testing.T) {
	j := newJudge(t)
	if failures := j.Judge(problem(t, daemons)); len(failures) > 0 {
		t.Errorf("the answer is wrong: %+v", failures)
	}
	if want := (judge.Tally{Problems: 1, Pods: 1, Refusals: 1}); j.Tally != want {
		t.Errorf("judged %v, want %v", j.Tally, want)
	}
}

// values is a pool that asks for two architectures, and a DaemonSet whose host port the pod wants on arm64.
const values = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements:
      - {key: kubernetes.io/arch, operator: In, values: [amd64, arm64], minValues: 2}
---
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: proxy}
spec:
  selector: {matchLabels: {app: proxy}}
  template:
    metadata: {labels: {app: proxy}}
    spec:
      nodeSelector: {kubernetes.io/arch: arm64}
      containers: [{name: app, image: "registry.k8s.io/pause:3.10", ports: [{hostPort: 8080}]}]
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: app, image: "registry.k8s.io/pause:3.10", ports: [{hostPort: 8080}]}]
`

// TestMinValuesCountPlacesThatHold: the pod could run on amd64, but no NodeClaim for it may list arm64, and the pool asks for both.
func TestMinValuesCountPlacesThatHold(t *testing.T) {
	j := newJudge(t)
	if failures := j.Judge(problem(t, values)); len(failures) > 0 {
		t.Errorf("the answer is wrong: %+v", failures)
	}
	if j.Tally.Refusals == 0 {
		t.Error("the pod was not refused")
	}
}

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-anew/karpenter/api/kwok/v1alpha1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// awaitCondition waits until a condition of a pool has this value.
func (w *harness) awaitCondition(p *v1.NodePool, conditionType string, status metav1.ConditionStatus, reason, message string) {
	w.t.Helper()
	w.await(fmt.Sprintf("%s of nodepool %q is %s because of %s", conditionType, p.Name, status, reason), patience, func() string {
		w.get(p)
		for _, c := range p.Status.Conditions {
			if c.Type == conditionType && c.Status == status && (reason == "" || c.Reason == reason) && strings.Contains(c.Message, message) {
				return ""
			}
		}
		return "its conditions are " + conditions(p)
	})
}

// nothingLaunched fails when there is a claim within a time in which there would be one.
func (w *harness) nothingLaunched() {
	w.t.Helper()
	w.stays("nothing is launched", 2*time.Second, func() string {
		if n := len(w.claims()); n > 0 {
			return fmt.Sprintf("%d nodeclaims", n)
		}
		return ""
	})
}

// firstPod waits for the pod of a workload of one.
func (w *harness) firstPod() *corev1.Pod {
	w.t.Helper()
	var pod corev1.Pod
	w.await("the pod exists", patience, func() string {
		pods := w.pods()
		if len(pods) != 1 {
			return fmt.Sprintf("%d pods", len(pods))
		}
		pod = pods[0]
		return ""
	})
	return &pod
}

// TestPoolWaitsForItsNodeClass: a pool whose node class does not exist is not ready and launches nothing until the class exists.
func TestPoolWaitsForItsNodeClass(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.controller()
	p := pool()
	w.create(p, deployment("web", 1, "500m"))
	w.awaitCondition(p, v1.ConditionTypeNodeClassReady, metav1.ConditionFalse, "NodeClassNotFound", "NodeClass not found on cluster")
	w.awaitCondition(p, v1.ConditionTypeReady, metav1.ConditionFalse, "UnhealthyDependents", "NodeClassReady=False")
	w.awaitEvent(w.firstPod(), "FailedScheduling", "no dynamic nodepools found")
	w.nothingLaunched()

	w.create(class())
	w.awaitCondition(p, v1.ConditionTypeReady, metav1.ConditionTrue, "", "")
	w.awaitRunning(1)
	w.awaitNodes(1)
}

// TestPoolWaitsForReadinessOfItsNodeClass: the pool repeats the condition of its node class.
func TestPoolWaitsForReadinessOfItsNodeClass(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.controller()
	c, p := class(), pool()
	w.create(c)
	judge := func(status metav1.ConditionStatus, reason, message string) {
		c.Status.Conditions = []metav1.Condition{{
			Type: v1alpha1.ConditionTypeReady, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Now(),
		}}
		w.must(w.client.Status().Update(w.ctx, c))
	}
	judge(metav1.ConditionFalse, "SubnetsNotFound", "no subnets match")
	w.create(p, deployment("web", 1, "500m"))
	w.awaitCondition(p, v1.ConditionTypeNodeClassReady, metav1.ConditionFalse, "SubnetsNotFound", "no subnets match")
	w.nothingLaunched()

	judge(metav1.ConditionTrue, "Ready", "")
	w.awaitRunning(1)
	w.awaitNodes(1)
}

// TestInvalidPoolIsNotUsed: what the API server cannot validate is validated by the controller, which names the error.
func TestInvalidPoolIsNotUsed(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.controller()
	p := pool(func(p *v1.NodePool) {
		p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, in(v1.CapacityTypeLabelKey, "sport"))
	})
	w.create(class(), p, deployment("web", 1, "500m"))
	w.awaitCondition(p, v1.ConditionTypeValidationSucceeded, metav1.ConditionFalse, "", `"sport"`)
	w.nothingLaunched()

	change(w, p, func(p *v1.NodePool) { p.Spec.Template.Spec.Requirements[2].Values = []string{v1.CapacityTypeSpot} })
	w.awaitRunning(1)
}

// TestPoolThatExcludesEveryInstanceType: both the pool and the pod have an event.
func TestPoolThatExcludesEveryInstanceType(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.controller()
	p := pool(cores("3"))
	w.create(class(), p, deployment("web", 1, "500m"))
	w.awaitEvent(w.firstPod(), "FailedScheduling", "nodepool requirements filtered out all available instance types")
	w.awaitEvent(p, "NoCompatibleInstanceTypes", "NodePool requirements filtered out all compatible available instance types")
	w.nothingLaunched()
}

// TestPodLargerThanEveryInstanceType: the pod stays pending with an event that says why, and others are placed.
func TestPodLargerThanEveryInstanceType(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.controller()
	w.create(class(), pool(), deployment("giant", 1, "1000"))
	giant := w.firstPod()
	w.awaitEvent(giant, "FailedScheduling", "no instance type has enough resources")
	w.nothingLaunched()

	w.create(deployment("web", 2, "500m"))
	w.await("the others run", patience, func() string {
		if text := w.notRunning(3); text != "2 run of 3" {
			return text
		}
		return ""
	})
	if w.get(giant); giant.Spec.NodeName != "" {
		t.Errorf("the giant is on node %q", giant.Spec.NodeName)
	}
}

// TestLimits: a pool launches up to its limit, the remaining pods have an event, and the pool continues when the limit is raised.
func TestLimits(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name           string
		resource       corev1.ResourceName
		before, after  string
		saysTheRefusal string
	}{
		{"cpu", corev1.ResourceCPU, "4", "8", "all available instance types exceed limits for nodepool (NodePool=default)"},
		{"nodes", v1.ResourceNodes, "2", "4", "node limits have been exhausted for nodepool (NodePool=default)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := begin(t)
			w.controller()
			p := pool(cores("2"), limit(tc.resource, tc.before))
			w.create(class(), p, deployment("web", 4, "1500m"))
			w.awaitNodes(2)
			w.await("half of the pods run", patience, func() string {
				if text := w.notRunning(4); text != "2 run of 4" {
					return text
				}
				return ""
			})
			for _, pod := range w.pods() {
				if pod.Spec.NodeName == "" {
					w.awaitEvent(&pod, "FailedScheduling", tc.saysTheRefusal)
				}
			}
			w.stays("no more is launched", 2*time.Second, func() string { return w.notPaired(2) })

			change(w, p, func(p *v1.NodePool) { limit(tc.resource, tc.after)(p) })
			w.awaitRunning(4)
			w.awaitNodes(4)
			w.awaitUsage(p, "8", 4)
		})
	}
}

// awaitUsage waits until the status of a pool has these resources.
func (w *harness) awaitUsage(p *v1.NodePool, cpu string, nodes int64) {
	w.t.Helper()
	w.await(fmt.Sprintf("nodepool %q counts %s cpu and %d nodes", p.Name, cpu, nodes), patience, func() string {
		w.get(p)
		have := p.Status.Resources[corev1.ResourceCPU]
		if have.String() != cpu || p.Status.Nodes == nil || *p.Status.Nodes != nodes {
			return fmt.Sprintf("%v", p.Status.Resources)
		}
		return ""
	})
}

// collectorPatience covers the time until the cluster's garbage collector watches a kind that was defined a moment ago.
const collectorPatience = 90 * time.Second

// TestDeletedPoolTakesItsNodes: claims and nodes of a pool are deleted with it, and its pods wait for another pool.
func TestDeletedPoolTakesItsNodes(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.controller()
	p := pool(cores("2"))
	w.create(class(), p, deployment("web", 3, "1500m"))
	w.awaitRunning(3)
	w.awaitNodes(3)
	w.delete(p)
	w.await("nodes, nodeclaims and pool are gone", collectorPatience, func() string {
		if claims, nodes := len(w.claims()), len(w.nodes()); claims+nodes > 0 || w.get(p) {
			return fmt.Sprintf("%d nodeclaims, %d nodes", claims, nodes)
		}
		return ""
	})
	w.await("the pods wait", patience, func() string {
		if text := w.notRunning(3); text != "0 run of 3" {
			return text
		}
		return ""
	})
	w.nothingLaunched()

	w.create(pool())
	w.awaitRunning(3)
}
